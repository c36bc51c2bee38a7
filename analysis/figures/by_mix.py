"""Throughput and queueing delay against the mix: of one setting, and of all buffers at once."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics import metric_named
from ..metrics.statistics import Estimate, estimate
from ..models.measured import questions_of_mixes
from ..nash.of_run import SettingEquilibria
from ..results.bounds import matches
from ..results.sweep import LEAST_POINTS, SweepSeries, place_of
from ..state import strategy_totals
from ..text import buffer_text, shown, trials_text
from .axes import FAIR_SHARE, MixAxis, axis_of, fair_share, mix_axis, place_of_mix, published
from .model_lines import PAYLOAD_PART, curve_items, entries, goodput_of_share, model_curves
from .plot import Axis, Band, Item, Line, Note, Panel, Plot, Rule, Span, means, unsettled
from .style import DASHED, GOOD, INK, MUTED, NARROW, WIDE, colour_of, marker_of

METRIC = "per_flow_throughput"
DELAYS = (
    ("mean_queueing_delay", "-", "o", "mean over packets"),
    ("median_queueing_delay", "--", "s", "median"),
    ("p95_queueing_delay", ":", "^", "95th percentile"),
)
PANEL_MARKER = "o"
PANEL_TOP = 105.0
"""Upper end of the axis of shares, in per cent."""
MBIT = shown(1, "bit/s")


def throughput_by_mix_plot(
    measures: RunMeasures,
    setting: Setting,
    equilibria: SettingEquilibria,
    reference: Sequence[ReferenceSeries] = (),
) -> Plot:
    """A line for each strategy, the fair share, published series, the equilibria marked."""
    groups = measures.group_names
    one_group = len(groups) == 1
    simple = one_group and len(measures.strategies) == 2
    axis = mix_axis(measures, setting)
    beyond: list[Item] = [published(series, measures.strategies) for series in reference]
    if simple:
        beyond += [*_models_per_flow(measures, setting), *_marked_equilibria(equilibria)]
    panels = []
    for group, name in enumerate(groups):
        items = _unsettled(measures.cells(setting), axis)
        for strategy in measures.strategies:
            items += _of_strategy(measures, setting, strategy, group, axis, line=simple)
        panels.append(
            Panel(
                [*items, fair_share(measures, setting)],
                axis.axis if group == len(groups) - 1 else Axis(),
                Axis("Mbit/s per flow", low=0),
                title="" if one_group else f"group {name}",
                beyond=() if group else beyond,
            )
        )
    return Plot(panels, (WIDE, 4.2 if one_group else 2.6 * len(groups)), columns=3)


def _unsettled(cells: Sequence[Cell], axis: MixAxis) -> list[Item]:
    return unsettled(axis.place(cell.state) for cell in cells if cell.unsettled)


def _of_strategy(
    measures: RunMeasures,
    setting: Setting,
    strategy: str,
    group: int,
    axis: MixAxis,
    line: bool,
) -> Iterator[Item]:
    """Means of a strategy's flows in a group; with one trial, a band of single flows."""
    index = measures.strategies.index(strategy)
    cells = [c for c in measures.cells(setting) if c.state[group][index] and c.trials]
    colour = colour_of(strategy, measures.strategies)
    points = [(axis.place(c.state), c.estimate(METRIC, strategy, group)) for c in cells]
    yield means(
        points, f"{strategy} ({{n}} per mix)", factor=MBIT, color=colour,
        marker=marker_of(strategy, measures.strategies), linestyle="-" if line else "none",
        capsize=2.5, elinewidth=1.1, zorder=4,
    )  # fmt: skip
    if line and {e.n for _, e in points if e is not None} == {1}:
        ranges = [(place_of_mix(c.state), c.flow_range(METRIC, strategy)) for c in cells]
        known = [(x, *r) for x, r in ranges if r is not None]
        x, low, high = (np.array(values, dtype=float) for values in zip(*known, strict=True))
        yield Band(x, MBIT * low, MBIT * high, color=colour, alpha=0.14, zorder=1)


