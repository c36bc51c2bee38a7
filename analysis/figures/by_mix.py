"""Throughput and queueing delay against the mix: of one setting, and of all buffers at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics import metric_named
from ..metrics.statistics import Estimate, estimate
from ..models.measured import questions_of_mixes
from ..nash.of_run import SettingEquilibria
from ..results.bounds import matches
from ..results.sweep import LEAST_POINTS, SweepLine, place_of
from ..state import strategy_totals
from ..text import buffer_text, shown, trials_text
from .axes import (
    MixAxis,
    axis_of,
    draw_estimates,
    mark_unsettled,
    mix_axis,
    name_scales,
    place_of_mix,
    shared_legend,
    small_multiples,
)
from .model_lines import (
    PAYLOAD_PART,
    draw_curves,
    goodput_of_share,
    legend_entries,
    model_curves,
)
from .style import (
    GOOD,
    INK,
    MUTED,
    NARROW,
    WIDE,
    colour_of,
    legend_below,
    marker_of,
    new_figure,
)

METRIC = "per_flow_throughput"
DELAYS = (
    ("mean_queueing_delay", "-", "o", "mean over packets"),
    ("median_queueing_delay", "--", "s", "median"),
    ("p95_queueing_delay", ":", "^", "95th percentile"),
)
PANEL_MARKER = "o"
PANEL_TOP = 105.0
"""Upper end of the axis of shares, in per cent."""


def draw_throughput_by_mix(
    measures: RunMeasures,
    setting: Setting,
    equilibria: SettingEquilibria,
    reference: Sequence[ReferenceSeries] = (),
) -> Figure:
    """Draw one setting: a line for each strategy, the fair share, the equilibria marked.

    Args:
        measures: The run's measures.
        setting: The setting.
        equilibria: Its equilibria.
        reference: Published series that belong to this setting.
    """
    groups = measures.group_names
    one_group = len(groups) == 1
    figure, axes = new_figure(WIDE, 4.2 if one_group else 2.6 * len(groups), len(groups))
    simple = one_group and len(measures.strategies) == 2
    axis = mix_axis(measures, setting)
    for group, ax in enumerate(axes):
        _mark_unsettled(ax, measures.cells(setting), axis)
        for strategy in measures.strategies:
            _draw_strategy(ax, measures, setting, strategy, group, axis, line=simple)
        _draw_fair_share(ax, measures.fair_share(setting))
        if len(groups) > 1:
            ax.set_title(f"group {groups[group]}")
        ax.set_ylabel("Mbit/s per flow")
        ax.set_ylim(bottom=0)
    for series in reference:
        _draw_reference(axes[0], series, measures.strategies)
    if simple:
        _draw_models_per_flow(axes[0], measures, setting)
        _mark_equilibria(axes[0], equilibria)
    axis.set(axes[-1])
    legend_below(figure, axes[0], columns=3)
    return figure


def _mark_unsettled(ax: Axes, cells: Sequence[Cell], axis: MixAxis) -> None:
    mark_unsettled(ax, [axis.place(cell.state) for cell in cells if cell.unsettled])


def _draw_strategy(
    ax: Axes,
    measures: RunMeasures,
    setting: Setting,
    strategy: str,
    group: int,
    axis: MixAxis,
    line: bool,
) -> None:
    index = measures.strategies.index(strategy)
    cells = [c for c in measures.cells(setting) if c.state[group][index] and c.trials]
    points = [(c, c.estimate(METRIC, strategy, group)) for c in cells]
    known = [(c, e) for c, e in points if e is not None]
    if not known:
        return
    colour = colour_of(strategy, measures.strategies)
    draw_estimates(
        ax,
        [axis.place(c.state) for c, _ in known],
        [e.scaled(shown(1, "bit/s")) for _, e in known],
        colour,
        marker=marker_of(strategy, measures.strategies),
        linestyle="-" if line else "none",
        capsize=2.5,
        elinewidth=1.1,
        label=f"{strategy} ({trials_text([e.n for _, e in known])} per mix)",
        zorder=4,
    )
    if line and max(e.n for _, e in known) == 1:
        _draw_flow_range(ax, cells, strategy, colour)


def _draw_flow_range(ax: Axes, cells: list[Cell], strategy: str, colour: str) -> None:
    """With one trial there is no interval: a band from the lowest to the highest flow."""
    ranges = [(place_of_mix(c.state), c.flow_range(METRIC, strategy)) for c in cells]
    known = [(x, *r) for x, r in ranges if r is not None]
    x, low, high = (np.array(values, dtype=float) for values in zip(*known, strict=True))
    ax.fill_between(
        x,
        shown(1, "bit/s") * low,
        shown(1, "bit/s") * high,
        color=colour,
        alpha=0.14,
        linewidth=0,
        zorder=1,
    )


def _draw_fair_share(ax: Axes, fair_bps: float) -> None:
    ax.axhline(
        shown(fair_bps, "bit/s"),
        color=INK,
        linestyle=(0, (5, 3)),
        linewidth=1.0,
        label="fair share of the rate",
        zorder=2,
    )


def _draw_reference(ax: Axes, series: ReferenceSeries, strategies: Sequence[str]) -> None:
    ax.plot(
        series.x,
        series.y,
        color=colour_of(series.strategy, strategies),
        linestyle=":",
        marker=marker_of(series.strategy, strategies),
        markerfacecolor="white",
        linewidth=1.3,
        label=f"{series.label}, {series.strategy}",
        zorder=3,
    )


def _draw_models_per_flow(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    """Draw what models say of each CCA's flows, in its colour."""
    total = sum(measures.group_sizes)
    curves = model_curves(questions_of_mixes(measures, setting))
    if not curves:
        return
    whole = shown(goodput_of_share(1.0, measures.applied_rate(setting)), "bit/s")
    of = {"cubic": lambda k, s: (1 - s) * whole / (total - k), "bbr": lambda k, s: s * whole / k}
    top = ax.get_ylim()[1]
    for strategy, each in of.items():
        draw_curves(ax, curves, each, colour_of(strategy, measures.strategies))
    legend_entries(ax, curves)
    ax.set_ylim(0, top)  # measurements fill the frame; a model may leave it


