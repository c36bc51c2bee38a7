"""Why: shares of queue and throughput, losses together, and the ledger of Mishra's model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..correlation.assumptions import ASSUMPTIONS
from ..correlation.k_verdict import KPrediction
from ..correlation.ledger import BOUNDS, Ledger, LedgerEntry
from ..correlation.of_run import RunCorrelation, mix_readings
from ..measures import RunMeasures
from ..metrics.queue import share_line
from ..metrics.statistics import estimate
from ..models.starts import CUBIC
from ..state import strategy_totals
from ..text import trials_text
from .axes import WHOLE, place_of_mix
from .plot import Axis, Item, Line, Note, Panel, Plot, Rule, Where, means
from .style import DASHED, INK, MUTED, NARROW, WIDE, colour_of, marker_of

X, Y = "occupancy_share", "throughput_share"
K_LOOKS = {
    "synchronised": ("--", "v", MUTED),
    "desynchronised": (":", "^", MUTED),
    "measured": ("-", "o", INK),
}
MAX_MIXES = 7
MARKERS = "osD^vPX"
SPREAD = 0.62
"""Share of a row's height over which its mixes are spread."""
FAR = 3
"""Values further away than so many times the usual reach bend the scale."""
ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""What a logarithmic scale is labelled with."""
RATIO_REACH = 1.0
COST_REACHES = (5.0, 10.0, 20.0)


def share_against_share_plot(measures: RunMeasures, setting: Setting) -> Plot | None:
    """A point for each flow and trial, and the line of equation (5).

    Mishra et al.'s equation (5), lambda = (lambda R + b) / (R + Q), is the identity line:
    a flow gets the share of the link that it holds of the queue. None if no trial has both shares.
    """
    points = {s: _points(measures, setting, s) for s in measures.strategies}
    everything = np.concatenate(list(points.values()))
    if len(everything) == 0:
        return None
    top = 1.06 * float(np.nanmax(everything))
    items = [Line([0, top], [0, top], "equation (5): equal shares", color=INK, linewidth=1.0,
                  linestyle=DASHED, zorder=2)]  # fmt: skip
    for strategy, values in points.items():
        items.append(
            Line(values[:, 0], values[:, 1], _label(strategy, values), linestyle="none",
                 marker=marker_of(strategy, measures.strategies), alpha=0.7, markeredgewidth=0,
                 color=colour_of(strategy, measures.strategies), markersize=5, zorder=3,
                 rasterized=len(everything) > 2000)
        )  # fmt: skip
    line = share_line(everything[:, 0], everything[:, 1])
    if line is not None:
        ends = np.array([0.0, top])
        items.append(Line(ends, line.intercept + line.slope * ends,
                          f"all: slope {line.slope:.2f}, R² {line.r2:.2f}, n {line.n}",
                          color=MUTED, linewidth=1.2, zorder=1))  # fmt: skip
    titles = "share of the queue (mean bytes)", "share of the throughput"
    x, y = (Axis(title, 0, top, form="{:.0%}".format) for title in titles)
    return Plot([Panel(items, x, y)], (NARROW, 3.6), inside="upper left")


def _points(measures: RunMeasures, setting: Setting, strategy: str) -> NDArray[np.float64]:
    """(queue share, throughput share) of every flow of a strategy, shape (n, 2)."""
    parts = [np.empty((0, 2))]
    for cell in measures.cells(setting):
        for trial in cell.trials:
            if X in trial.per_flow and Y in trial.per_flow:
                mask = trial.flow_mask(strategy)
                parts.append(np.column_stack((trial.per_flow[X][mask], trial.per_flow[Y][mask])))
    points = np.concatenate(parts)
    return points[np.isfinite(points).all(axis=1)]


def _label(strategy: str, values: NDArray[np.float64]) -> str:
    line = share_line(values[:, 0], values[:, 1])
    return strategy if line is None else f"{strategy}: slope {line.slope:.2f}, R² {line.r2:.2f}"


def synchronisation_plot(run: RunCorrelation, setting: Setting) -> Plot | None:
    """How many CUBIC flows lose together, and BBR's share by the k that follows.

    None with fewer than two mixes in which CUBIC lost, or unless mixes are of two CCAs.
    """
    if len(run.measures.strategies) != 2:
        return None
    mixes = [m for m in mix_readings(run, setting) if m.readings["losing_share"] is not None]
    if len(mixes) < 2:
        return None
    names = run.measures.strategies
    x = [place_of_mix(m.state) for m in mixes]
    losing = [m.readings["losing_share"] for m in mixes]
    alone = [1 / max(1, strategy_totals(m.state)[names.index("cubic")]) for m in mixes]
    above = [
        means(zip(x, losing, strict=True), "losing together, measured", marker="o", capsize=2.5,
              color=colour_of("cubic", names)),
        Line(x, alone, "one flow each time", color=MUTED, linestyle=":"),
        Rule(1, "all together", color=MUTED, linestyle="--", linewidth=1.2),
    ]  # fmt: skip
    n = trials_text([e.n for e in losing if e is not None])
    panels = [
        Panel(above, y=Axis("share of CUBIC flows\nlosing in one event", 0, 1.08)),
        Panel(
            list(_predictions(run, setting)),
            Axis(f"flows running {names[1]} ({n})", locator=WHOLE),
            Axis("BBR's share\nof the throughput", 0, 1.05),
        ),
    ]
    return Plot(panels, (NARROW, 4.8))


def _predictions(run: RunCorrelation, setting: Setting) -> Iterator[Item]:
    """BBR's share of the throughput as measured, and by the model with each k."""
    rows = _by_mix(run, setting)
    if not rows:
        fraction: Where = "axes fraction"
        yield Note("the model does not hold here", 0.5, 0.5, (fraction, fraction))
        return
    x = sorted(rows)
    for choice, (style, marker, colour) in K_LOOKS.items():
        y = [float(np.mean([r.predicted[choice] for r in rows[k]])) for k in x]
        yield Line(x, y, f"model, {choice} k", color=colour, linestyle=style, marker=marker,
                   mfc="white")  # fmt: skip
    measured = ((k, estimate([r.bbr_share for r in rows[k]])) for k in x)
    yield means(measured, "BBR's share, measured", marker="s", capsize=2.5,
                color=colour_of("bbr", run.measures.strategies))  # fmt: skip


