"""Games of two CCAs at a time: each against the first, and each against each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..nash.of_run import SettingEquilibria
from ..nash.pairs import PairEquilibria, ranking
from ..results.sweep import SweepSeries, place_of
from ..text import shown
from .axes import SPARSE, axis_of, fair_share, flows_axis, swept
from .plot import Axis, Cells, Item, Line, Means, Panel, Plot, means
from .style import WIDE, colour_of, marker_of

METRIC = "per_flow_throughput"
ASIDE = 0.012
"""How far the CCAs stand apart on the axis, as a share of the place: they often coincide."""
LEAST_STRATEGIES = 3


def pair_lines_plot(measures: RunMeasures, setting: Setting) -> Plot | None:
    """Above the other CCA of each mix, below the first one beside it.

    None unless at least two others were run against the first.
    """
    first, *others = measures.strategies
    lines = {name: _cells_of_pair(measures, setting, name) for name in others}
    lines = {name: cells for name, cells in lines.items() if len(cells) > 1}
    if len(lines) < 2 or len(measures.group_names) > 1:
        return None
    fair = fair_share(measures, setting)
    title = f"flows of the other congestion control, of {measures.flows(setting)}"
    panels = [
        Panel(
            [*(_line(measures, cells, name, of or name) for name, cells in lines.items()), fair],
            Axis(title if of else "", locator=SPARSE),
            Axis("Mbit/s per flow", low=0),
            f"{first}, beside it" if of else "the other congestion control",
        )
        for of in ("", first)
    ]
    return Plot(panels, (WIDE, 6.4), columns=3)


def _cells_of_pair(measures: RunMeasures, setting: Setting, other: str) -> list[Cell]:
    """The mixes of the first CCA and one other, by the flows of the other."""
    second = measures.strategies.index(other)
    total = measures.flows(setting)
    cells = [c for c in measures.cells(setting) if c.trials]
    of_pair = [c for c in cells if c.state[0][0] + c.state[0][second] == total]
    return sorted(of_pair, key=lambda c: c.state[0][second])


def _line(measures: RunMeasures, cells: list[Cell], other: str, of: str) -> Means:
    second = measures.strategies.index(other)
    return means(
        ((c.state[0][second], c.estimate(METRIC, of, 0)) for c in cells),
        f"{other} ({{n}} per mix)", factor=shown(1, "bit/s"), linestyle="-", capsize=2.5,
        color=colour_of(other, measures.strategies), elinewidth=1.1, zorder=4,
        marker=marker_of(other, measures.strategies),
    )  # fmt: skip


@dataclass(frozen=True)
class _Point:
    """Flows of the first CCA at the equilibria at one place, and its 95 % interval."""

    x: float
    flows: list[float]
    span: tuple[float, ...] | None


def pair_equilibria_plot(
    measures: RunMeasures, line: SweepSeries, equilibria: Mapping[str, SettingEquilibria]
) -> Plot | None:
    """Flows of the first CCA at each equilibrium, a line for each other CCA.

    None unless at least two others were run against the first, at several places of the line.
    """
    others = measures.strategies[1:]
    points = {name: _points(measures, line, equilibria, name) for name in others}
    points = {name: found for name, found in points.items() if found}
    if len(points) < 2:
        return None
    items: list[Item] = []
    for index, (name, found) in enumerate(points.items()):
        aside = 1 + ASIDE * (index - (len(points) - 1) / 2)
        colour, marker = colour_of(name, measures.strategies), marker_of(name, measures.strategies)
        middles = [sum(p.flows) / len(p.flows) for p in found]
        items.append(Line([aside * p.x for p in found], middles, color=colour, linewidth=1.2,
                          alpha=0.7))  # fmt: skip
        for point in found:
            items.append(Line([aside * point.x] * len(point.flows), point.flows, name,
                              color=colour, marker=marker, linestyle="none"))  # fmt: skip
            if point.span is not None:
                items.append(Line([aside * point.x] * 2, point.span, color=colour, linewidth=1.1,
                                  alpha=0.5))  # fmt: skip
    axis = axis_of(measures, line)
    x = swept(axis, [place_of(s, axis) for s in line.settings])
    panel = Panel(items, x, flows_axis(measures, line.settings, "flows at the equilibrium"))
    return Plot([panel], (WIDE, 4.4), columns=4)


def _points(
    measures: RunMeasures,
    line: SweepSeries,
    equilibria: Mapping[str, SettingEquilibria],
    other: str,
) -> list[_Point]:
    """Where the first CCA settles against another one, along the axis."""
    axis = axis_of(measures, line)
    found = []
    for setting in line.settings:
        pair = _pair(equilibria[setting.label].pairs, measures.strategies[0], other)
        if pair is not None and pair.shares_of_first:
            flows = sorted(share * pair.flows for share in pair.shares_of_first)
            low_high = pair.span_of_first
            span = None if low_high is None else tuple(share * pair.flows for share in low_high)
            found.append(_Point(place_of(setting, axis), flows, span))
    return found


def _pair(pairs: Sequence[PairEquilibria], first: str, second: str) -> PairEquilibria | None:
    return next((p for p in pairs if (p.first, p.second) == (first, second)), None)


def tournament_plot(pairs: Sequence[PairEquilibria]) -> Plot | None:
    """The matrix of pairs with means at the right; the CCA that does best on average is on top.

    None unless every pair of at least three CCAs was measured.
    """
    scores = dict(ranking(pairs))
    names = list(scores)
    if len(names) < LEAST_STRATEGIES or len(pairs) < len(names) * (len(names) - 1) // 2:
        return None
    cells = [[_settled(pairs, name, other) for other in names] for name in names]
    values = np.array([[sum(at) / len(at) if at else np.nan for at, _ in row] for row in cells])
    texts = [[_texts(*cell) for cell in row] for row in cells]
    for place, name in enumerate(names):
        score = scores[name]
        texts[place][place] = "", ""
        texts[place].append(("" if score is None else f"{score:.0%}", ""))
    means = np.array([[np.nan if score is None else score] for score in scores.values()])
    columns = [*names, "mean"]
    items = [Cells(names, columns, np.hstack((values, means)), texts, cmap="RdBu", vmin=0, vmax=1)]
    x = Axis("at the equilibrium against",
             ticks={at: name.replace("_", "_\n") for at, name in enumerate(columns)})  # fmt: skip
    y = Axis("share of the flows that run", ticks=dict(enumerate(names)))
    return Plot([Panel(items, x, y)], (WIDE, 0.62 * len(names) + 1.6), columns=0)


def _settled(
    pairs: Sequence[PairEquilibria], name: str, other: str
) -> tuple[list[float], tuple[float, float] | None]:
    """A CCA's shares at the equilibria against another one, in order, and their interval."""
    for pair in pairs:
        shares, span = sorted(pair.shares_of_first), pair.span_of_first
        if (pair.first, pair.second) == (name, other):
            return shares, span
        if (pair.first, pair.second) == (other, name):
            return [1 - s for s in reversed(shares)], span and (1 - span[1], 1 - span[0])
    return [], None


def _texts(shares: Sequence[float], span: tuple[float, float] | None) -> tuple[str, str]:
    text = " or ".join(f"{share:.0%}" for share in shares) or "not known"
    if span is None:
        return text, ""
    low, high = (round(100 * share) for share in span)
    return text, f"{low} to {high}" if low < high else "sure"
