"""The memory that queues share: who holds it over time, who is to blame, what bursts it absorbs."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from nashbed.controlplane.contract.queues import Queues
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..align.arrived import QUEUE_COLUMNS, are_all, queue_of
from ..measures import TrialMeasures
from ..metrics.memory import sudden_burst
from ..metrics.queue import COLUMNS, TimeBins, occupancy_bins
from ..sharing.blame import blame_shares
from ..sharing.of_run import MixSharing, RunSharing
from ..sharing.of_trial import TrialSharing, applied_queues
from ..state import State
from ..text import size_text, trials_text
from .plot import Axis, Cells, Item, Line, Note, Panel, Plot, Rule, Stack, means, through
from .queue_over_time import MAX_BINS, MIN_BIN_NS
from .style import DASHED, INK, MUTED, NARROW, QUEUE_COLOURS, WIDE

MAX_FLOWS = 60
"""Most flows that the heat map of blame shows one by one."""
BESIDE = 0.07
"""How far the smallest burst with loss stands beside the largest without."""


def queue_colour(queue: int) -> str:
    """The colour of a queue, the same in all figures of a run."""
    return QUEUE_COLOURS[queue % len(QUEUE_COLOURS)]


def memory_over_time_plot(trial: TrialMeasures) -> Plot | None:
    """Who holds the memory: the queues stacked, and each against what it may have.

    None if it has one queue, or does not keep all postcards.

    Raises:
        RunError: The postcards are damaged.
    """
    applied = applied_queues(trial.trial) if are_all(trial.trial) else None
    if applied is None:
        return None
    bins, held = memory_by_queue(trial, len(applied.queues))
    t_s, limit = bins.middles_ns / NS_PER_S, trial.buffer_bytes / 1e3
    colours = [queue_colour(queue) for queue in range(len(held))]
    names = [queue.name for queue in applied.queues]
    measured = Rule(trial.trial.record.window_ns[0] / NS_PER_S, upright=True, color=MUTED,
                    linewidth=0.9, linestyle=":")  # fmt: skip
    above: list[Item] = [
        Stack(t_s, held / 1e3, colours, names),
        Rule(limit, color=INK, linewidth=1.0, linestyle=DASHED),
        Note(f"memory {size_text(trial.buffer_bytes)}", 0.99, limit, ("axes fraction", "data"),
             ha="right", va="bottom", fontsize=8.5, color=INK),
        measured,
    ]  # fmt: skip
    below: list[Item] = [
        Line(t_s, row, color=colour, linewidth=1.0)
        for row, colour in zip(held / 1e3, colours, strict=True)
    ]
    for line, queue in thresholds(applied, trial.buffer_bytes, held):
        colour = INK if queue is None else queue_colour(queue)
        label = "what each queue may have" if queue is None else f"what {names[queue]} may have"
        below.append(Line(t_s, line / 1e3, label, color=colour, linewidth=0.9, linestyle=DASHED))
    x = Axis("time (s)", bins.start_ns / NS_PER_S, bins.end_ns / NS_PER_S)
    panels = [
        Panel(above, y=Axis("bytes in the memory (kB)", 0, 1.18 * limit)),
        Panel([*below, measured], x, Axis("bytes of each queue (kB)", 0, 1.05 * limit)),
    ]
    return Plot(panels, (NARROW, 5.2), columns=3, ratios=(1.2, 1))


def memory_by_queue(trial: TrialMeasures, queues: int) -> tuple[TimeBins, NDArray[np.float64]]:
    """Mean bytes of each queue over time, and the bins, shape (Q, B)."""
    duration = trial.trial.record.duration_ns
    bins = TimeBins.cover(0, duration, max(MIN_BIN_NS, -(-duration // MAX_BINS)))

    def by_queue() -> Iterator[Arrays]:
        for chunk in trial.trial.batches("postcards", (*COLUMNS, *QUEUE_COLUMNS)):
            yield chunk | {"flow": queue_of(chunk)}

    return bins, occupancy_bins(by_queue(), queues, bins)


def thresholds(
    applied: Queues, memory_bytes: int, held: NDArray[np.float64]
) -> list[tuple[NDArray[np.float64], int | None]]:
    """What the memory's policy and their own limits let queues have, over time.

    Args:
        held: Mean bytes of each queue in each bin, shape (Q, B).

    Returns:
        Bytes, shape (B,), and the queue (None: each one). With dynamic thresholds the mean over a
        bin is exact, for they are linear in what is held. Of one's own policy nothing is known.
    """
    flat, memory = np.ones(held.shape[1]), applied.memory
    lines: list[tuple[NDArray[np.float64], int | None]] = []
    if memory.alpha is not None:
        lines.append((memory.alpha * (memory_bytes - held.sum(axis=0)), None))
    elif memory.name == "complete_partitioning":
        lines.append((flat * (memory_bytes // len(held)), None))
    lines += [(flat * limit, queue) for queue, limit in enumerate(memory.limits)]
    own = ((queue, each.limit_bytes) for queue, each in enumerate(applied.queues))
    return lines + [(flat * limit, queue) for queue, limit in own if limit]


def blame_plot(sharing: TrialSharing | None) -> Plot | None:
    """Who held the memory when whose packets were dropped: a row for each that lost.

    None without a drop, if all flows are of one class, or if the packets cannot be read.
    """
    if sharing is None or not sharing.dropped_packets or len(sharing.classes) < 2:
        return None
    by_flow = len(sharing.blame.flow) <= MAX_FLOWS
    order = np.lexsort((sharing.blame.flow, sharing.class_of))
    classes = len(sharing.classes)
    among = sharing.blame.among(sharing.class_of, classes)
    names = [sharing.class_text(index) for index in range(classes)]
    if by_flow:
        cells, of_row = sharing.blame.blamed_bytes[np.ix_(order, order)], sharing.class_of[order]
        rows = [f"{names[sharing.class_of[i]]}, flow {sharing.blame.flow[i]}" for i in order]
    else:
        cells, of_row, rows = among, np.arange(classes), names
    edges = np.searchsorted(of_row, np.arange(classes + 1)) - 0.5
    middles = (edges[:-1] + edges[1:]) / 2
    items = [
        Cells(rows, rows, 100 * blame_shares(cells), cmap="Blues", vmin=0,
              bar="share of the memory at the drops (%)"),
        *(Rule(edge, upright=upright, color="white", linewidth=2.0)
          for edge in edges[1:-1] for upright in (False, True)),
        *_shares(100 * blame_shares(among), middles),
    ]  # fmt: skip
    ticks = dict(zip(middles.tolist(), names, strict=True))
    x, y = Axis("held the memory", ticks=ticks), Axis("lost packets", ticks=ticks, turned=90)
    return Plot([Panel(items, x, y)], (NARROW, 4.4), columns=0)


def _shares(shares: NDArray[np.float64], middles: NDArray[np.float64]) -> Iterator[Note]:
    """The share of each class in the drops of each, in the middle of their cells."""
    for row, column in np.argwhere(np.isfinite(shares)).tolist():
        yield Note(f"{shares[row, column]:.0f} %", middles[column], middles[row], ha="center",
                   va="center", fontsize=10, fontweight="bold", color=INK,
                   bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0,
                         "boxstyle": "round,pad=0.2"})  # fmt: skip


def memory_shares_plot(mixes: Sequence[MixSharing]) -> Plot | None:
    """Each queue's share of the throughput against its share of the memory; None of one queue."""
    if not mixes or len(mixes[0].queues) == 1:
        return None
    trials = [trial for mix in mixes for trial in mix.trials]
    items = [Line([0, 100], [0, 100], "equal shares", color=INK, linewidth=1.0, linestyle=DASHED,
                  zorder=2)]  # fmt: skip
    for queue, name in enumerate(mixes[0].queues):
        items.append(
            Line([100 * trial.memory_shares[queue] for trial in trials],
                 [100 * trial.throughput_shares[queue] for trial in trials],
                 f"{name} ({trials_text([len(trials)])})", linestyle="none",
                 marker="osD^vPX*"[queue % 8], color=queue_colour(queue), markeredgewidth=0,
                 zorder=3)
        )  # fmt: skip
    x, y = Axis("share of the memory (%)", 0, 103), Axis("share of the throughput (%)", 0, 103)
    return Plot([Panel(items, x, y)], (NARROW, 3.8), columns=3)