def _by_mix(run: RunCorrelation, setting: Setting) -> dict[int, list[KPrediction]]:
    """Flows of BBR -> the predictions of that mix's trials."""
    if run.k is None:
        return {}
    flows = {t.measures.trial.id: int(t.measures.flow_mask("bbr").sum()) for t in run.trials}
    by_count: dict[int, list[KPrediction]] = {}
    for row in run.k.trials:
        if row.setting == setting.label:
            by_count.setdefault(flows[row.trial], []).append(row)
    return by_count


@dataclass(frozen=True)
class _Look:
    """How one mix is drawn: at which height of each row, and in which style."""

    offset: float
    style: dict[str, Any]


def draw_model_assumptions(run: RunCorrelation, setting: Setting) -> Figure | None:
    """Measured by assumed on the left, points of BBR's share on the right.

    None if no mix has a ledger.
    """
    ledgers = _chosen(run.ledgers(setting))
    if not ledgers:
        return None
    keys = [
        a.key for a in ASSUMPTIONS if any(e.assumption == a for x in ledgers for e in x.entries)
    ]
    figure = Figure(figsize=(WIDE, 1.5 + 0.36 * len(keys)), layout="constrained")
    ratios, points = figure.subplots(1, 2, sharey=True)
    for index, ledger in enumerate(ledgers):
        look = _look(index, len(ledgers))
        label = _others_of(ledger, run.measures.strategies)
        ratios.plot([], [], linestyle="none", label=label, **look.style)
        for entry in ledger.entries:
            _draw_entry(ratios, points, entry, keys.index(entry.assumption.key), look)
    _name_axes(figure, ratios, points, keys, ledgers)
    return figure


def _others_of(ledger: Ledger, strategies: Sequence[str]) -> str:
    """The flows beside CUBIC, e.g. `3 bbr2`."""
    totals = zip(strategy_totals(ledger.state), strategies, strict=True)
    return " + ".join(f"{count} {name}" for count, name in totals if count and name != CUBIC)


def _chosen(ledgers: Sequence[Ledger]) -> list[Ledger]:
    """All of them, or a few spread evenly."""
    if len(ledgers) <= MAX_MIXES:
        return list(ledgers)
    places = np.linspace(0, len(ledgers) - 1, MAX_MIXES).round().astype(int)
    return [ledgers[place] for place in places]


def _look(index: int, count: int) -> _Look:
    place = (index + 0.5) / count
    colour = mpl.colormaps["viridis"](0.85 * place)
    style = {"marker": MARKERS[index], "color": colour, "markersize": 4.5}
    return _Look(SPREAD * (place - 0.5), style)


