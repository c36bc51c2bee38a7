"""The plate of equilibria: its panels, marks, intervals and lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures.equilibrium_plate import (
    PREDICTION,
    PUBLISHED,
    draw_plate,
    write_plate,
)
from nashbed.analysis.figures.style import house_style
from nashbed.controlplane.contract.errors import ConfigError
from tests.support.drawn import colour, filled, legend_of, lines_of, points, texts
from tests.unit.analysis.models.made_equilibria import published, row

PAPER = [published(5, 10), published(10, 18, 22)]
RUN = "run: 120 s, iperf3"
HOLLOW, DOTTED = "hollow: deciding mixes had not settled", "dotted: 95 % interval open on this side"


def drawn(*rows, paper=PAPER) -> Figure:
    with house_style():
        figure = draw_plate(rows, paper)
        figure.draw_without_rendering()
    return figure


def bars(ax) -> list[tuple[list[float], str]]:
    """What each half of an interval goes from and to, and its line."""
    return [(points(x)[1], x.get_linestyle()) for x in ax.lines if x.get_markevery() == [1]]


def test_a_panel_for_each_rate_and_base_rtt() -> None:
    rows = [
        row(5, 3, base_rtt_ms=rtt, bandwidth_mbps=rate) for rate in (100, 50) for rtt in (40, 5)
    ]
    figure = drawn(*rows)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [
        "50 Mbit/s, 5 ms",
        "50 Mbit/s, 40 ms",
        "100 Mbit/s, 5 ms",
        "100 Mbit/s, 40 ms",
    ]
    # Published at 50 Mbit/s and 40 ms alone.
    assert [PREDICTION in texts(ax) for ax in figure.axes] == [True, False, True, True]
    assert figure.axes[0].get_ylabel() == "CUBIC flows at the\nequilibrium, of 50"
    assert figure.axes[0].get_xlabel() == "buffer (BDP)"


def test_published_equilibria_are_crosses() -> None:
    (ax,) = drawn(row(5, 11)).axes
    assert points(lines_of(ax)[PUBLISHED]) == ([5, 10, 10], [10, 18, 22])
    assert lines_of(ax)[PUBLISHED].get_marker() == "x"


@pytest.mark.slow
def test_an_interval_is_a_bar_and_dotted_where_it_is_open() -> None:
    closed = row(5, 11, low=9, high=12, closed=True)
    (ax,) = drawn(closed).axes
    assert bars(ax) == [([11, 9], "-"), ([11, 12], "-")]
    assert legend_of(ax.figure) == [PUBLISHED, RUN]
    up = row(5, 47, low=44, high=50, closed=False)
    (ax,) = drawn(up).axes
    (low, solid), (high, dotted) = bars(ax)
    assert (low, solid, high) == ([47, 44], "-", [47, 50])
    assert dotted != "-"
    assert DOTTED in legend_of(ax.figure)
    # A closed interval may end at a corner.
    (ax,) = drawn(row(5, 50, low=50, high=50, closed=True)).axes
    assert {line for _, line in bars(ax)} == {"-"}


def test_what_had_not_settled_is_hollow() -> None:
    (ax,) = drawn(row(5, 11), row(10, 20, settled=False), row(20, None)).axes
    faces = {
        tuple(points(x)[0]): x.get_markerfacecolor() for x in ax.lines if x.get_marker() == "s"
    }
    assert faces[10.0,] == "white"
    assert faces[5.0,] == "#D55E00"
    assert (20.0,) not in faces
    assert HOLLOW in legend_of(ax.figure)


def test_a_run_has_one_label_whatever_its_panels_took() -> None:
    lengths = {"shortest_s": 154, "longest_s": 1800, "base_rtt_ms": 5}
    figure = drawn(row(5, 11), row(5, 7, **lengths))
    assert legend_of(figure) == ["run: 120 to 1800 s, iperf3", PUBLISHED]


def test_an_undecided_setting_has_its_interval_alone() -> None:
    (ax,) = drawn(row(5, None, low=8, high=12, closed=True)).axes
    assert [ends for ends, _ in bars(ax)] == [[10, 8], [10, 12]]


def test_a_model_is_a_line_with_its_range() -> None:
    model = {"kind": "model", "source": "fluid", "settled": False}
    rows = [row(10, 20, low=19, high=22, **model), row(5, 9, low=8, high=9.5, **model)]
    (ax,) = drawn(row(5, 11), *rows).axes
    line = lines_of(ax)["fluid: 120 s, iperf3"]
    assert points(line) == ([5, 10], [9, 20])
    (outline,) = filled(ax)
    assert outline[:, 1].min() == 8
    assert outline[:, 1].max() == 22
    # The first model and the first run share a colour; a model is never hollow.
    assert colour(line) == colour(lines_of(ax)[RUN])
    assert HOLLOW not in legend_of(ax.figure)


def test_runs_have_marks_of_their_own_side_by_side() -> None:
    settled = row(5, 7, source="settled", shortest_s=154, longest_s=1800, start="either first")
    (ax,) = drawn(row(5, 11), settled).axes
    lines = lines_of(ax)
    second = lines["settled: 154 to 1800 s, either first"]
    assert second.get_marker() != lines[RUN].get_marker()
    marks = [x for x in ax.lines if x.get_marker() in {"s", "o"} and len(x.get_xdata())]
    left, right = (x.get_transform().transform((5, 0))[0] for x in marks)
    assert right - left == pytest.approx(3.5 / 72 * ax.figure.dpi)


def test_one_number_of_flows_of_cubic_and_bbr() -> None:
    with pytest.raises(ConfigError, match="these settings have 10 and 50 flows"):
        drawn(row(5, 3), row(5, 3, n_flows=10))
    with pytest.raises(ConfigError, match="have no flows"):
        drawn(row(5, 3, strategies="cubic copa"))


def test_it_is_written_in_the_format_of_its_name(tmp_path: Path) -> None:
    file = write_plate([row(5, 11)], PAPER, tmp_path / "plate.svg")
    assert file == tmp_path / "plate.svg"
    assert "<svg" in file.read_text()
    with pytest.raises(ConfigError, match=r"ends in .png"):
        write_plate([row(5, 11)], PAPER, tmp_path / "plate.jpg")
