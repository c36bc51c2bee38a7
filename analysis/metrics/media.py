"""Paced media: how long their datagrams are on the way, and how many are lost."""

from collections.abc import Callable
from functools import partial

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import FloatArray, IntArray, TrialData
from .completion import STATISTICS, statistic
from .metric import Metric


def one_way_delays(sent_ns: IntArray, arrived_ns: FloatArray) -> FloatArray:
    """Time that each datagram was on the way, in seconds; NaN where it was lost.

    Args:
        sent_ns: When each was sent, shape (n,).
        arrived_ns: When each arrived; NaN: it was lost, shape (n,).
    """
    delays: FloatArray = (arrived_ns - sent_ns) / NS_PER_S
    return delays


def _of_flows(trial: TrialData, of: Callable[[FloatArray], float]) -> FloatArray:
    """A number of the delays of each flow's datagrams that were sent in the window."""
    data, (low, high) = trial.need_datagrams(), trial.window_ns
    inside = (data.sent_ns >= low) & (data.sent_ns < high)
    delays = one_way_delays(data.sent_ns, data.arrived_ns)
    result = np.full(trial.flows, np.nan)
    for flow in np.unique(data.flow[inside]).tolist():
        result[flow] = of(delays[inside & (data.flow == flow)])
    return result


def _of_arrived(delays: FloatArray, share: float) -> float:
    return statistic(delays[np.isfinite(delays)], share)


def lost_share(delays: NDArray[np.float64]) -> float:
    """Datagrams that did not arrive, of all that were sent (unit 1)."""
    return float(np.isnan(delays).mean())


def _delay_metric(prefix: str, share: float, words: str) -> Metric:
    return Metric(
        name=f"{prefix}_one_way_delay" if prefix else "one_way_delay",
        title=f"One-way delay of media, {words}",
        unit="s",
        scope="flow",
        definition="Time from a datagram's sending to its arrival, of the flow's datagrams that "
        f"were sent in the measured window and arrived: their {words}.",
        source="RFC 7679; RFC 8868, section 3.1",
        compute=lambda trial: _of_flows(trial, partial(_of_arrived, share=share)),
        common=False,
    )


DELAYS = tuple(_delay_metric(*each) for each in STATISTICS)
LOST = Metric(
    name="datagram_loss_rate",
    title="Loss rate of media",
    unit="1",
    scope="flow",
    definition="The flow's datagrams that did not arrive, of those that were sent in the measured "
    "window.",
    source="RFC 7680; RFC 8868, section 3.1",
    compute=lambda trial: _of_flows(trial, lost_share),
    common=False,
)