def _draw_entry(ratios: Axes, points: Axes, entry: LedgerEntry, row: int, look: _Look) -> None:
    height = row + look.offset
    ratios.plot([entry.ratio(BOUNDS[0])], [height], **look.style)
    costs = [entry.alone[bound] for bound in BOUNDS]
    points.plot([cost.points for cost in costs], [height] * 2, color=look.style["color"], lw=0.9)
    for cost, face in zip(costs, (look.style["color"], "white"), strict=True):
        end = "<" if cost.points < 0 else ">"
        marker = end if cost.why else look.style["marker"]
        points.plot([cost.points], [height], **{**look.style, "marker": marker, "mfc": face})


def _name_axes(
    figure: Figure, ratios: Axes, points: Axes, keys: Sequence[str], ledgers: Sequence[Ledger]
) -> None:
    short = {a.key: a.short for a in ASSUMPTIONS}
    ratios.set_yticks(range(len(keys)), [short[key] for key in keys])
    ratios.set_ylim(len(keys) - 0.5, -0.5)
    ratios.axvline(1, color=INK, linewidth=1.0)
    points.axvline(0, color=INK, linewidth=1.0)
    for ax in (ratios, points):
        ax.grid(visible=False, axis="y")
        for row in range(1, len(keys)):
            ax.axhline(row - 0.5, color=MUTED, linewidth=0.3)
    entries = [entry for ledger in ledgers for entry in ledger.entries]
    costs = np.array([cost.points for entry in entries for cost in entry.alone.values()])
    far = _bend(ratios, np.array([e.ratio(BOUNDS[0]) for e in entries]), 1.0, RATIO_REACH)
    ratios.set_xlim(left=0)
    ratios.set_xlabel(f"measured / assumed{far}")
    points.set_xlabel(f"moves BBR's share by (points){_bend(points, costs, 0.0, _reach(costs))}")
    _legends(figure, ratios, points, trials_text([ledger.share.n for ledger in ledgers]))


def _reach(costs: NDArray[np.float64]) -> float:
    """Points to each side of zero that hold three of four costs."""
    usual = float(np.percentile(np.abs(costs), 75))
    return next((reach for reach in COST_REACHES if usual <= reach), COST_REACHES[-1])


def _bend(ax: Axes, values: NDArray[np.float64], middle: float, reach: float) -> str:
    """Give far values a logarithmic scale, so that they do not press the others into a line.

    Args:
        values: Everything that is drawn, shape (V,).
        middle: Where the scale is centred.
        reach: So far to each side of the middle it stays linear.

    Returns:
        What the axis's title has to say of it; empty where all values are near.
    """
    furthest = float(np.abs(values - middle).max())
    if furthest <= FAR * reach:
        return ""

    def bent(x: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.abs(x - middle) / reach
        return np.sign(x - middle) * np.where(away <= 1, away, 1 + np.log(np.maximum(away, 1)))

    def straight(y: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.abs(y)
        return middle + np.sign(y) * reach * np.where(away <= 1, away, np.exp(away - 1))

    ax.set_xscale("function", functions=(bent, straight))
    ax.margins(x=0.08)
    low, high = values.min(), values.max()
    ticks = {middle, middle - reach, middle + reach}
    ticks |= {x for n in ROUND for x in (-n, n) if abs(x - middle) > reach and low <= x <= high}
    ax.set_xticks(sorted(ticks))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    for side in (-1, 1):
        ax.axvline(middle + side * reach, color=MUTED, linewidth=0.8, linestyle=":")
    edge = f"±{reach:g}" if middle == 0 else f"{middle + reach:g}"
    return f",\nlogarithmic beyond {edge}"


def _legends(figure: Figure, ratios: Axes, points: Axes, n: str) -> None:
    """The mixes below on the left, what markers mean on the right."""
    bounds = ((INK, "o", "all losing together"), ("white", "o", "one at a time"))
    for face, marker, label in (*bounds, (INK, "<", "no solution from here on")):
        points.plot([], [], marker, color=INK, mfc=face, markersize=4.5, label=label)
    small: dict[str, Any] = {"title_fontsize": 8.5, "alignment": "left"}
    mixes, meanings = ratios.get_legend_handles_labels(), points.get_legend_handles_labels()
    figure.legend(*mixes, loc="outside lower left", ncols=4, title=n, **small)
    figure.legend(*meanings, loc="outside lower right", title="CUBIC flows in the model", **small)
