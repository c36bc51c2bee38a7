"""What the hosts' kernel changes: throughput by mix and equilibria by buffer, by kernel."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_hex
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..metrics.statistics import Estimate
from ..nash.of_run import SettingEquilibria
from ..results.sweep import SweepSeries, place_of
from ..state import strategy_totals
from ..text import shown
from .axes import SPARSE, axis_of, fair_share, flows_axis, place_of_mix, swept
from .equilibria import ends_of_lead, published_equilibria
from .plot import Axis, Item, Line, Panel, Plot, means, unsettled
from .style import MUTED, WIDE

METRIC = "per_flow_throughput"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
NEWEST = 0.85
"""The newest kernel's place on viridis; the oldest has 0. What lies above is too light on white."""
ASIDE = 0.12
"""How far kernels stand apart on the axis of mixes, in flows."""
STEP_POINTS = 6.0
"""The same on other axes, in points."""
Found = Mapping[str, SettingEquilibria]
"""Label of a setting -> its equilibria."""


def throughput_by_kernel_plot(
    measures: RunMeasures,
    settings: Sequence[Setting],
    equilibria: Found,
    reference: Sequence[ReferenceSeries] = (),
) -> Plot | None:
    """Each strategy's per-flow throughput by mix and, on the right, where the lead ends.

    None unless two kernels have several mixes of two strategies in one group.
    """
    if len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    kernels = [s for s in settings if sum(bool(c.trials) for c in measures.cells(s)) > 1]
    if len(kernels) < 2:
        return None
    x = Axis(f"flows running {measures.strategies[1]}, of {measures.flows(kernels[0])}",
             locator=SPARSE)  # fmt: skip
    panels = [
        Panel(
            list(_of_strategy(measures, kernels, strategy)), x,
            Axis("" if index else "Mbit/s per flow", low=0), strategy,
            beyond=[
                Line(series.x, series.y, series.label, color=MUTED, linestyle=":", marker="x",
                     markersize=4, linewidth=1.0, zorder=3)
                for series in reference if series.strategy == strategy
            ],
        )
        for index, strategy in enumerate(reversed(measures.strategies))
    ]  # fmt: skip
    panels.append(_where_leads_end(measures, kernels, equilibria))
    return Plot(panels, (WIDE, 3.6), layout="columns", ratios=(5, 5, 3), bars_first=True)


def _of_strategy(
    measures: RunMeasures, kernels: Sequence[Setting], strategy: str
) -> Iterator[Item]:
    for index, setting in enumerate(kernels):
        aside = ASIDE * _step(index, len(kernels))
        yield means(
            ((place_of_mix(c.state) + aside, _of(c, measures, strategy))
             for c in measures.cells(setting) if c.trials),
            f"kernel {setting.kernel} ({{n}} per mix)", factor=shown(1, "bit/s"), linewidth=1.0,
            **_look(index, len(kernels)),
        )  # fmt: skip
    cells = [c for setting in kernels for c in measures.cells(setting)]
    yield from unsettled(place_of_mix(c.state) for c in cells if c.unsettled)
    yield fair_share(measures, kernels[0])


def _of(cell: Cell, measures: RunMeasures, strategy: str) -> Estimate | None:
    """A strategy's per-flow throughput; None where it has no flow."""
    if not strategy_totals(cell.state)[measures.strategies.index(strategy)]:
        return None
    return cell.estimate(METRIC, strategy)


def _where_leads_end(measures: RunMeasures, kernels: Sequence[Setting], equilibria: Found) -> Panel:
    """Where the lead ends on each kernel, in flows of the first strategy."""
    total, count = measures.flows(kernels[0]), len(kernels)
    items = [
        ends_of_lead([(index, equilibria[setting.label])], **_look(index, count))
        for index, setting in enumerate(kernels)
    ]
    names = {index: str(setting.kernel) for index, setting in enumerate(kernels)}
    title = f"{measures.strategies[0]} flows where\nthe lead ends, of {total}"
    return Panel(items, Axis("kernel", -0.6, count - 0.4, ticks=names), Axis(title, 0, total))


def equilibria_by_kernel_plot(
    measures: RunMeasures, kernels: Sequence[SweepSeries], equilibria: Found
) -> Plot | None:
    """Where the lead ends by buffer, with its 95 % interval, for each kernel.

    None if mixes have more than two strategies, the lines are not against the buffer, or fewer
    than two kernels have an interval.
    """
    if len(measures.strategies) != 2 or kernels[0].axis != "buffer":
        return None
    axis, count = axis_of(measures, kernels[0]), len(kernels)
    ends = [
        ends_of_lead(
            [(place_of(s, axis), equilibria[s.label]) for s in line.settings],
            f"kernel {line.settings[0].kernel}", right=STEP_POINTS * _step(index, count),
            **_look(index, count),
        )
        for index, line in enumerate(kernels)
    ]  # fmt: skip
    if sum(bool(each.x) for each in ends) < 2:
        return None
    settings = [s for line in kernels for s in line.settings]
    marked = (place_of(s, axis) for s in settings if equilibria[s.label].not_settled)
    items = [*ends, *unsettled(marked), *published_equilibria(measures, kernels[0], axis)]
    places = [place_of(s, axis) for s in kernels[0].settings]
    panel = Panel(
        items, swept(axis, places), flows_axis(measures, settings, "flows where the lead ends")
    )
    return Plot([panel], (WIDE, 3.8), columns=3, bars_first=True)


def _step(index: int, count: int) -> float:
    """How far from the middle one of several stands, in steps."""
    return index - (count - 1) / 2


def _look(index: int, count: int) -> dict[str, Any]:
    """A kernel's marks, from dark (the first) to light (the last)."""
    colour = to_hex(mpl.colormaps["viridis"](NEWEST * index / max(count - 1, 1)))
    return {"color": colour, "marker": MARKERS[index % len(MARKERS)], "capsize": 2.0,
            "elinewidth": 1.0, "markersize": 4.0, "zorder": 4}  # fmt: skip
