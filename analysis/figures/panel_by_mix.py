"""Aggregate throughput against the mix, a small axes for each buffer, beside published mixes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.scenario import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics.interval import Estimate, estimate
from ..models.measured import questions_of_mixes
from ..nash.of_run import SettingEquilibria
from ..results.bounds import matches
from ..results.sweep import LEAST_POINTS, SweepLine, place_of
from ..state import strategy_totals
from ..text import buffer_text, trials_text
from .against_setting import axis_of
from .estimates import draw_estimates
from .model_lines import PAYLOAD_PART, draw_curves, model_curves
from .small_multiples import name_scales, shared_legend, small_multiples
from .style import GOOD, INK, MUTED, colour_of
from .unsettled import mark_unsettled

METRIC = "per_flow_throughput"
MARKER = "o"
TOP = 105.0
"""Upper end of the axis of shares, in per cent."""


def draw(
    measures: RunMeasures, line: SweepLine, equilibria: Mapping[str, SettingEquilibria]
) -> Figure | None:
    """Draw one line of settings: what the flows of the second strategy get together.

    Args:
        measures: The run's measures.
        line: Settings that differ in their buffer.
        equilibria: Label of a setting -> its equilibria.

    Returns:
        The figure; None if fewer than three buffers or mixes have trials, or mixes have several
        groups or more than two strategies.
    """
    if line.axis != "buffer" or len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    measured = {s.label: [c for c in measures.cells(s) if c.trials] for s in line.settings}
    settings = [s for s in line.settings if measured[s.label]]
    cells = [cell for setting in settings for cell in measured[setting.label]]
    if len(settings) < LEAST_POINTS or len({cell.state for cell in cells}) < LEAST_POINTS:
        return None
    label = f"measured ({trials_text([len(cell.trials) for cell in cells])} per mix)"
    figure, axes = small_multiples(len(settings))
    for ax, setting in zip(axes, settings, strict=True):
        _draw_measured(ax, measures, setting, measured[setting.label], label)
        _draw_published(ax, measures, setting)
        _draw_equilibria(ax, equilibria[setting.label])
        _draw_published_equilibria(ax, measures, setting, axis_of(measures, line))
        _draw_fair_share(ax, measures)
        _draw_models(ax, measures, setting)
        buffer = buffer_text(setting, measures.applied_buffer(setting))
        ax.set_title(buffer, fontsize="medium", pad=3)
    _name_axes(axes, measures)
    shared_legend(figure, axes, columns=3)
    return figure


def _draw_measured(
    ax: Axes, measures: RunMeasures, setting: Setting, cells: Sequence[Cell], label: str
) -> None:
    second, rate = measures.strategies[1], measures.applied_rate(setting)
    mark_unsettled(ax, [strategy_totals(cell.state)[1] for cell in cells if cell.unsettled])
    known = [
        (strategy_totals(cell.state)[1], each.scaled(100 / rate))
        for cell in cells
        if (each := _together(cell, second)) is not None
    ]
    draw_estimates(
        ax,
        [k for k, _ in known],
        [e for _, e in known],
        colour_of(second, measures.strategies),
        marker=MARKER,
        linestyle="none",
        markersize=2.9,
        markeredgewidth=0,
        elinewidth=0.7,
        label=label,
        zorder=5,
    )


def _together(cell: Cell, strategy: str) -> Estimate | None:
    """Throughput of all flows of a strategy in bit/s."""
    return estimate([_aggregate(t, strategy) for t in cell.trials], possible=(0, math.inf))


def _aggregate(trial: TrialMeasures, strategy: str) -> float:
    """Throughput of all flows of a strategy in bit/s: nothing where it has none."""
    if METRIC in trial.per_flow and not trial.flow_mask(strategy).any():
        return 0.0
    return trial.total_of(METRIC, strategy)


def _draw_published(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    rate = measures.applied_rate(setting)
    for series in measures.run.scenario.reference:
        is_mix = series.axis == "mix" and series.strategy == measures.strategies[1]
        if is_mix and matches(series, setting):
            y = [_percent(series, x, y, rate) for x, y in zip(series.x, series.y, strict=True)]
            ax.plot(series.x, y, color=INK, linewidth=0.7, marker=MARKER, markersize=2.3,
                    markerfacecolor="white", markeredgewidth=0.6, label=series.label,
                    zorder=4)  # fmt: skip


def _draw_models(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    """What models say of all flows of the second strategy."""
    curves = model_curves(questions_of_mixes(measures, setting))
    draw_curves(ax, curves, lambda _, share: 100 * PAYLOAD_PART * share)


def _percent(series: ReferenceSeries, flows: float, value: float, rate_bps: float) -> float:
    """A published value as per cent of the rate."""
    if series.quantity == "share":
        return value * PAYLOAD_PART * 100
    together = value * flows if series.quantity == "per_flow" else value
    return together * 1e8 / rate_bps


def _draw_equilibria(ax: Axes, equilibria: SettingEquilibria) -> None:
    """Where the lead ends, as a stripe of its 95 % interval, and the equilibria of the means."""
    for interval in equilibria.ends.intervals if equilibria.ends else ():
        if interval.sure:
            ax.axvspan(interval.low, interval.high, color=GOOD, alpha=0.22, linewidth=0,
                       label="where the lead ends, 95 %", zorder=1)  # fmt: skip
    for k in sorted({strategy_totals(v.state)[1] for v in equilibria.equilibria}):
        ax.axvline(k, color=GOOD, linewidth=1.6, label="equilibrium of the means", zorder=1)


def _draw_published_equilibria(
    ax: Axes, measures: RunMeasures, setting: Setting, axis: str
) -> None:
    total = sum(measures.group_sizes)
    for series in measures.run.scenario.reference:
        if series.quantity != "equilibrium" or series.axis != axis or not matches(series, setting):
            continue
        for x, flows in zip(series.x, series.y, strict=True):
            if math.isclose(x, place_of(setting, axis), rel_tol=1e-3):
                k = flows if series.strategy == measures.strategies[1] else total - flows
                ax.axvline(k, color=INK, linestyle=":", linewidth=1.3, label=series.label, zorder=3)


def _draw_fair_share(ax: Axes, measures: RunMeasures) -> None:
    ax.plot([0, sum(measures.group_sizes)], [0, 100], color=MUTED, linestyle=(0, (5, 3)),
            linewidth=0.9, label="fair share of the rate", zorder=2)  # fmt: skip


def _name_axes(axes: Sequence[Axes], measures: RunMeasures) -> None:
    """Scales and their titles."""
    second, total = measures.strategies[1], sum(measures.group_sizes)
    axes[0].set(xlim=(-0.03 * total, 1.03 * total), ylim=(0, TOP), yticks=range(0, 101, 25))
    axes[0].xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
    name_scales(
        axes,
        f"flows running {second}, of {total}",
        f"goodput of all {second} flows\n(% of the link rate)",
    )