def _models_per_flow(measures: RunMeasures, setting: Setting) -> list[Item]:
    """What models say of each CCA's flows, in its colour."""
    total = measures.flows(setting)
    curves = model_curves(questions_of_mixes(measures, setting))
    if not curves:
        return []
    whole = shown(goodput_of_share(1.0, measures.applied_rate(setting)), "bit/s")
    of = {"cubic": lambda k, s: (1 - s) * whole / (total - k), "bbr": lambda k, s: s * whole / k}
    items: list[Item] = []
    for strategy, each in of.items():
        items += curve_items(curves, each, colour_of(strategy, measures.strategies))
    return items + entries(curves)


def _marked_equilibria(equilibria: SettingEquilibria) -> Iterator[Item]:
    exact = {strategy_totals(v.state)[1] for v in equilibria.equilibria}
    near = {strategy_totals(v.state)[1] for v in equilibria.epsilon_equilibria} - exact
    nearly = f"gain below {equilibria.epsilon:.0%} of the fair share"
    for places, label, alpha in ((near, nearly, 0.10), (exact, "equilibrium", 0.32)):
        for k in sorted(places):
            yield Span(k - 0.4, k + 0.4, label, color=GOOD, alpha=alpha, zorder=0)
    for k in sorted(exact):
        yield Note(str(k), k, 0.985, ("data", "axes fraction"), ha="center", va="top",
                   fontweight="bold", color="#00664b", zorder=5)  # fmt: skip


def delay_by_mix_plot(measures: RunMeasures, setting: Setting) -> Plot | None:
    """Mean, median and 95th percentile by mix, and the full queue's delay.

    None if no trial's queueing delay was measured.
    """
    axis = mix_axis(measures, setting)
    simple = len(measures.group_names) == 1 and len(measures.strategies) == 2
    items: list[Item] = []
    for metric, style, marker, label in DELAYS:
        found = means(
            ((axis.place(c.state), c.estimate(metric)) for c in measures.cells(setting)),
            f"{label} ({{n}} per mix)", factor=shown(1, metric_named(metric).unit),
            color=INK if metric == "mean_queueing_delay" else MUTED,
            linestyle=style if simple else "none", marker=marker, capsize=2.5,
        )  # fmt: skip
        items += [found] if found.x else []
    if not items:
        return None
    for curve in model_curves(questions_of_mixes(measures, setting)):
        if curve.delay_s is not None:
            items.append(Line(curve.x, shown(1, "s") * curve.delay_s, f"{curve.title}: mean",
                              color=curve.look.colour, linestyle=curve.look.style,
                              linewidth=curve.look.width, zorder=3))  # fmt: skip
    items += _unsettled(measures.cells(setting), axis)
    full_ns = measures.full_queue_ns(setting)
    if full_ns is not None:
        items.append(Rule(full_ns / 1e6, "full queue", color=INK, linewidth=1.0, linestyle=DASHED))
    panel = Panel(items, axis.axis, Axis("queueing delay (ms)", low=0, room=1.08))
    return Plot([panel], (NARROW, 3.6), columns=1)


def panel_by_mix_plot(
    measures: RunMeasures, line: SweepSeries, equilibria: Mapping[str, SettingEquilibria]
) -> Plot | None:
    """A small panel for each buffer: what the flows of the second strategy get together.

    None if fewer than three buffers or mixes have trials, or mixes have several groups or more
    than two strategies.
    """
    if line.axis != "buffer" or len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    measured = {s.label: [c for c in measures.cells(s) if c.trials] for s in line.settings}
    settings = [s for s in line.settings if measured[s.label]]
    cells = [cell for setting in settings for cell in measured[setting.label]]
    if len(settings) < LEAST_POINTS or len({cell.state for cell in cells}) < LEAST_POINTS:
        return None
    label = f"measured ({trials_text([len(cell.trials) for cell in cells])} per mix)"
    second, total = measures.strategies[1], measures.flows(settings[0])
    ticks = partial(MaxNLocator, nbins=6, steps=[1, 2, 5, 10], integer=True)
    x = Axis(f"flows running {second}, of {total}", -0.03 * total, 1.03 * total, locator=ticks)
    y = Axis(f"goodput of all {second} flows\n(% of the link rate)", 0, PANEL_TOP,
             ticks=range(0, 101, 25))  # fmt: skip
    panels = [
        Panel(
            [
                *_together(measures, setting, measured[setting.label], label),
                *_published_mixes(measures, setting),
                *_ends_of_lead(equilibria[setting.label]),
                *_published_equilibria(measures, setting, axis_of(measures, line)),
                Line([0, total], [0, 100 * PAYLOAD_PART], FAIR_SHARE, color=MUTED, linestyle=DASHED,
                     linewidth=0.9, zorder=2),
                *curve_items(model_curves(questions_of_mixes(measures, setting)),
                             lambda _, share: 100 * PAYLOAD_PART * share),
            ],
            x, y, buffer_text(setting, measures.applied_buffer(setting)),
        )
        for setting in settings
    ]  # fmt: skip
    return Plot(panels, layout="grid", columns=3, bars_first=True)


