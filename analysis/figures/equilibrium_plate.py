"""A plate of equilibria by buffer: a panel for each rate and base RTT, every source in all.

Drawn from tables of equilibria alone (`models/equilibrium_files.py`), so that a committed table is
enough to draw it again.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from nashbed.controlplane.contract.errors import ConfigError

from ..models.equilibrium_files import EquilibriumRow, Origin, PublishedEquilibrium
from ..models.starts import BBR, CUBIC
from ..text import rate_text
from .drawing import write_plot
from .equilibria import COLOURS, MARKERS
from .plot import Axis, Band, Item, Line, Note, Panel, Plot, Where, in_legend, through
from .style import INK, MUTED

Place = tuple[float, float]
"""Rate in Mbit/s and base RTT in ms."""
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
        path: The file; its ending says in which format.

    Raises:
        ConfigError: The format is not known, or the rows make no plate.
        OSError: The file cannot be written.
    """
    return write_plot(plate_plot(rows, published), path)


def plate_plot(rows: Sequence[EquilibriumRow], published: Sequence[PublishedEquilibrium]) -> Plot:
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
    looks = _looks(drawn)
    most = max(row.buffer_bdp for row in drawn)
    x = Axis("buffer (BDP)", -0.06 * most, 1.06 * most)
    y = Axis(f"CUBIC flows at the\nequilibrium, of {flows[0]}", -0.05 * flows[0], 1.05 * flows[0])
    panels: list[Panel] = []
    for panel in sorted({_panel(row) for row in drawn}):
        own = [each for each in known if (each.key.rate_mbps, each.key.base_rtt_ms) == panel]
        items = [*_of_panel([row for row in drawn if _panel(row) == panel], own, looks)]
        title = f"{rate_text(panel[0] * 1e6)}, {panel[1]:g} ms"
        panels.append(Panel([*items, *(() if panels else _explained(drawn))], x, y, title))
    longest = max(len(look.label) for look in looks.values())
    return Plot(panels, layout="grid", columns=1 if longest > WIDE_LABEL else 2, bars_first=True)


def _panel(row: EquilibriumRow) -> Place:
    return row.bandwidth_mbps, row.base_rtt_ms


def _looks(rows: Sequence[EquilibriumRow]) -> dict[Origin, _Source]:
    """The look of each source, in the order of the rows; one label for all panels."""
    looks: dict[Origin, _Source] = {}
    for row in rows:
        if row.origin not in looks:
            before = sum(kind == row.kind for kind, _ in looks)
            label = _label([each for each in rows if each.origin == row.origin])
            looks[row.origin] = _Source(before, label)
    return looks


def _of_panel(
    rows: Sequence[EquilibriumRow],
    published: Sequence[PublishedEquilibrium],
    looks: Mapping[Origin, _Source],
) -> Iterator[Item]:
    points = [(each.key.buffer_bdp, cubic) for each in published for cubic in each.cubic]
    if points:
        yield through(points, PUBLISHED, linestyle="none", marker="x",
                   markersize=5, markeredgewidth=1.4, color=INK, zorder=6)  # fmt: skip
    else:
        fraction: Where = "axes fraction"
        yield Note(PREDICTION, 0.03, 0.95, (fraction, fraction), ha="left", va="top", fontsize=8,
                   fontstyle="italic", color=MUTED)  # fmt: skip
    runs = sum(kind == "measured" for kind, _ in looks)
    for origin, look in looks.items():
        own = sorted((r for r in rows if r.origin == origin), key=lambda row: row.buffer_bdp)
        if own and origin[0] == "model":
            yield from _model(own, look)
        elif own:
            yield from _run(own, look, STEP_POINTS * (look.number - (runs - 1) / 2))


def _model(rows: Sequence[EquilibriumRow], look: _Source) -> Iterator[Item]:
    """A line with the range over the model's seeds."""
    colour = COLOURS[look.number % len(COLOURS)]
    known = [(r.buffer_bdp, r.n_cubic, *r.interval) for r in rows
             if r.n_cubic is not None and r.interval is not None]  # fmt: skip
    if known:
        x, cubic, low, high = (np.array(values, float) for values in zip(*known, strict=True))
        yield Band(x, low, high, alpha=0.15, zorder=1, color=colour)
        yield Line(x, cubic, look.label, linestyle=LINES[look.number % len(LINES)], linewidth=1.3,
                   zorder=2, color=colour)  # fmt: skip


def _run(rows: Sequence[EquilibriumRow], look: _Source, right: float) -> Iterator[Item]:
    """Marks, hollow where shares had not settled, and intervals, dotted to an open side."""
    colour = COLOURS[look.number % len(COLOURS)]
    marks: dict[str, Any] = {"linestyle": "none", "marker": MARKERS[look.number % len(MARKERS)],
                             "markersize": 4, "color": colour}  # fmt: skip
    for row in rows:
        for outer, inner, is_open in _sides(row):
            yield Line([row.buffer_bdp] * 2, [inner, outer], right=right, color=colour,
                       linewidth=1.1, linestyle=OPEN_LINE if is_open else "-",
                       marker="none" if is_open else "_", markevery=[1], markersize=4,
                       zorder=3)  # fmt: skip
    for settled, face in ((True, colour), (False, "white")):
        known = [(r.buffer_bdp, r.n_cubic) for r in rows
                 if r.n_cubic is not None and r.settled is settled]  # fmt: skip
        if known:
            yield through(known, right=right, markerfacecolor=face,
                       markeredgewidth=1, zorder=4, **marks)  # fmt: skip
    yield in_legend(look.label, **marks)


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


def _explained(rows: Sequence[EquilibriumRow]) -> Iterator[Item]:
    """What hollow marks and dotted bars are, where there are any."""
    measured = [row for row in rows if row.kind == "measured"]
    if any(row.settled is False for row in measured):
        yield in_legend("hollow: deciding mixes had not settled", linestyle="none", marker="o",
                        markersize=4, color=MUTED, markerfacecolor="white")  # fmt: skip
    if any(is_open for _, _, is_open in chain.from_iterable(map(_sides, measured))):
        yield in_legend("dotted: 95 % interval open on this side", color=MUTED,
                        linestyle=OPEN_LINE, linewidth=1.1)  # fmt: skip
