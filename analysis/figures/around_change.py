"""A path that changes: throughput and queue by time, with the changes as vertical lines."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DEPARTED
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.course import PathChange, PathCourse
from ..measures import RunMeasures, TrialMeasures
from ..metrics.queue import COLUMNS, TimeBins, occupancy_bins
from .plot import Axis, Band, Line, Note, Panel, Plot, Rule
from .style import DASHED, INK, MUTED, WIDE, trace_of

BEFORE, AFTER_NS = 0.25, 30 * NS_PER_S
"""Part of the time shown that lies before the change; the most that is shown after it."""
BINS = 300
LEAST_BIN_NS = 1_000_000


def span_around(course: PathCourse, number: int, end_ns: int) -> tuple[int, int]:
    """What is shown around a change: up to the next one, and a third of that before it."""
    change, until = course.segments(end_ns)[number]
    until = min(until, change.at_ns + AFTER_NS)
    before = (until - change.at_ns) * BEFORE / (1 - BEFORE)
    return max(0, change.at_ns - round(before)), until


def around_change_plot(
    measures: RunMeasures, trial: TrialMeasures, span_ns: tuple[int, int]
) -> Plot | None:
    """What left the queue by strategy, and the queue, in a part of a trial (from, to).

    None if its postcards are not kept, or nothing left.

    Raises:
        RunError: The postcards are damaged.
    """
    course = trial.course
    if course is None or not trial.trial.has("postcards"):
        return None
    low, high = span_ns
    bins = TimeBins.cover(low, high, max(LEAST_BIN_NS, -(-(high - low) // BINS)))
    left = departed_bins(trial, bins)
    if not left.any():
        return None
    t_s = bins.middles_ns / NS_PER_S
    edges = bins.start_ns + bins.length_ns * np.arange(bins.count + 1)
    capacity = course.capacity_bits(edges) * NS_PER_S / bins.length_ns
    chunks = trial.trial.batches("postcards", COLUMNS)
    queue = occupancy_bins(chunks, len(trial.strategy), bins).sum(axis=0)
    changes = [c for c in course.changes if low <= c.at_ns <= high]
    above = [
        *_by_strategy(measures, trial, t_s, left),
        Line(t_s, capacity / 1e6, "what the link can carry", drawstyle="steps-mid", color=INK,
             linewidth=1.0, linestyle=DASHED),
        *_marks(changes),
        *(_name(change, number) for number, change in enumerate(changes)),
    ]  # fmt: skip
    below = [Band(t_s, 0, queue / 1e3, color=MUTED, alpha=0.5), *_marks(changes)]
    x = Axis("time (s)", low / NS_PER_S, high / NS_PER_S)
    panels = [
        Panel(above, y=Axis("left the queue (Mbit/s)", low=0, room=1.15)),
        Panel(below, x, Axis("queue (kB)", low=0)),
    ]
    return Plot(panels, (WIDE, 4.6), columns=4, ratios=(1.3, 1))


def _by_strategy(
    measures: RunMeasures,
    trial: TrialMeasures,
    t_s: NDArray[np.float64],
    left: NDArray[np.float64],
) -> Iterator[Line]:
    strategies = np.array(trial.strategy)
    background = ~np.isin(trial.group, np.arange(len(trial.state)))
    for strategy in dict.fromkeys(strategies[~background].tolist()):
        which = (strategies == strategy) & ~background
        yield Line(t_s, left[which].sum(axis=0) / 1e6, strategy, linewidth=1.2,
                   **trace_of(strategy, measures.strategies))  # fmt: skip
    if background.any():
        yield Line(t_s, left[background].sum(axis=0) / 1e6, "background", color=MUTED,
                   linewidth=1.0)  # fmt: skip


def _marks(changes: Sequence[PathChange]) -> list[Rule]:
    look: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": ":"}
    return [Rule(change.at_ns / NS_PER_S, upright=True, **look) for change in changes]


def _name(change: PathChange, number: int) -> Note:
    """What a change is, below the names of those before it."""
    return Note(change.text, change.at_ns / NS_PER_S, 1.0 - 0.09 * (number % 3),
                ("data", "axes fraction"), xytext=(3, -2), textcoords="offset points", va="top",
                fontsize=8, color=INK,
                bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0})  # fmt: skip


def departed_bins(trial: TrialMeasures, bins: TimeBins) -> NDArray[np.float64]:
    """What left the queue of each flow in each bin, in bit/s of frames, shape (F, B)."""
    flows = len(trial.strategy)
    total = np.zeros(flows * bins.count)
    for chunk in trial.trial.batches("postcards", ("kind", "flow", "packet_bytes", "dequeue_ns")):
        t_ns = chunk["dequeue_ns"]
        left = chunk["kind"] == KIND_DEPARTED
        left &= (t_ns >= bins.start_ns) & (t_ns < bins.end_ns)
        place = (t_ns[left] - bins.start_ns) // bins.length_ns
        cell = chunk["flow"][left].astype(np.int64) * bins.count + place
        total += np.bincount(cell, weights=chunk["packet_bytes"][left], minlength=len(total))
    rates: NDArray[np.float64] = total.reshape(flows, bins.count)
    return rates * (8 * NS_PER_S / bins.length_ns)
