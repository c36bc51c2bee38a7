"""Starvation: flows that get next to nothing for long."""

from typing import NamedTuple

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import FloatArray, IntArray, TrialData
from .metric import Metric
from .throughput import check_cover

STARVED_BELOW = 0.1
"""Share of the fair share."""
ROUND_TRIPS = 10
LEAST_NS = NS_PER_S
"""A flow that waits for a retransmission timer of 200 ms twice is silent for 0.6 s."""


class Starvation(NamedTuple):
    """Whether and how long each flow starved.

    Attributes:
        share: Share of the time in which it starves, shape (F,).
        longest_s: Longest spell of it in seconds, 0 without any, shape (F,).
    """

    share: FloatArray
    longest_s: FloatArray


def starvation(
    edges_ns: IntArray, received_bits: FloatArray, fair_bits: FloatArray, longer_than_ns: int
) -> Starvation:
    """How long flows get less than a tenth of their fair share for longer than a time T.

    A flow starves in a window of length T if it gets less in it than a tenth of what is fair; it
    starves at an instant if a window in which it starves contains it. Two such windows that touch
    are one spell, which is therefore T or longer. T is rounded up to whole intervals.

    Args:
        edges_ns: Edges of the intervals, increasing, shape (K + 1,).
        received_bits: What each flow's sink read in each, shape (F, K).
        fair_bits: What one flow's fair share of the capacity was in each, shape (K,).
        longer_than_ns: T.

    Returns:
        Shares and spells; of a time shorter than T no share is known (NaN).

    Source: a flow's throughput falls below any bound on its share (Arun, Alizadeh, Balakrishnan,
    "Starvation in End-to-End Congestion Control", SIGCOMM 2022); a tenth, and T, are nashbed's.
    """
    flows, count = received_bits.shape
    total_ns = int(edges_ns[-1] - edges_ns[0])
    if total_ns < longer_than_ns:
        return Starvation(np.full(flows, np.nan), np.full(flows, np.nan))
    # The window that begins with interval i ends with interval last[i] - 1.
    last = np.searchsorted(edges_ns, edges_ns[:-1] + longer_than_ns, side="left")
    whole = last <= count
    first, last = np.flatnonzero(whole), last[whole]
    got = _between(received_bits, first, last)
    fair = _between(fair_bits[None, :], first, last)
    starved = got < STARVED_BELOW * fair
    share, longest = np.zeros(flows), np.zeros(flows)
    for flow in range(flows):
        covered = np.zeros(count + 1, np.int64)
        np.add.at(covered, first[starved[flow]], 1)
        np.add.at(covered, last[starved[flow]], -1)
        lengths_ns = _spells(edges_ns, np.cumsum(covered)[:-1] > 0)
        share[flow] = lengths_ns.sum() / total_ns
        longest[flow] = lengths_ns.max(initial=0) / NS_PER_S
    return Starvation(share, longest)


def _between(values: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """Sums over intervals first to last - 1, shape (F, n)."""
    sums = np.concatenate((np.zeros((len(values), 1)), np.cumsum(values, axis=1)), axis=1)
    between: FloatArray = sums[:, last] - sums[:, first]
    return between


def _spells(edges_ns: IntArray, inside: NDArray[np.bool_]) -> IntArray:
    """Lengths of the runs of intervals that are inside."""
    steps = np.diff(np.concatenate(([0], inside.astype(np.int8), [0])))
    begins, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    lengths: IntArray = edges_ns[ends] - edges_ns[begins]
    return lengths


def starved_after_ns(base_rtt_ns: int, buffer_bytes: int, rate_bps: int) -> int:
    """The usual T: ten round trips through the full queue, and at least a second.

    Args:
        base_rtt_ns: The longest base RTT.
        buffer_bytes: The queue's limit.
    """
    full_ns = base_rtt_ns + buffer_bytes * 8 * NS_PER_S // rate_bps
    return max(LEAST_NS, ROUND_TRIPS * full_ns)


def starvation_of(trial: TrialData) -> Starvation:
    """Starvation of the flows of a trial that always have data to send; NaN of the others.

    Raises:
        NotMeasuredError: The sinks did not count for the whole window.
    """
    goodput, window_ns = trial.need_goodput(), trial.window_ns
    check_cover(goodput, window_ns)
    edges = np.concatenate(([goodput.t_ns[0] - goodput.interval_ns], goodput.t_ns))
    inside = (edges[:-1] >= window_ns[0]) & (edges[1:] <= window_ns[1])
    chosen, bulk = np.flatnonzero(inside), trial.bulk
    edges = edges[chosen[0] : chosen[-1] + 2] if len(chosen) else edges[:1]
    longer_than_ns = starved_after_ns(
        int(trial.base_rtt_ns[bulk].max(initial=0)), trial.buffer_bytes, trial.rate_bps
    )
    capacity = trial.capacity_bits(edges)
    found = starvation(
        edges, 8 * goodput.bytes[np.ix_(bulk, chosen)], capacity / max(1, bulk.sum()),
        longer_than_ns,
    )  # fmt: skip
    full = np.full((2, trial.flows), np.nan)
    full[:, bulk] = found
    return Starvation(full[0], full[1])


_MEANS = (
    "A flow that always has data to send starves while it gets less than a tenth of its fair share "
    "(capacity by the number of such flows) for longer than ten round trips through the full "
    "queue, and 1 s"
)
SHARE = Metric(
    name="starved_share",
    title="Share of the time in which a flow starves",
    unit="1",
    scope="flow",
    definition=f"{_MEANS}: the share of the measured window.",
    source="the term: Arun, Alizadeh, Balakrishnan, SIGCOMM 2022",
    compute=lambda trial: starvation_of(trial).share,
)
LONGEST = Metric(
    name="longest_starvation",
    title="Longest time for which a flow starves",
    unit="s",
    scope="flow",
    definition=f"{_MEANS}: the longest spell of it in the measured window.",
    source="the term: Arun, Alizadeh, Balakrishnan, SIGCOMM 2022",
    compute=lambda trial: starvation_of(trial).longest_s,
)
