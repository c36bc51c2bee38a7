"""How long it takes: after a change until throughput is steady or capacity used, until fairness."""

from typing import Any, NamedTuple

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.course import PathChange
from ..align.data import FloatArray, IntArray, TrialData
from ..align.totals import DEPARTED_BIN_NS
from ..errors import NotMeasuredError
from .metric import Metric
from .throughput import check_cover

WITHIN = 0.1
"""How near to its final mean throughput must stay."""
USED = 0.9
"""Share of the new capacity that counts as used."""
SMOOTHED = 10
"""Windows of which a segment has so many: each is a tenth of it."""
FINAL = 0.5
"""Part of a segment, its last, that the final mean is taken of."""
ROUND_TRIPS = 10
"""Length of a window in which capacity is used, in base RTTs: a queue that drains is none."""
FAIR_ROUND_TRIPS = 25
"""Length of a window in which flows are fair, in base RTTs: one burst does not make them so."""
FAIR = 0.5
"""Least by largest throughput from which on flows are fair."""


def convergence_time(
    edges_ns: IntArray, received: FloatArray, segment_ns: tuple[int, int]
) -> float:
    """Time from a change until throughput is within 10 % of its final mean for good, in seconds.

    The segment is the time from the change to the next one, or to the end of what is measured. The
    final mean is that of its second half. Throughput is smoothed by windows of a tenth of the
    segment, each of which begins at an edge. The time is that of the first window which, with all
    that come after it, is within 10 % of the final mean: 0 if the first one is.

    Where that is in the second half only, throughput cannot be told from one that still moves: it
    has not converged.

    Args:
        edges_ns: Edges of the intervals, increasing, shape (K + 1,).
        received: Bytes in each, shape (K,).
        segment_ns: The segment (from, to).

    Returns:
        Seconds; NaN if throughput has not converged, or if nothing was received in the second half.

    Source: convergence time by RFC 5166, section 2.3; smoothing and censoring are nashbed's.
    """
    low, high = segment_ns
    starts = edges_ns[(edges_ns >= low) & (edges_ns < high)]
    length = (high - low) / SMOOTHED
    starts = np.unique(np.concatenate(([low], starts)))
    starts = starts[starts + length <= high]
    total = np.concatenate(([0.0], np.cumsum(received)))

    def until(t_ns: NDArray[Any]) -> FloatArray:
        at: FloatArray = np.interp(t_ns, edges_ns, total)
        return at

    half = high - FINAL * (high - low)
    final = float(np.diff(until(np.array([half, high])))[0]) / (high - half)
    if final <= 0 or not len(starts):
        return float("nan")
    rates = (until(starts + length) - until(starts)) / length
    # A hair more: the sums are not exact.
    outside = np.flatnonzero(np.abs(rates - final) > (WITHIN + 1e-9) * final)
    first = int(outside[-1]) + 1 if len(outside) else 0
    if first == len(starts) or starts[first] > half:
        return float("nan")
    return float(starts[first] - low) / NS_PER_S


def time_to_use_capacity(
    edges_ns: IntArray,
    departed_bits: FloatArray,
    capacity_bits: FloatArray,
    segment_ns: tuple[int, int],
    window_ns: int,
) -> float:
    """Time from a rise of the rate until 90 % of the capacity are used, in seconds.

    Args:
        edges_ns: Edges of the intervals, increasing, shape (K + 1,).
        departed_bits: What left the queue in each, on the wire, shape (K,).
        capacity_bits: What the link could carry in each, shape (K,).
        segment_ns: From the rise to the next change, or to the end of what is measured.
        window_ns: Length of the sliding window, which begins at an edge.

    Returns:
        From the rise to the beginning of the first window with 90 %; NaN if there is none.

    Source: response to changes, RFC 5166, section 2.2; share and window are nashbed's.
    """
    low, high = segment_ns
    starts = edges_ns[:-1][(edges_ns[:-1] >= low) & (edges_ns[:-1] + window_ns <= high)]
    sums = [np.concatenate(([0.0], np.cumsum(bits))) for bits in (departed_bits, capacity_bits)]
    used, could = (
        np.interp(starts + window_ns, edges_ns, each) - np.interp(starts, edges_ns, each)
        for each in sums
    )
    enough = np.flatnonzero((could > 0) & (used >= USED * could))
    return float(starts[enough[0]] - low) / NS_PER_S if len(enough) else float("nan")


def time_to_fairness(
    edges_ns: IntArray, received: FloatArray, begin_ns: int, window_ns: int
) -> float:
    """Time until the slowest flow has half the throughput of the fastest, in seconds.

    That is epsilon-fair with epsilon 1/2, and of two flows delta-fair with delta 1/3: they have
    (1 + delta)/2 and (1 - delta)/2 of the sum.

    Args:
        edges_ns: Edges of the intervals, increasing, shape (K + 1,).
        received: Bytes of each flow in each, shape (F, K).
        begin_ns: When the last flow began.
        window_ns: Length of the sliding window, which begins at an edge.

    Returns:
        From then to the beginning of the first window in which it has; NaN if there is none.

    Source: delta-fair convergence time, RFC 5166, section 2.3 (Bansal, Balakrishnan, Floyd,
    Shenker, SIGCOMM 2001); delta and window are nashbed's.
    """
    starts = edges_ns[(edges_ns >= begin_ns) & (edges_ns + window_ns <= edges_ns[-1])]
    totals = [np.concatenate(([0.0], np.cumsum(flow))) for flow in received]
    got = [np.interp(starts + window_ns, edges_ns, t) - np.interp(starts, edges_ns, t)
           for t in totals]  # fmt: skip
    least, most = np.min(got, axis=0), np.max(got, axis=0)
    fair = np.flatnonzero((most > 0) & (least >= FAIR * most))
    return float(starts[fair[0]] - begin_ns) / NS_PER_S if len(fair) else float("nan")