def _mark_equilibria(ax: Axes, equilibria: SettingEquilibria) -> None:
    exact = {strategy_totals(v.state)[1] for v in equilibria.equilibria}
    near = {strategy_totals(v.state)[1] for v in equilibria.epsilon_equilibria} - exact
    for i, k in enumerate(sorted(near)):
        label = f"gain below {equilibria.epsilon:.0%} of the fair share" if i == 0 else None
        ax.axvspan(k - 0.4, k + 0.4, color=GOOD, alpha=0.10, linewidth=0, label=label, zorder=0)
    for i, k in enumerate(sorted(exact)):
        label = "equilibrium" if i == 0 else None
        ax.axvspan(k - 0.4, k + 0.4, color=GOOD, alpha=0.32, linewidth=0, label=label, zorder=0)
        ax.annotate(
            str(k),
            (k, 0.985),
            xycoords=ax.get_xaxis_transform(),
            ha="center",
            va="top",
            fontweight="bold",
            color="#00664b",
            zorder=5,
        )


def draw_delay_by_mix(measures: RunMeasures, setting: Setting) -> Figure | None:
    """Draw one setting: mean, median and 95th percentile by mix, and the full queue's delay.

    Args:
        measures: The run's measures.
        setting: The setting.

    Returns:
        The figure; None if no trial's queueing delay was measured.
    """
    figure, (ax,) = new_figure(NARROW, 3.6)
    axis = mix_axis(measures, setting)
    drawn = [
        _draw_delay(ax, measures, setting, axis, metric, (style, marker, label))
        for metric, style, marker, label in DELAYS
    ]
    if not any(drawn):
        return None
    _draw_models_delay(ax, measures, setting)
    _mark_unsettled(ax, measures.cells(setting), axis)
    full_ns = measures.full_queue_ns(setting)
    if full_ns is not None:
        ax.axhline(full_ns / 1e6, color=INK, linewidth=1.0, linestyle=(0, (5, 3)),
                   label="full queue")  # fmt: skip
    ax.set_ylabel("queueing delay (ms)")
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    axis.set(ax)
    legend_below(figure, ax, columns=1)
    return figure


