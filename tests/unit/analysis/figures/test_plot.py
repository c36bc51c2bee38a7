"""Figures as data: how they are drawn, and the table of what they show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from nashbed.analysis.figures.drawing import draw, set_scale
from nashbed.analysis.figures.plot import (
    Axis,
    Band,
    Bars,
    Cells,
    Item,
    Line,
    Means,
    Note,
    Panel,
    Plot,
    Rule,
    Span,
    Stack,
    in_legend,
    means,
    unsettled,
)
from nashbed.analysis.figures.sketch import Sketch
from nashbed.analysis.metrics.statistics import Estimate
from tests.support.drawn import legend_of, points, texts

ALONE = Estimate(mean=2.0, n=1, ci95=None)
PAIR = [("a", Estimate(mean=2.0, n=3, ci95=0.5)), ("b", Estimate(mean=4.0, n=1, ci95=None))]
MADE = means([(0, PAIR[0][1]), (1, None), (2, PAIR[1][1])], "x ({n})", factor=10, color="red")
ITEMS: list[Item] = [
    Line([0, 1], [2, 3], "line", color="black"), MADE, Band([0, 1], 0, [1, 2], "band"),
    Bars([0.5], [4], None, "bars"), Rule(5, "rule"), Rule(0.3, upright=True), Span(0.1, 0.2),
    Stack([0, 1], np.array([[1.0, 1.0], [2.0, 2.0]]), ("red", "blue")), Note("note", 0, 0),
    in_legend("only here", color="red"),
]  # fmt: skip


def axes_of(*panels: Panel, **how: object) -> tuple[Figure, list[Axes]]:
    figure = draw(Plot(panels, **how))  # type: ignore[arg-type]
    return figure, figure.axes


def test_every_item_is_drawn_and_named_below() -> None:
    figure, (ax,) = axes_of(Panel(ITEMS, Axis("x"), Axis("y", low=0), "title"), columns=3)
    assert points(ax.lines[0]) == ([0, 1], [2, 3])
    assert (len(ax.patches), len(ax.collections), texts(ax)) == (2, 4, ["note"])
    assert set(legend_of(figure)) == {
        "line", "x (n = 1 to 3 trials)", "band", "bars", "rule", "only here",
    }  # fmt: skip
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim()[0]) == ("x", "y", 0)


def test_a_heat_map_in_print_has_room_for_its_cells_and_its_title() -> None:
    """Columns of 0.35 inches each, below each other where beside each other they have less."""
    title, columns = "so many words " * 5 + "again", [str(number) for number in range(6)]
    cells = Cells(["r"], columns, np.array([[1.0, 2, 3, np.nan, 5, 6]]), bar="per cent")
    plot = Plot([Panel([cells], title=title), Panel([cells])], columns=0, layout="columns")
    assert plot.table().splitlines()[1] == f"{title},r,0,1.0,,"
    assert len(plot.table().splitlines()) == 1 + 2 * 5
    beside, below = draw(plot).axes, draw(plot, 84 / 25.4).axes
    assert beside[0].get_position().y0 == beside[1].get_position().y0
    assert below[0].get_position().x0 == below[1].get_position().x0
    assert (beside[0].get_title().count("\n"), below[0].get_title().count("\n")) == (0, 2)
    assert below[2].get_ylabel() == "per cent"


def test_means_leave_out_what_is_not_known_and_have_bars_where_there_is_an_interval() -> None:
    assert (MADE.x, MADE.y, MADE.half) == ([0, 2], [20, 40], [5, 0])
    alone = means([(0, ALONE)], "n = 1")
    assert (alone.half, alone.points) == (None, [])
    pair = ALONE.model_copy(update={"n": 2, "points": (1.0, 3.0)})
    few = means([(1, pair)], factor=2, across=True, color="red")
    assert few.points == [(1, 2.0), (1, 6.0)]
    _, (ax,) = axes_of(Panel([few]))
    assert ax.collections[-1].get_offsets().tolist() == [[2, 1], [6, 1]]


def test_the_table_has_a_row_for_each_number() -> None:
    rows = Plot([Panel(ITEMS, title="one")]).table().splitlines()
    assert rows[0] == "panel,series,x,y,low,high"
    sketch = Sketch("kind", "setting", "A title", "A caption", lambda: Plot([Panel([])]), "suffix")
    assert (sketch.name, sketch.table()) == ("kind-setting-suffix", rows[0] + "\n")
    assert replace(sketch, made=Figure).table() is None
    assert rows[1:5] == [
        "one,line,0,2,,", "one,line,1,3,,",
        "one,x (n = 1 to 3 trials),0,20.0,15.0,25.0", "one,x (n = 1 to 3 trials),2,40.0,40.0,40.0",
    ]  # fmt: skip
    assert rows[5:] == [
        "one,band,0,,0,1", "one,band,1,,0,2", "one,bars,0.5,4,,", "one,rule,,5,,", "one,,0.3,,,",
        "one,,,,0.1,0.2", "one,,0,1.0,,", "one,,1,1.0,,", "one,,0,2.0,,", "one,,1,2.0,,",
    ]  # fmt: skip


def test_the_frame_is_that_of_the_items_within() -> None:
    _, (ax,) = axes_of(
        Panel([Line([0, 1], [0, 10])], y=Axis(low=0, room=2), beyond=[Line([0, 1], [0, 99])])
    )
    assert ax.get_ylim() == (0, pytest.approx(21))


def test_marks_at_one_place_stand_apart() -> None:
    _, (ax,) = axes_of(Panel([Line([1], [1]), Means([1], [1], right=7.2, color="red")]))
    left, right = (line.get_transform().transform((1, 1)) for line in ax.lines)
    assert right - left == pytest.approx([7.2 / 72 * ax.figure.dpi, 0])


def test_axes_of_every_kind() -> None:
    _, (ax, log) = axes_of(
        Panel([], Axis(ticks={0: "a", 2: "b"}, grid=False), Axis(form="{:.0%}".format)),
        Panel([Line([1, 10], [1, 2])], Axis(scale="log", ticks=[1, 10])), layout="columns",
    )  # fmt: skip
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]
    assert ax.yaxis.get_major_formatter()(0.25, 0) == "25%"
    assert (log.get_xscale(), len(log.get_xticks(minor=True))) == ("log", 0)


def test_a_second_axis_is_in_its_own_unit() -> None:
    figure, (ax,) = axes_of(Panel([], y=Axis(low=0, high=40), right=("delay (ms)", 0.5)))
    figure.draw_without_rendering()
    (right,) = ax.child_axes
    assert (right.get_ylabel(), right.get_ylim()) == ("delay (ms)", (0, 20))


def test_small_panels_share_scales_and_have_titles_at_the_edges() -> None:
    one = Panel([Line([0], [0], "a")], Axis("below", 0, 7), Axis("beside"), "title")
    figure, axes = axes_of(*[one] * 5, layout="grid")
    assert [ax.get_xlabel() for ax in axes] == ["", "", "", "", "below"]
    assert [ax.get_ylabel() for ax in axes] == ["beside", "", "", "", "beside"]
    # Numbers below the lowest axes of every column: the first has another below it.
    numbered = [ax.xaxis.get_tick_params()["labelbottom"] for ax in axes]
    assert numbered == [False, True, True, True, True]
    assert {ax.get_xlim() for ax in axes} == {(0, 7)}
    assert legend_of(figure) == ["a"]


def test_rows_share_their_x_and_the_legend_has_what_has_bars_first() -> None:
    line, bars = Line([0], [0], "line"), Means([0], [0], [1], "bars", color="red")
    figure, (_, below) = axes_of(Panel([line], Axis(low=0, high=7)), Panel([line, bars]),
                                 size=(3, 4), bars_first=True, ratios=(2, 1))  # fmt: skip
    assert below.get_xlim() == (0, 7)
    assert legend_of(figure) == ["bars", "line"]
    assert tuple(figure.get_size_inches()) == (3, 4)


def test_what_had_not_settled_is_marked_once_at_each_place() -> None:
    *notes, entry = unsettled([2, 1, 2])
    assert [note.place[0] for note in notes if isinstance(note, Note)] == [1, 2]
    assert entry.label == "~  trials that had not settled"
    assert unsettled([]) == []


@pytest.mark.parametrize(
    ("places", "scale"),
    [([1, 19], "linear"), ([1, 20], "log"), ([0, 1, 20], "symlog"), ([0], "linear")],
)
def test_the_scale(places: list[float], scale: str) -> None:
    axes: Axes = Figure().subplots()
    set_scale(axes, places)
    assert axes.get_xscale() == scale


def test_a_logarithmic_axis_names_what_was_measured() -> None:
    axes: Axes = Figure().subplots()
    set_scale(axes, [1, 3, 8, 20])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "8", "20"]
    assert len(axes.get_xticks(minor=True)) == 0
    close: Axes = Figure().subplots()
    set_scale(close, [1, 18, 19, 20])  # their labels would hide each other
    assert 19 not in close.get_xticks()


WIDTH = 84 / 25.4


def in_print(*panels: Panel, **how: Any) -> Figure:
    figure = Sketch("kind", "", "", "", lambda: Plot(panels, **how)).draw(WIDTH)
    assert figure is not None
    figure.canvas.draw()
    return figure


def test_in_print_letters_have_8_points_and_the_legend_fits() -> None:
    long = Line([0, 1], [2, 3], "a label of far more letters than stand beside each other in 84 mm")
    note = Note("larger", 0, 0, fontsize=14)
    figure = in_print(Panel([*ITEMS, long, note], title="title"), columns=3)
    assert figure.get_figwidth() == pytest.approx(WIDTH)
    assert {text.get_fontsize() for text in figure.findobj(Text) if text.get_text()} == {8}
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert 0 <= box.x0 <= box.x1 <= figure.bbox.width
    assert any("\n" in text.get_text() for text in legend.get_texts())


def test_in_print_panels_that_have_no_room_stand_below_each_other() -> None:
    def edges(layout: str) -> set[float]:
        figure = in_print(*[Panel([ITEMS[0]], title=n) for n in "abc"], layout=layout)
        return {round(ax.get_position().x0, 1) for ax in figure.axes}

    assert (len(edges("columns")), len(edges("grid"))) == (1, 2)


def test_a_figure_that_is_no_data_is_resized() -> None:
    figure = Sketch("kind", "", "", "", lambda: Figure(figsize=(4 * WIDTH, 4))).draw(WIDTH)
    assert figure is not None
    assert tuple(figure.get_size_inches()) == pytest.approx((WIDTH, 2))