def _together(
    measures: RunMeasures, setting: Setting, cells: Sequence[Cell], label: str
) -> list[Item]:
    """Throughput of all flows of the second strategy, in per cent of the rate."""
    second, rate = measures.strategies[1], measures.applied_rate(setting)
    found = means(
        ((place_of_mix(cell.state), _sum(cell, second)) for cell in cells), label,
        factor=100 / rate, color=colour_of(second, measures.strategies), marker=PANEL_MARKER,
        linestyle="none", markersize=2.9, markeredgewidth=0, elinewidth=0.7, zorder=5,
    )  # fmt: skip
    return [*unsettled(place_of_mix(cell.state) for cell in cells if cell.unsettled), found]


def _sum(cell: Cell, strategy: str) -> Estimate | None:
    return estimate([_aggregate(t, strategy) for t in cell.trials], possible=(0, math.inf))


def _aggregate(trial: TrialMeasures, strategy: str) -> float:
    """Throughput of all flows of a strategy in bit/s: nothing where it has none."""
    if METRIC in trial.per_flow and not trial.flow_mask(strategy).any():
        return 0.0
    return trial.total_of(METRIC, strategy)


def _published_mixes(measures: RunMeasures, setting: Setting) -> Iterator[Item]:
    rate = measures.applied_rate(setting)
    for series in measures.run.scenario.reference:
        is_mix = series.axis == "mix" and series.strategy == measures.strategies[1]
        if is_mix and matches(series, setting):
            y = [_percent(series, x, y, rate) for x, y in zip(series.x, series.y, strict=True)]
            yield Line(series.x, y, series.label, color=INK, linewidth=0.7, marker=PANEL_MARKER,
                       markersize=2.3, markerfacecolor="white", markeredgewidth=0.6,
                       zorder=4)  # fmt: skip


def _percent(series: ReferenceSeries, flows: float, value: float, rate_bps: float) -> float:
    """A published value as per cent of the rate."""
    if series.quantity == "share":
        return value * PAYLOAD_PART * 100
    together = value * flows if series.quantity == "per_flow" else value
    return together * 1e8 / rate_bps


def _ends_of_lead(equilibria: SettingEquilibria) -> Iterator[Item]:
    """Where the lead ends, a stripe of its 95 % interval, and the equilibria of the means."""
    for interval in equilibria.ends.intervals if equilibria.ends else ():
        if interval.sure:
            yield Span(interval.low, interval.high, "where the lead ends, 95 %", color=GOOD,
                       alpha=0.22, zorder=1)  # fmt: skip
    for k in sorted({strategy_totals(v.state)[1] for v in equilibria.equilibria}):
        yield Rule(k, "equilibrium of the means", upright=True, color=GOOD, linewidth=1.6, zorder=1)


def _published_equilibria(measures: RunMeasures, setting: Setting, axis: str) -> Iterator[Item]:
    total = measures.flows(setting)
    for series in measures.run.scenario.reference:
        if series.quantity != "equilibrium" or series.axis != axis or not matches(series, setting):
            continue
        for x, flows in zip(series.x, series.y, strict=True):
            if math.isclose(x, place_of(setting, axis), rel_tol=1e-3):
                k = flows if series.strategy == measures.strategies[1] else total - flows
                yield Rule(k, series.label, upright=True, color=INK, linestyle=":", linewidth=1.3,
                           zorder=3)  # fmt: skip