def _draw_delay(
    ax: Axes,
    measures: RunMeasures,
    setting: Setting,
    axis: MixAxis,
    metric: str,
    look: tuple[str, str, str],
) -> bool:
    """Draw one metric's line; says whether any trial has it."""
    style, marker, label = look
    unit = metric_named(metric).unit
    points = [(axis.place(c.state), c.estimate(metric)) for c in measures.cells(setting)]
    known = [(x, e) for x, e in points if e is not None]
    if not known:
        return False
    simple = len(measures.group_names) == 1 and len(measures.strategies) == 2
    draw_estimates(
        ax,
        [x for x, _ in known],
        [e.scaled(shown(1, unit)) for _, e in known],
        INK if metric == "mean_queueing_delay" else MUTED,
        linestyle=style if simple else "none",
        marker=marker,
        capsize=2.5,
        label=f"{label} ({trials_text([e.n for _, e in known])} per mix)",
    )
    return True


def _draw_models_delay(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    """Draw the mean delay by each model that says it."""
    for curve in model_curves(questions_of_mixes(measures, setting)):
        if curve.delay_s is not None:
            ax.plot(curve.x, shown(1, "s") * curve.delay_s, color=curve.look.colour,
                    linestyle=curve.look.style, linewidth=curve.look.width, zorder=3,
                    label=f"{curve.title}: mean")  # fmt: skip


def draw_panel_by_mix(
    measures: RunMeasures, line: SweepLine, equilibria: Mapping[str, SettingEquilibria]
) -> Figure | None:
    """Draw small axes, one for each buffer: what the flows of the second strategy get together.

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
        _draw_together(ax, measures, setting, measured[setting.label], label)
        _draw_published(ax, measures, setting)
        _draw_ends_of_lead(ax, equilibria[setting.label])
        _draw_published_equilibria(ax, measures, setting, axis_of(measures, line))
        _draw_fair_diagonal(ax, measures)
        _draw_models_together(ax, measures, setting)
        buffer = buffer_text(setting, measures.applied_buffer(setting))
        ax.set_title(buffer, fontsize="medium", pad=3)
    _name_panels(axes, measures)
    shared_legend(figure, axes, columns=3)
    return figure


def _draw_together(
    ax: Axes, measures: RunMeasures, setting: Setting, cells: Sequence[Cell], label: str
) -> None:
    second, rate = measures.strategies[1], measures.applied_rate(setting)
    mark_unsettled(ax, [place_of_mix(cell.state) for cell in cells if cell.unsettled])
    known = [
        (place_of_mix(cell.state), each.scaled(100 / rate))
        for cell in cells
        if (each := _together(cell, second)) is not None
    ]
    draw_estimates(
        ax,
        [k for k, _ in known],
        [e for _, e in known],
        colour_of(second, measures.strategies),
        marker=PANEL_MARKER,
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
            ax.plot(series.x, y, color=INK, linewidth=0.7, marker=PANEL_MARKER, markersize=2.3,
                    markerfacecolor="white", markeredgewidth=0.6, label=series.label,
                    zorder=4)  # fmt: skip


def _percent(series: ReferenceSeries, flows: float, value: float, rate_bps: float) -> float:
    """A published value as per cent of the rate."""
    if series.quantity == "share":
        return value * PAYLOAD_PART * 100
    together = value * flows if series.quantity == "per_flow" else value
    return together * 1e8 / rate_bps


def _draw_ends_of_lead(ax: Axes, equilibria: SettingEquilibria) -> None:
    """Draw where the lead ends, a stripe of its 95 % interval, and the equilibria of the means."""
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


def _draw_fair_diagonal(ax: Axes, measures: RunMeasures) -> None:
    ax.plot([0, sum(measures.group_sizes)], [0, 100], color=MUTED, linestyle=(0, (5, 3)),
            linewidth=0.9, label="fair share of the rate", zorder=2)  # fmt: skip


def _draw_models_together(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    """Draw what models say of all flows of the second strategy."""
    curves = model_curves(questions_of_mixes(measures, setting))
    draw_curves(ax, curves, lambda _, share: 100 * PAYLOAD_PART * share)


def _name_panels(axes: Sequence[Axes], measures: RunMeasures) -> None:
    """Set the scales and their titles."""
    second, total = measures.strategies[1], sum(measures.group_sizes)
    axes[0].set(xlim=(-0.03 * total, 1.03 * total), ylim=(0, PANEL_TOP), yticks=range(0, 101, 25))
    axes[0].xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10], integer=True))
    name_scales(
        axes,
        f"flows running {second}, of {total}",
        f"goodput of all {second} flows\n(% of the link rate)",
    )
