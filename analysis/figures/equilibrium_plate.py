"""A plate of equilibria by buffer: a panel for each rate and base RTT, every source in all.

Drawn from tables of equilibria alone (`models/equilibrium_files.py`), so that a committed table is
enough to draw it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Transform
from nashbed.controlplane.contract.errors import ConfigError

from ..models.equilibrium_files import EquilibriumRow, Origin, PublishedEquilibrium
from ..models.starts import BBR, CUBIC
from ..text import rate_text
from .axes import name_scales, shared_legend, small_multiples
from .equilibria import COLOURS, MARKERS, beside
from .saving import save
from .style import INK, MUTED, house_style

Panel = tuple[float, float]
"""Rate in Mbit/s and base RTT in ms."""
FORMATS = ("png", "pdf", "svg")
PUBLISHED = "published: Srivastava et al. 2023"
PREDICTION = "prediction"
STEP_POINTS = 3.5
"""From one run to the next, so that marks at the same buffer do not hide each other."""
WIDE_LABEL = 50
"""Characters of a label beside which there is no room for another one."""
LINES = ((0, (5, 2)), "-", (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
OPEN_LINE = (0, (1, 1.2))


class _Source(NamedTuple):
    """How a source is drawn: its number among those of its kind, and its label."""

    number: int
    label: str


def write_plate(
    rows: Sequence[EquilibriumRow], published: Sequence[PublishedEquilibrium], path: Path
) -> Path:
    """Draw a plate into a file.

    Args:
        rows: Rows of equilibria.
        published: The published ones.
        path: The file; its ending says in which format.

    Raises:
        ConfigError: The format is not known, or the rows make no plate.
        OSError: The file cannot be written.
    """
    suffix = path.suffix.lstrip(".")
    if suffix not in FORMATS:
        raise ConfigError(f"{path}: write a name that ends in .{', .'.join(FORMATS)}")
    with house_style():
        (written,) = save(draw_plate(rows, published), path.with_suffix(""), (suffix,))
    return written


def draw_plate(rows: Sequence[EquilibriumRow], published: Sequence[PublishedEquilibrium]) -> Figure:
    """Draw equilibria of CUBIC and BBR flows against the buffer.

    Runs and models each have colours of their own, in the order of the rows: a model's line and the
    marks of the run that it was asked like share one if both come in the same order.

    Args:
        rows: Rows of equilibria, all of as many flows; those of other CCAs are not drawn.
        published: The published ones; a panel without any is called a prediction.

    Raises:
        ConfigError: There is no row to draw, or rows are of several numbers of flows.
    """
    drawn = [row for row in rows if set(row.strategies.split()) == {CUBIC, BBR}]
    flows = sorted({row.n_flows for row in drawn})
    if len(flows) != 1:
        said = " and ".join(map(str, flows)) or "no"
        raise ConfigError(
            f"a plate is of CUBIC and BBR in one number of flows; these settings have {said} flows"
        )
    known = [each for each in published if each.key.flows == flows[0]]
    panels = sorted({_panel(row) for row in drawn})
    figure, axes = small_multiples(len(panels))
    looks = _looks(drawn)
    for ax, panel in zip(axes, panels, strict=True):
        own = [each for each in known if (each.key.rate_mbps, each.key.base_rtt_ms) == panel]
        _draw_panel(ax, [row for row in drawn if _panel(row) == panel], own, looks)
        rate_mbps, rtt_ms = panel
        ax.set_title(f"{rate_text(rate_mbps * 1e6)}, {rtt_ms:g} ms", fontsize="medium", pad=3)
    _name_axes(axes, drawn, flows[0])
    _explain(axes[0], drawn)
    longest = max(len(look.label) for look in looks.values())
    shared_legend(figure, axes, columns=1 if longest > WIDE_LABEL else 2)
    return figure


def _panel(row: EquilibriumRow) -> Panel:
    return row.bandwidth_mbps, row.base_rtt_ms


def _looks(rows: Sequence[EquilibriumRow]) -> dict[Origin, _Source]:
    """Of each source, in the order of the rows; one label for all panels."""
    looks: dict[Origin, _Source] = {}
    for row in rows:
        if row.origin not in looks:
            before = sum(kind == row.kind for kind, _ in looks)
            label = _label([each for each in rows if each.origin == row.origin])
            looks[row.origin] = _Source(before, label)
    return looks


def _draw_panel(
    ax: Axes,
    rows: Sequence[EquilibriumRow],
    published: Sequence[PublishedEquilibrium],
    looks: Mapping[Origin, _Source],
) -> None:
    points = [(each.key.buffer_bdp, cubic) for each in published for cubic in each.cubic]
    if points:
        ax.plot(*zip(*points, strict=True), linestyle="none", marker="x", markersize=5,
                markeredgewidth=1.4, color=INK, label=PUBLISHED, zorder=6)  # fmt: skip
    else:
        ax.text(0.03, 0.95, PREDICTION, transform=ax.transAxes, ha="left", va="top",
                fontsize=8, fontstyle="italic", color=MUTED)  # fmt: skip
    runs = sum(kind == "measured" for kind, _ in looks)
    for origin, look in looks.items():
        own = sorted((r for r in rows if r.origin == origin), key=lambda row: row.buffer_bdp)
        if own and origin[0] == "model":
            _draw_model(ax, own, look)
        elif own:
            _draw_run(ax, own, look, beside(ax, STEP_POINTS * (look.number - (runs - 1) / 2)))


def _draw_model(ax: Axes, rows: Sequence[EquilibriumRow], look: _Source) -> None:
    """A line with the range over the model's seeds."""
    colour = COLOURS[look.number % len(COLOURS)]
    known = [(r.buffer_bdp, r.n_cubic, *r.interval) for r in rows
             if r.n_cubic is not None and r.interval is not None]  # fmt: skip
    if not known:
        return
    x, cubic, low, high = (np.array(values, float) for values in zip(*known, strict=True))
    ax.fill_between(x, low, high, alpha=0.15, linewidth=0, zorder=1, color=colour)
    ax.plot(x, cubic, linestyle=LINES[look.number % len(LINES)], linewidth=1.3, zorder=2,
            label=look.label, color=colour)  # fmt: skip