class ChangeResponse(NamedTuple):
    """What came after one change.

    Attributes:
        number: Which change of the trial, from 0.
        length_ns: Time to the next one, or to the end of the measured window.
        convergence_s: Group and strategy -> convergence time of their flows together; NaN: not
            within the segment. Empty while the link is down.
        use_s: Time to use the new capacity; NaN: not within the segment; None: the rate does not
            rise, or what left the queue is not known.
    """

    number: int
    change: PathChange
    length_ns: int
    convergence_s: dict[tuple[int, str], float]
    use_s: float | None


def responses_of(trial: TrialData) -> tuple[ChangeResponse, ...]:
    """What came after each change within the measured window.

    Raises:
        NotMeasuredError: The path does not change, or the sinks did not count for the window.
    """
    course, (begin, end) = trial.need_course(), trial.window_ns
    goodput = trial.need_goodput()
    check_cover(goodput, trial.window_ns)
    edges = np.concatenate(([goodput.t_ns[0] - goodput.interval_ns], goodput.t_ns))
    kinds = {kind: goodput.bytes[which].sum(axis=0) for kind, which in trial.bulk_kinds().items()}
    found = []
    for number, (change, until) in enumerate(course.segments(end)):
        if change.at_ns < begin:
            continue
        segment = change.at_ns, until
        up = kinds if change.rate_bps else {}
        times = {kind: convergence_time(edges, got, segment) for kind, got in up.items()}
        use_s = _use_of(trial, segment) if change.raises_rate else None
        found.append(ChangeResponse(number, change, until - change.at_ns, times, use_s))
    return tuple(found)


def _use_of(trial: TrialData, segment_ns: tuple[int, int]) -> float | None:
    departed = None if trial.queue is None else trial.queue.departed_bits
    if departed is None:
        return None
    edges = np.arange(len(departed) + 1, dtype=np.int64) * DEPARTED_BIN_NS
    window_ns = ROUND_TRIPS * int(trial.base_rtt_ns.max(initial=0))
    capacity = trial.need_course().capacity_bits(edges)
    return time_to_use_capacity(edges, departed, capacity, segment_ns, window_ns)


def _convergence_of_flows(trial: TrialData) -> FloatArray:
    times = [each.convergence_s for each in responses_of(trial) if each.convergence_s]
    if not times:
        raise NotMeasuredError("no change of the path is in the measured window")
    result = np.full(trial.flows, np.nan)
    for kind, which in trial.bulk_kinds().items():
        result[which] = max((each[kind] for each in times), key=_nan_last)
    return result


def _use_of_trial(trial: TrialData) -> float:
    times = [each.use_s for each in responses_of(trial) if each.use_s is not None]
    if not times:
        raise NotMeasuredError(
            "no rise of the rate is in the measured window, or what left the queue is not known"
        )
    return max(times, key=_nan_last)


def _fairness_of_trial(trial: TrialData) -> float:
    goodput, which = trial.need_goodput(), trial.mixed & trial.bulk
    received = goodput.bytes[which]
    if len(received) < 2 or not received.any(axis=1).all():
        raise NotMeasuredError("fewer than two flows of the mix, or one of them had nothing")
    edges = np.concatenate(([goodput.t_ns[0] - goodput.interval_ns], goodput.t_ns))
    begin_ns = int(edges[np.argmax(received > 0, axis=1)].max())
    window_ns = max(goodput.interval_ns, FAIR_ROUND_TRIPS * int(trial.base_rtt_ns[which].max()))
    return time_to_fairness(edges, received, begin_ns, window_ns)


def _nan_last(value: float) -> float:
    """A time that is not known is longer than all that are."""
    return float("inf") if np.isnan(value) else value


CONVERGENCE = Metric(
    name="convergence_time",
    title="Convergence time after a change",
    unit="s",
    scope="flow",
    definition="Time from a change of the path until the throughput of all flows of the flow's "
    "congestion control and group, in windows of a tenth of the time to the next change, is "
    "within 10 % of its mean in the second half of that time, for good; the longest of the "
    "changes in the measured window, and not known where one of them takes more than that half.",
    source="RFC 5166, section 2.3; smoothing and censoring: nashbed",
    compute=_convergence_of_flows,
    common=False,
)
USE = Metric(
    name="time_to_use_capacity",
    title="Time to use new capacity",
    unit="s",
    scope="trial",
    definition="Time from a rise of the rate to the first window of ten base RTTs in which 90 % of "
    "the capacity is used; the longest of the rises in the measured window, and not known where "
    "one of them is not used before the next change.",
    source="RFC 5166, section 2.2; share and window: nashbed",
    compute=_use_of_trial,
    common=False,
)
UNTIL_FAIR = Metric(
    name="time_to_fairness",
    title="Time until flows are fair",
    unit="s",
    scope="trial",
    definition="Time from the first byte of the mix's last flow to the first window of 25 base "
    "RTTs in which the slowest flow has at least half the throughput of the fastest; not known "
    "where there is none before the trial ends.",
    source="RFC 5166, section 2.3 (delta-fair convergence time, delta 1/3); window: nashbed",
    compute=_fairness_of_trial,
    common=False,
)
