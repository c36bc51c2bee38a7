"""The memory that queues share: who holds it over time, who is to blame, what bursts it absorbs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.queues import Queues
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..align.arrived import QUEUE_COLUMNS, are_all, queue_of
from ..measures import TrialMeasures
from ..metrics.memory import sudden_burst
from ..metrics.queue import COLUMNS, TimeBins, occupancy_bins
from ..metrics.statistics import Estimate
from ..sharing.blame import blame_shares
from ..sharing.of_run import MixSharing, RunSharing
from ..sharing.of_trial import TrialSharing, applied_queues
from ..state import State
from ..text import size_text, trials_text
from .axes import draw_estimates
from .queue_over_time import MAX_BINS, MIN_BIN_NS
from .style import DASHED, INK, MUTED, NARROW, QUEUE_COLOURS, WIDE, new_figure

MAX_FLOWS = 60
"""Most flows that the heat map of blame shows one by one."""
NO_DROPS = "#eef0f2"
BESIDE = 0.07
"""How far the smallest burst with loss stands beside the largest without."""


def queue_colour(queue: int) -> str:
    """The colour of a queue, the same in all figures of a run."""
    return QUEUE_COLOURS[queue % len(QUEUE_COLOURS)]


def draw_memory_over_time(trial: TrialMeasures) -> Figure | None:
    """Draw who holds the memory: the queues stacked, and each against what it may have.

    Args:
        trial: The trial.

    Returns:
        The figure; None if it has one queue, or does not keep all postcards.

    Raises:
        RunError: The postcards are damaged.
    """
    applied = applied_queues(trial.trial) if are_all(trial.trial) else None
    if applied is None:
        return None
    bins, held = memory_by_queue(trial, len(applied.queues))
    figure, (above, below) = new_figure(NARROW, 5.2, rows=2, heights=(1.2, 1))
    t_s, kilobytes = bins.middles_ns / NS_PER_S, held / 1e3
    colours = [queue_colour(queue) for queue in range(len(held))]
    names = [queue.name for queue in applied.queues]
    above.stackplot(t_s, kilobytes, colors=colours, labels=names, linewidth=0, rasterized=True)
    limit = trial.buffer_bytes / 1e3
    above.axhline(limit, color=INK, linewidth=1.0, linestyle=DASHED)
    above.annotate(f"memory {size_text(trial.buffer_bytes)}", (0.99, limit),
                   xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8.5,
                   color=INK)  # fmt: skip
    above.set(ylabel="bytes in the memory (kB)", ylim=(0, 1.18 * limit))
    for row, colour in zip(kilobytes, colours, strict=True):
        below.plot(t_s, row, color=colour, linewidth=1.0)
    for line, queue in thresholds(applied, trial.buffer_bytes, held):
        colour = INK if queue is None else queue_colour(queue)
        label = "what each queue may have" if queue is None else f"what {names[queue]} may have"
        below.plot(t_s, line / 1e3, color=colour, linewidth=0.9, linestyle=DASHED, label=label)
    below.set(
        xlabel="time (s)",
        ylabel="bytes of each queue (kB)",
        xlim=(bins.start_ns / NS_PER_S, bins.end_ns / NS_PER_S),
        ylim=(0, 1.05 * limit),
    )
    warm_ns = trial.trial.record.window_ns[0]
    for ax in (above, below):
        ax.axvline(warm_ns / NS_PER_S, color=MUTED, linewidth=0.9, linestyle=":")
    handles = [entry for ax in (above, below) for entry in zip(*ax.get_legend_handles_labels(),
                                                               strict=True)]  # fmt: skip
    figure.legend(*zip(*handles, strict=True), loc="outside lower center", ncols=3)
    return figure


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
        applied: The queues as applied.
        memory_bytes: The memory.
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


def draw_blame(sharing: TrialSharing) -> Figure | None:
    """Draw who held the memory when whose packets were dropped: a row for each that lost.

    Args:
        sharing: A trial.

    Returns:
        The figure; None without a drop, or if all flows are of one class.
    """
    if not sharing.dropped_packets or len(sharing.classes) < 2:
        return None
    by_flow = len(sharing.blame.flow) <= MAX_FLOWS
    order = np.lexsort((sharing.blame.flow, sharing.class_of))
    classes = len(sharing.classes)
    among = sharing.blame.among(sharing.class_of, classes)
    if by_flow:
        cells, of_row = sharing.blame.blamed_bytes[np.ix_(order, order)], sharing.class_of[order]
    else:
        cells, of_row = among, np.arange(classes)
    figure, (ax,) = new_figure(NARROW, 4.4)
    ax.set_facecolor(NO_DROPS)
    image = ax.imshow(100 * blame_shares(cells), cmap="Blues", vmin=0, aspect="auto",
                      interpolation="nearest")  # fmt: skip
    ax.grid(visible=False)
    edges = np.searchsorted(of_row, np.arange(classes + 1)) - 0.5
    for edge in edges[1:-1]:
        ax.axhline(edge, color="white", linewidth=2.0)
        ax.axvline(edge, color="white", linewidth=2.0)
    middles = (edges[:-1] + edges[1:]) / 2
    _write_shares(ax, 100 * blame_shares(among), middles)
    names = [sharing.class_text(index) for index in range(classes)]
    ax.set_xticks(middles, names)
    ax.set_yticks(middles, names, rotation=90, va="center")
    ax.set(xlabel="held the memory", ylabel="lost packets")
    figure.colorbar(image, ax=ax, label="share of the memory at the drops (%)", pad=0.02)
    return figure


def _write_shares(ax: Axes, shares: NDArray[np.float64], middles: NDArray[np.float64]) -> None:
    """The share of each class in the drops of each, in the middle of their cells."""
    for row, column in np.ndindex(shares.shape):
        if np.isfinite(shares[row, column]):
            ax.text(float(middles[column]), float(middles[row]), f"{shares[row, column]:.0f} %",
                    ha="center", va="center", fontsize=10, fontweight="bold", color=INK,
                    bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0,
                          "boxstyle": "round,pad=0.2"})  # fmt: skip


def draw_memory_shares(mixes: Sequence[MixSharing]) -> Figure | None:
    """Draw each queue's share of the throughput against its share of the memory.

    Args:
        mixes: The mixes of a setting.

    Returns:
        The figure; None if there is one queue.
    """
    if not mixes or len(mixes[0].queues) == 1:
        return None
    figure, (ax,) = new_figure(NARROW, 3.8)
    ax.plot([0, 100], [0, 100], color=INK, linewidth=1.0, linestyle=DASHED,
            label="equal shares", zorder=2)  # fmt: skip
    trials = [trial for mix in mixes for trial in mix.trials]
    for queue, name in enumerate(mixes[0].queues):
        ax.plot(
            [100 * trial.memory_shares[queue] for trial in trials],
            [100 * trial.throughput_shares[queue] for trial in trials],
            "osD^vPX*"[queue % 8],
            color=queue_colour(queue),
            markeredgewidth=0,
            label=f"{name} ({trials_text([len(trials)])})",
            zorder=3,
        )
    ax.set(xlabel="share of the memory (%)", ylabel="share of the throughput (%)",
           xlim=(0, 103), ylim=(0, 103))  # fmt: skip
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def draw_bursts_by_memory(
    run: RunSharing, settings: Sequence[Setting], state: State
) -> Figure | None:
    """Draw the largest burst without loss beside a long queue, by policy of the memory.

    Args:
        run: Who shared the memory.
        settings: Settings that differ in the policy alone, in their order on the axis.
        state: The mix.

    Returns:
        The figure; None unless two policies have such bursts.
    """
    found = [m for s in settings for m in run.of_setting(s) if m.state == state]
    places = {mix.setting.label: index for index, mix in enumerate(found)}
    figure, (ax,) = new_figure(WIDE, 3.6)
    drawn: set[str] = set()
    for queue, name in enumerate(found[0].queues if found else ()):
        for reading, label, look in (
            ("absorbed", f"{name}: largest without loss", {"marker": "o"}),
            ("cut", f"{name}: smallest with loss", {"marker": "v", "markerfacecolor": "white"}),
        ):
            known = _known(found, reading, queue)
            if not known:
                continue
            aside = BESIDE if reading == "cut" else 0.0
            x = [places[mix.setting.label] + aside for mix, _ in known]
            drawn |= {mix.setting.label for mix, _ in known}
            draw_estimates(ax, x, [e for _, e in known], queue_colour(queue), label=label,
                           linestyle="none", capsize=2.0, elinewidth=1.0, **look)  # fmt: skip
            # Alphas are a scale, which a line may join; policies are not.
            by_alpha = [(at, e.mean) for at, (mix, e) in zip(x, known, strict=True) if _alpha(mix)]
            ax.plot(*np.array(by_alpha).reshape(-1, 2).T, color=queue_colour(queue), linewidth=1.0,
                    linestyle=":" if reading == "cut" else "-")  # fmt: skip
    if len(drawn) < 2:
        return None
    _draw_sudden_bursts(ax, found)
    ax.set_xticks(range(len(found)), [_policy(mix) for mix in found])
    ax.set(xlabel="policy of the memory", ylabel="burst (kB)", xlim=(-0.4, len(found) - 0.6))
    ax.set_ylim(0, 1.05 * ax.get_ylim()[1])
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _draw_sudden_bursts(ax: Axes, mixes: Sequence[MixSharing]) -> None:
    """What theory says of each policy, where it says the same of every queue."""
    label = "in theory, all at once beside queues at their limits"
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
            ax.hlines(limit / 1e3, place - 0.3, place + 0.3, color=INK, linewidth=1.2,
                      linestyle=DASHED, label=label)  # fmt: skip
            label = "_"


def _known(
    mixes: Sequence[MixSharing], reading: str, queue: int
) -> list[tuple[MixSharing, Estimate]]:
    pairs = ((mix, mix.reading(reading, queue)) for mix in mixes)
    return [(mix, found) for mix, found in pairs if found is not None]


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