def bursts_by_memory_plot(
    run: RunSharing, settings: Sequence[Setting], state: State
) -> Plot | None:
    """The largest burst without loss beside a long queue, by policy of the memory.

    Settings differ in the policy alone, in their order on the axis. None unless two have such
    bursts.
    """
    found = [m for s in settings for m in run.of_setting(s) if m.state == state]
    queues = found[0].queues if found else ()
    drawn = {
        m.setting.label
        for m in found for queue in range(len(queues)) for reading in ("absorbed", "cut")
        if m.reading(reading, queue) is not None
    }  # fmt: skip
    if len(drawn) < 2:
        return None
    items: list[Item] = []
    for queue, name in enumerate(queues):
        label = f"{name}: largest without loss"
        items += _bursts(found, "absorbed", queue, label, marker="o")
        label = f"{name}: smallest with loss"
        items += _bursts(found, "cut", queue, label, marker="v", markerfacecolor="white")
    items += _sudden_bursts(found)
    names = {place: _policy(mix) for place, mix in enumerate(found)}
    x = Axis("policy of the memory", -0.4, len(found) - 0.6, ticks=names)
    return Plot([Panel(items, x, Axis("burst (kB)", low=0, room=1.05))], (WIDE, 3.6))


def _bursts(
    mixes: Sequence[MixSharing], reading: str, queue: int, label: str, **look: Any
) -> Iterator[Item]:
    """Bursts of a queue, and a line through those by alpha: a scale, which policies are not."""
    aside = BESIDE if reading == "cut" else 0.0
    known = [(place + aside, mix, found) for place, mix in enumerate(mixes)
             if (found := mix.reading(reading, queue)) is not None]  # fmt: skip
    if not known:
        return
    yield means([(x, found) for x, _, found in known], label, color=queue_colour(queue),
                linestyle="none", capsize=2.0, elinewidth=1.0, **look)  # fmt: skip
    by_alpha = [(x, found.mean) for x, mix, found in known if _alpha(mix)]
    yield through(by_alpha, linewidth=1.0, color=queue_colour(queue),
                  linestyle=":" if reading == "cut" else "-")  # fmt: skip


