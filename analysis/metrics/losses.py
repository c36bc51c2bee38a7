"""Losses and marks in the bottleneck, and what senders sent again."""

from collections.abc import Callable
from typing import Any

import numpy as np
from nashbed.controlplane.contract.shared import DROP_REASONS
from numpy.typing import NDArray

from ..align.data import TrialData
from ..errors import NotMeasuredError
from .metric import Metric


def packet_rate(chosen: NDArray[np.float64], packets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dropped by arrived, or marked by departed packets of each flow (unit 1).

    Retransmissions are arrivals like any other; the delay line's random loss happens before
    the queue and is not in it. DCTCP's alpha estimates the rate of marks (RFC 8257, section 3.3),
    in bytes.

    Args:
        chosen: Packets that were dropped, or left with CE set by the queue, shape (F,).
        packets: Packets that arrived, dropped ones included, or that left, shape (F,).

    Returns:
        Rates, shape (F,); NaN where there was no packet.
    """
    result = np.full(len(packets), np.nan)
    np.divide(chosen, packets, out=result, where=packets > 0)
    return result


Packets = Callable[[TrialData], tuple[NDArray[np.float64], NDArray[np.float64]]]


def _rates(name: str, title: str, what: str, of: str, packets: Packets) -> tuple[Metric, Metric]:
    """A rate of packets of each flow, and of all together."""
    return (
        Metric(
            name=f"per_flow_{name}",
            title=f"{title} per flow",
            unit="1",
            scope="flow",
            definition=f"The flow's packets {what}, of those that {of} in the window.",
            source="nashbed",
            compute=lambda trial: packet_rate(*packets(trial)),
        ),
        Metric(
            name=name,
            title=title,
            unit="1",
            scope="trial",
            definition=f"Packets {what}, of all that {of} in the window.",
            source="nashbed",
            compute=lambda trial: float(
                packet_rate(*(each.sum(keepdims=True) for each in packets(trial)))[0]
            ),
        ),
    )


def _dropped(trial: TrialData) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    queue = trial.need_queue()
    return queue.dropped_packets, queue.arrived_packets


PER_FLOW_LOSS, LOSS = _rates(
    "loss_rate",
    "Loss rate",
    "dropped by the queue, or by a policer in front of it",
    "arrived",
    _dropped,
)
REASON_WORDS = {
    "limit": "because the whole memory was full",
    "early": "by the decision of the queue's discipline",
    "overflow": "out of the queue, to make room for a packet of another queue",
    "queue_limit": "because their own one of several queues was at its limit",
    "threshold": "because their queue was at the threshold that the memory's policy gave it",
    "policer": "by the policer in front of the queue",
}
"""Reason -> what is said of packets that were dropped for it."""


def loss_rate_by_reason(
    by_reason: NDArray[np.float64], arrived: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Packets dropped for each reason, of all that arrived (unit 1).

    Args:
        by_reason: Dropped packets by reason and flow, shape (R, F).
        arrived: Packets that arrived, dropped ones included, shape (F,).

    Returns:
        Rates that add up to the loss rate, shape (R,); NaN where nothing arrived.
    """
    total = np.full(len(by_reason), arrived.sum())
    return packet_rate(by_reason.sum(axis=1), total)


def _rate_of(reason: str) -> Callable[[TrialData], float]:
    def compute(trial: TrialData) -> float:
        queue = trial.need_queue()
        if queue.dropped_by_reason is None:
            raise NotMeasuredError(
                "drops have reasons in postcards of queues that mark or drop by more than a limit, "
                "or have a policer in front"
            )
        rates = loss_rate_by_reason(queue.dropped_by_reason, queue.arrived_packets)
        return float(rates[DROP_REASONS.index(reason)])

    return compute


BY_REASON = tuple(
    Metric(
        name=f"{reason}_loss_rate",
        title=f"Loss rate, {reason.replace('_', ' ')}",
        unit="1",
        scope="trial",
        definition=f"Packets dropped {words}, of all that arrived in the window.",
        source="nashbed",
        compute=_rate_of(reason),
    )
    for reason, words in REASON_WORDS.items()
)


def _marked(trial: TrialData) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    queue = trial.need_queue()
    if queue.marked_packets is None:
        raise NotMeasuredError("no flow of the trial is ECN-capable, so nothing can be marked")
    return queue.marked_packets, queue.departed_packets


PER_FLOW_MARKS, MARKS = _rates(
    "mark_rate", "Mark rate", "in which the queue set CE", "left", _marked
)


def increase(t_ns: NDArray[Any], counter: NDArray[Any], window_ns: tuple[int, int]) -> float:
    """How much a counter grew in a window, by the last readings up to each of its ends.

    Args:
        t_ns: Times of the readings, increasing, shape (n,).
        counter: A counter that never falls, shape (n,).
        window_ns: The window (from, to).

    Returns:
        The growth; before the first reading the counter was 0.
    """
    start, end = np.searchsorted(t_ns, window_ns, side="right")
    before = float(counter[start - 1]) if start > 0 else 0.0
    return (float(counter[end - 1]) if end > 0 else 0.0) - before


def retransmit_share(retransmitted: float, sent: float) -> float:
    """Retransmitted by sent payload bytes (unit 1), NaN where nothing was sent."""
    return retransmitted / sent if sent > 0 else float("nan")


def _growth(trial: TrialData, flow: int) -> tuple[float, float]:
    samples = trial.need_samples()
    t_ns = samples.of_flow(flow, "t_ns")
    again = increase(t_ns, samples.of_flow(flow, "bytes_retrans"), trial.window_ns)
    return again, increase(t_ns, samples.of_flow(flow, "bytes_sent"), trial.window_ns)


def _retransmitted_of_flows(trial: TrialData) -> NDArray[np.float64]:
    return np.array([retransmit_share(*_growth(trial, flow)) for flow in range(trial.flows)])


def _retransmitted_of_trial(trial: TrialData) -> float:
    growth = np.array([_growth(trial, flow) for flow in range(trial.flows)])
    return retransmit_share(float(growth[:, 0].sum()), float(growth[:, 1].sum()))


PER_FLOW_RETRANSMITTED = Metric(
    name="per_flow_retransmit_share",
    title="Retransmitted share per flow",
    unit="1",
    scope="flow",
    definition="Retransmitted part of the payload that the flow sent in the window (TCP_INFO).",
    source="Cao et al., IMC 2019, section 3",
    compute=_retransmitted_of_flows,
)
RETRANSMITTED = Metric(
    name="retransmit_share",
    title="Retransmitted share",
    unit="1",
    scope="trial",
    definition="Retransmitted part of the payload sent in the window (TCP_INFO).",
    source="Cao et al., IMC 2019, section 3",
    compute=_retransmitted_of_trial,
)