def _draw_run(ax: Axes, rows: Sequence[EquilibriumRow], look: _Source, place: Transform) -> None:
    """Marks, hollow where shares had not settled, and intervals, dotted to an open side."""
    colour = COLOURS[look.number % len(COLOURS)]
    marker = MARKERS[look.number % len(MARKERS)]
    for row in rows:
        for outer, inner, is_open in _sides(row):
            ax.plot([row.buffer_bdp] * 2, [inner, outer], color=colour, linewidth=1.1,
                    linestyle=OPEN_LINE if is_open else "-", marker="none" if is_open else "_",
                    markevery=[1], markersize=4, transform=place, zorder=3)  # fmt: skip
    for settled, face in ((True, colour), (False, "white")):
        known = [(r.buffer_bdp, r.n_cubic) for r in rows
                 if r.n_cubic is not None and r.settled is settled]  # fmt: skip
        if known:
            ax.plot(*zip(*known, strict=True), linestyle="none", marker=marker, markersize=4,
                    color=colour, markerfacecolor=face, markeredgewidth=1, transform=place,
                    zorder=4)  # fmt: skip
    ax.plot([], [], linestyle="none", marker=marker, markersize=4, color=colour, label=look.label)


def _sides(row: EquilibriumRow) -> list[tuple[float, float, bool]]:
    """Each side of an interval: its end, where it begins, and whether it is open."""
    if row.interval is None:
        return []
    low, high = row.interval
    middle = (low + high) / 2 if row.n_cubic is None else row.n_cubic
    is_open = row.closed is False
    return [(low, middle, is_open and low == 0), (high, middle, is_open and high == row.n_flows)]


def _label(rows: Sequence[EquilibriumRow]) -> str:
    """What a source is, and of what trials."""
    shortest, longest = min(r.shortest_s for r in rows), max(r.longest_s for r in rows)
    length = f"{longest:g} s" if shortest == longest else f"{shortest:g} to {longest:g} s"
    starts = " or ".join(dict.fromkeys(row.start for row in rows))
    return f"{rows[0].source}: {length}, {starts}"


def _name_axes(axes: Sequence[Axes], rows: Sequence[EquilibriumRow], flows: int) -> None:
    most = max(row.buffer_bdp for row in rows)
    axes[0].set(xlim=(-0.06 * most, 1.06 * most), ylim=(-0.05 * flows, 1.05 * flows))
    name_scales(axes, "buffer (BDP)", f"CUBIC flows at the\nequilibrium, of {flows}")


def _explain(ax: Axes, rows: Sequence[EquilibriumRow]) -> None:
    """What hollow marks and dotted bars are, where there are any."""
    measured = [row for row in rows if row.kind == "measured"]
    if any(row.settled is False for row in measured):
        ax.plot([], [], linestyle="none", marker="o", markersize=4, color=MUTED,
                markerfacecolor="white",
                label="hollow: deciding mixes had not settled")  # fmt: skip
    if any(is_open for _, _, is_open in chain.from_iterable(map(_sides, measured))):
        ax.plot([], [], color=MUTED, linestyle=OPEN_LINE, linewidth=1.1,
                label="dotted: 95 % interval open on this side")  # fmt: skip
