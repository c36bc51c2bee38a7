"""What the hosts' kernel changes: throughput by mix and equilibria by buffer, by kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..metrics.statistics import Estimate
from ..nash.of_run import SettingEquilibria
from ..results.sweep import SweepLine, place_of
from ..state import strategy_totals
from ..text import shown, trials_text
from .axes import (
    AXIS_TITLES,
    axis_of,
    draw_estimates,
    mark_unsettled,
    place_of_mix,
    set_scale,
    shared_legend,
)
from .equilibria import beside, draw_ends_of_lead, draw_published_equilibria
from .style import INK, MUTED, WIDE, new_figure

METRIC = "per_flow_throughput"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
NEWEST = 0.85
"""The newest kernel's place on viridis; the oldest has 0. What lies above is too light on white."""
ASIDE = 0.12
"""How far kernels stand apart on the axis of mixes, in flows."""
STEP_POINTS = 6.0
"""The same on other axes, in points."""
LIGHT = {"capsize": 2.0, "elinewidth": 1.0, "markersize": 4.0, "zorder": 4}


def draw_throughput_by_kernel(
    measures: RunMeasures,
    settings: Sequence[Setting],
    equilibria: Mapping[str, SettingEquilibria],
    reference: Sequence[ReferenceSeries] = (),
) -> Figure | None:
    """Draw each strategy's per-flow throughput by mix and, on the right, where the lead ends.

    Args:
        measures: The run's measures.
        settings: Settings that differ in their kernel.
        equilibria: Label of a setting -> its equilibria.
        reference: Published series that belong to these settings.

    Returns:
        The figure; None unless two kernels have several mixes of two strategies in one group.
    """
    if len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    kernels = [s for s in settings if sum(bool(c.trials) for c in measures.cells(s)) > 1]
    if len(kernels) < 2:
        return None
    figure = Figure(figsize=(WIDE, 3.6), layout="constrained")
    axes = list(figure.subplots(1, 3, width_ratios=(5, 5, 3)))
    for ax, strategy in zip(axes, reversed(measures.strategies), strict=False):
        _draw_strategy(ax, measures, kernels, strategy)
        for series in (s for s in reference if s.strategy == strategy):
            ax.plot(series.x, series.y, color=MUTED, linestyle=":", marker="x", markersize=4,
                    linewidth=1.0, label=series.label, zorder=3)  # fmt: skip
    axes[0].set_ylabel("Mbit/s per flow")
    _draw_equilibria(axes[2], measures, kernels, equilibria)
    shared_legend(figure, axes, columns=2)
    return figure


def _draw_strategy(
    ax: Axes, measures: RunMeasures, kernels: Sequence[Setting], strategy: str
) -> None:
    for index, setting in enumerate(kernels):
        cells = [c for c in measures.cells(setting) if c.trials]
        known = [(c, e) for c in cells if (e := _of(c, measures, strategy)) is not None]
        if not known:
            continue
        draw_estimates(
            ax,
            [place_of_mix(c.state) + ASIDE * _step(index, len(kernels)) for c, _ in known],
            [e.scaled(shown(1, "bit/s")) for _, e in known],
            _colour(index, len(kernels)),
            marker=MARKERS[index % len(MARKERS)],
            linewidth=1.0,
            label=f"kernel {setting.kernel} ({trials_text([e.n for _, e in known])} per mix)",
            **LIGHT,
        )
    cells = [c for setting in kernels for c in measures.cells(setting)]
    mark_unsettled(ax, [place_of_mix(c.state) for c in cells if c.unsettled])
    fair = shown(measures.fair_share(kernels[0]), "bit/s")
    ax.axhline(fair, color=INK, linestyle=(0, (5, 3)), linewidth=1.0,
               label="fair share of the rate", zorder=2)  # fmt: skip
    ax.set_title(strategy)
    ax.set_xlabel(f"flows running {measures.strategies[1]}, of {sum(measures.group_sizes)}")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0)


def _of(cell: Cell, measures: RunMeasures, strategy: str) -> Estimate | None:
    """A strategy's per-flow throughput; None where it has no flow."""
    if not strategy_totals(cell.state)[measures.strategies.index(strategy)]:
        return None
    return cell.estimate(METRIC, strategy)


def _draw_equilibria(
    ax: Axes,
    measures: RunMeasures,
    kernels: Sequence[Setting],
    equilibria: Mapping[str, SettingEquilibria],
) -> None:
    """Where the lead ends on each kernel, in flows of the first strategy."""
    for index, setting in enumerate(kernels):
        draw_ends_of_lead(ax, [(index, equilibria[setting.label])], _colour(index, len(kernels)),
                          marker=MARKERS[index % len(MARKERS)], **LIGHT)  # fmt: skip
    total = sum(measures.group_sizes)
    ax.set_xticks(range(len(kernels)), [s.kernel for s in kernels])
    ax.set(xlabel="kernel", xlim=(-0.6, len(kernels) - 0.4), ylim=(0, total),
           ylabel=f"{measures.strategies[0]} flows where\nthe lead ends, of {total}")  # fmt: skip


def draw_equilibria_by_kernel(
    measures: RunMeasures,
    kernels: Sequence[SweepLine],
    equilibria: Mapping[str, SettingEquilibria],
) -> Figure | None:
    """Draw where the lead ends by buffer, with its 95 % interval, for each kernel.

    Args:
        measures: The run's measures.
        kernels: Lines of settings that differ in their buffer, each with another kernel.
        equilibria: Label of a setting -> its equilibria.

    Returns:
        The figure; None if mixes have more than two strategies, the lines are not against the
        buffer, or fewer than two kernels have an interval.
    """
    if len(measures.strategies) != 2 or kernels[0].axis != "buffer":
        return None
    axis = axis_of(measures, kernels[0])
    figure, (ax,) = new_figure(WIDE, 3.8)
    for index, line in enumerate(kernels):
        points = [(place_of(s, axis), equilibria[s.label]) for s in line.settings]
        draw_ends_of_lead(ax, points, _colour(index, len(kernels)),
                          marker=MARKERS[index % len(MARKERS)],
                          transform=beside(ax, STEP_POINTS * _step(index, len(kernels))),
                          label=f"kernel {line.settings[0].kernel}", **LIGHT)  # fmt: skip
    if len(ax.containers) < 2:
        return None
    settings = [s for line in kernels for s in line.settings]
    mark_unsettled(ax, [place_of(s, axis) for s in settings if equilibria[s.label].not_settled])
    draw_published_equilibria(ax, measures, kernels[0], axis)
    total = sum(measures.group_sizes)
    ax.set(
        xlabel=AXIS_TITLES[axis],
        ylabel=f"{measures.strategies[0]} flows where the lead ends, of {total}",
        ylim=(-0.03 * total, 1.03 * total),
    )
    set_scale(ax, [place_of(s, axis) for s in kernels[0].settings])
    shared_legend(figure, [ax], columns=3)
    return figure


def _step(index: int, count: int) -> float:
    """How far from the middle one of several stands, in steps."""
    return index - (count - 1) / 2


def _colour(index: int, count: int) -> str:
    """From dark (the first kernel) to light (the last)."""
    return to_hex(mpl.colormaps["viridis"](NEWEST * index / max(count - 1, 1)))
