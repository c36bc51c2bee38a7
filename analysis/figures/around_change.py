"""A path that changes: throughput and queue by time, with the changes as vertical lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.records import KIND_DEPARTED
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.course import PathChange, PathCourse
from ..measures import RunMeasures, TrialMeasures
from ..metrics.queue import COLUMNS, TimeBins, occupancy_bins
from .style import DASHED, INK, MUTED, WIDE, colour_of, legend_below, new_figure

BEFORE, AFTER_NS = 0.25, 30 * NS_PER_S
"""Part of the time shown that lies before the change; the most that is shown after it."""
BINS = 300
LEAST_BIN_NS = 1_000_000


def span_around(course: PathCourse, number: int, end_ns: int) -> tuple[int, int]:
    """What is shown around a change: up to the next one, and a third of that before it.

    Args:
        course: What the path does.
        number: Which change.
        end_ns: End of the trial.
    """
    change, until = course.segments(end_ns)[number]
    until = min(until, change.at_ns + AFTER_NS)
    before = (until - change.at_ns) * BEFORE / (1 - BEFORE)
    return max(0, change.at_ns - round(before)), until


def draw_around_change(
    measures: RunMeasures, trial: TrialMeasures, span_ns: tuple[int, int]
) -> Figure | None:
    """Draw what left the queue by strategy, and the queue, over a part of a trial.

    Args:
        measures: The run's measures.
        trial: The trial.
        span_ns: What is shown (from, to).

    Returns:
        The figure; None if its postcards are not kept, or nothing left.

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
    figure, (above, below) = new_figure(WIDE, 4.6, rows=2, heights=(1.3, 1))
    t_s = bins.middles_ns / NS_PER_S
    background = ~np.isin(trial.group, np.arange(len(trial.state)))
    for strategy in dict.fromkeys(np.array(trial.strategy)[~background].tolist()):
        which = (np.array(trial.strategy) == strategy) & ~background
        above.plot(t_s, left[which].sum(axis=0) / 1e6, linewidth=1.2, label=strategy,
                   color=colour_of(strategy, measures.strategies))  # fmt: skip
    if background.any():
        above.plot(t_s, left[background].sum(axis=0) / 1e6, color=MUTED, linewidth=1.0,
                   label="background")  # fmt: skip
    edges = bins.start_ns + bins.length_ns * np.arange(bins.count + 1)
    capacity = course.capacity_bits(edges) * NS_PER_S / bins.length_ns
    above.step(t_s, capacity / 1e6, where="mid", color=INK, linewidth=1.0, linestyle=DASHED,
               label="what the link can carry")  # fmt: skip
    above.set(ylabel="left the queue (Mbit/s)", ylim=(0, 1.15 * above.get_ylim()[1]))
    chunks = trial.trial.batches("postcards", COLUMNS)
    queue = occupancy_bins(chunks, len(trial.strategy), bins).sum(axis=0)
    below.fill_between(t_s, queue / 1e3, color=MUTED, alpha=0.5, linewidth=0)
    below.set(xlabel="time (s)", ylabel="queue (kB)", ylim=(0, None),
              xlim=(low / NS_PER_S, high / NS_PER_S))  # fmt: skip
    _mark(above, below, [c for c in course.changes if low <= c.at_ns <= high])
    legend_below(figure, above, 4)
    return figure


def _mark(above: Axes, below: Axes, changes: Sequence[PathChange]) -> None:
    """A line at each change, and what it is."""
    for number, change in enumerate(changes):
        for ax in (above, below):
            ax.axvline(change.at_ns / NS_PER_S, color=INK, linewidth=0.9, linestyle=":")
        above.annotate(change.text, (change.at_ns / NS_PER_S, 1.0 - 0.09 * (number % 3)),
                       xycoords=("data", "axes fraction"), xytext=(3, -2),
                       textcoords="offset points", va="top", fontsize=8, color=INK,
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
