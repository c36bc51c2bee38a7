"""Loss in the bottleneck: packets that the queue dropped, of those that arrived."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from .registry import Metric, register


def loss_rate(dropped: NDArray[np.float64], arrived: NDArray[np.float64]) -> NDArray[np.float64]:
    """Dropped by arrived packets of each flow (unit 1).

    Retransmissions are arrivals like any other; the delay line's random loss happens before
    the queue and is not in it.

    Args:
        dropped: Packets dropped, shape (F,).
        arrived: Packets that arrived, dropped ones included, shape (F,).

    Returns:
        Loss rates, shape (F,); NaN where nothing arrived.
    """
    result = np.full(len(arrived), np.nan)
    np.divide(dropped, arrived, out=result, where=arrived > 0)
    return result


def _of_flows(trial: TrialData) -> NDArray[np.float64]:
    queue = trial.need_queue()
    return loss_rate(queue.dropped_packets, queue.arrived_packets)


def _of_trial(trial: TrialData) -> float:
    queue = trial.need_queue()
    sums = queue.dropped_packets.sum(keepdims=True), queue.arrived_packets.sum(keepdims=True)
    return float(loss_rate(*sums)[0])


METRIC = register(
    Metric(
        name="per_flow_loss_rate",
        title="Loss rate per flow",
        unit="1",
        scope="flow",
        definition="The flow's packets dropped by the queue, of those that arrived in the window.",
        source="nashbed",
        compute=_of_flows,
    )
)
TOTAL = register(
    Metric(
        name="loss_rate",
        title="Loss rate",
        unit="1",
        scope="trial",
        definition="Packets dropped by the queue, of all that arrived in the window.",
        source="nashbed",
        compute=_of_trial,
    )
)