def _sudden_bursts(mixes: Sequence[MixSharing]) -> Iterator[Line]:
    """What theory says of each policy, where it says the same of every queue."""
    for place, mix in enumerate(mixes):
        measures = mix.trials[0].measures
        applied = applied_queues(measures.trial)
        if applied is None:
            continue
        count = len(applied.queues)
        limits = {
            sudden_burst(applied.memory, measures.buffer_bytes, count, queue)
            for queue in range(count)
        }
        limit = limits.pop()
        if limit is not None and not limits:
            yield Line([place - 0.3, place + 0.3], [limit / 1e3] * 2,
                       "in theory, all at once beside queues at their limits", color=INK,
                       linewidth=1.2, linestyle=DASHED)  # fmt: skip


def _alpha(mix: MixSharing) -> float | None:
    """The alpha of dynamic thresholds; None: another policy."""
    return None if mix.setting.queues is None else mix.setting.queues.memory.alpha


def _policy(mix: MixSharing) -> str:
    """The policy on the axis: of dynamic thresholds their alpha."""
    assert mix.setting.queues is not None, "settings of one queue have no policy"
    alpha = _alpha(mix)
    if alpha is not None:
        return f"$\\alpha$ = {alpha:g}"
    return mix.setting.queues.memory.text.replace(" ", "\n", 1)
