"""Queueing delay: how long packets are at the bottleneck."""

from __future__ import annotations

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import QueueTotals, TrialData
from ..align.delays import duration_percentile
from ..errors import NotMeasuredError
from .registry import Metric, register


def packet_mean_delay(delay_sum_ns: float, packets: float) -> float:
    """Packet-weighted mean sojourn time in seconds: the mean over the packets that left.

    A packet's sojourn time ends with its last bit's departure, so its own serialisation is in
    it (0.12 ms for 1514 B at 100 Mbit/s). Dropped packets have none.

    Args:
        delay_sum_ns: Sum of the sojourn times of the packets that left in the window.
        packets: Their number.

    Returns:
        The mean in seconds, NaN without packets.
    """
    return delay_sum_ns / packets / NS_PER_S if packets > 0 else float("nan")


def time_mean_delay(backlog_byte_ns: float, length_ns: int, rate_bps: int) -> float:
    """Time-weighted mean delay in seconds: the mean backlog by the rate.

    It is what a packet arriving at a random instant would wait for (the packet in service is
    counted whole). Bursty arrivals make the packet-weighted mean larger than this one.

    Args:
        backlog_byte_ns: Integral of the queue's bytes, overhead counted, over the window.
        length_ns: The window's length.
        rate_bps: Applied rate.
    """
    return backlog_byte_ns / length_ns * 8 / rate_bps


def _packets(queue: QueueTotals) -> float:
    return float(queue.departed_packets.sum())


def _mean(trial: TrialData) -> float:
    queue = trial.need_queue()
    return packet_mean_delay(float(queue.delay_sum_ns.sum()), _packets(queue))


def _flow_mean(trial: TrialData) -> NDArray[np.float64]:
    queue = trial.need_queue()
    pairs = zip(queue.delay_sum_ns, queue.departed_packets, strict=True)
    return np.array([packet_mean_delay(float(total), float(n)) for total, n in pairs])


def _time_mean(trial: TrialData) -> float:
    queue = trial.need_queue()
    return time_mean_delay(queue.backlog_byte_ns, trial.length_ns, trial.rate_bps)


def _percentile(trial: TrialData, share: float) -> float:
    counts = trial.need_queue().delay_counts
    if counts is None:
        raise NotMeasuredError("percentiles need postcards; this trial has bins")
    return duration_percentile(counts, share) / NS_PER_S


METRIC = register(
    Metric(
        name="mean_queueing_delay",
        title="Mean queueing delay",
        unit="s",
        scope="trial",
        definition="Mean sojourn time of the packets that left in the window "
        "(packet-weighted, own serialisation included).",
        source="Mishra, Tiu, Leong, IMC 2022, fig. 8",
        compute=_mean,
    )
)
PER_FLOW = register(
    Metric(
        name="per_flow_queueing_delay",
        title="Mean queueing delay per flow",
        unit="s",
        scope="flow",
        definition="Mean sojourn time of the flow's packets that left in the window.",
        source="nashbed",
        compute=_flow_mean,
    )
)
TIME_MEAN = register(
    Metric(
        name="time_mean_queueing_delay",
        title="Mean queueing delay over time",
        unit="s",
        scope="trial",
        definition="Time-weighted mean bytes in the queue, with overhead, divided by the rate.",
        source="nashbed",
        compute=_time_mean,
    )
)
MEDIAN = register(
    Metric(
        name="median_queueing_delay",
        title="Median queueing delay",
        unit="s",
        scope="trial",
        definition="Sojourn time that half of the packets do not exceed (within 0.05 %).",
        source="nashbed",
        compute=lambda trial: _percentile(trial, 0.5),
    )
)
P95 = register(
    Metric(
        name="p95_queueing_delay",
        title="95th percentile of the queueing delay",
        unit="s",
        scope="trial",
        definition="Sojourn time that 95 % of the packets do not exceed (within 0.05 %).",
        source="nashbed",
        compute=lambda trial: _percentile(trial, 0.95),
    )
)
P99 = register(
    Metric(
        name="p99_queueing_delay",
        title="99th percentile of the queueing delay",
        unit="s",
        scope="trial",
        definition="Sojourn time that 99 % of the packets do not exceed (within 0.05 %).",
        source="nashbed",
        compute=lambda trial: _percentile(trial, 0.99),
    )
)
