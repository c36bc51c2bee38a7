"""The plate of equilibria: its panels, marks, intervals and lines."""

from pathlib import Path

import pytest
from nashbed.analysis.figures.equilibrium_plate import (
    PREDICTION,
    PUBLISHED,
    plate_plot,
    write_plate,
)
from nashbed.analysis.figures.plot import Band, Line, Plot
from nashbed.controlplane.contract.errors import ConfigError
from tests.support.drawn import Seen, labels_of, panels, points
from tests.unit.analysis.models.made_equilibria import published, row

PAPER = [published(5, 10), published(10, 18, 22)]
RUN = "run: 120 s, iperf3"
HOLLOW, DOTTED = "hollow: deciding mixes had not settled", "dotted: 95 % interval open on this side"


def plate(*rows, paper=PAPER) -> Plot:
    return plate_plot(rows, paper)


def bars(panel: Seen) -> list[tuple[list[float], object]]:
    """What each half of an interval goes from and to, and its line."""
    return [(x.y, x.look["linestyle"]) for x in panel.of(Line) if "markevery" in x.look]


def test_a_panel_for_each_rate_and_base_rtt() -> None:
    rows = [
        row(5, 3, base_rtt_ms=rtt, bandwidth_mbps=rate) for rate in (100, 50) for rtt in (40, 5)
    ]
    found = panels(plate(*rows))
    assert [panel.title for panel in found] == [
        "50 Mbit/s, 5 ms",
        "50 Mbit/s, 40 ms",
        "100 Mbit/s, 5 ms",
        "100 Mbit/s, 40 ms",
    ]
    # Published at 50 Mbit/s and 40 ms alone.
    assert [PREDICTION in panel.notes for panel in found] == [True, False, True, True]
    assert found[0].y.title == "CUBIC flows at the\nequilibrium, of 50"
    assert found[0].x.title == "buffer (BDP)"


def test_published_equilibria_are_crosses() -> None:
    crosses = panels(plate(row(5, 11)))[0][PUBLISHED]
    assert points(crosses) == ([5, 10, 10], [10, 18, 22])


@pytest.mark.slow
def test_an_interval_is_a_bar_and_dotted_where_it_is_open() -> None:
    closed = row(5, 11, low=9, high=12, closed=True)
    assert bars(panels(plate(closed))[0]) == [([11, 9], "-"), ([11, 12], "-")]
    assert labels_of(plate(closed)) == [PUBLISHED, RUN]
    up = row(5, 47, low=44, high=50, closed=False)
    (low, solid), (high, dotted) = bars(panels(plate(up))[0])
    assert (low, solid, high) == ([47, 44], "-", [47, 50])
    assert dotted != "-"
    assert DOTTED in labels_of(plate(up))
    # A closed interval may end at a corner.
    corner = panels(plate(row(5, 50, low=50, high=50, closed=True)))[0]
    assert {line for _, line in bars(corner)} == {"-"}


def test_what_had_not_settled_is_hollow() -> None:
    (panel,) = panels(plate(row(5, 11), row(10, 20, settled=False), row(20, None)))
    marks = [line for line in panel.of(Line) if line.look.get("marker") == "s" and line.x]
    assert [(line.x, line.look["markerfacecolor"]) for line in marks] == [
        ([5], "#D55E00"), ([10], "white"),
    ]  # fmt: skip
    assert HOLLOW in panel.labels


def test_an_undecided_setting_has_its_interval_alone() -> None:
    undecided = panels(plate(row(5, None, low=8, high=12, closed=True)))[0]
    assert [ends for ends, _ in bars(undecided)] == [[10, 8], [10, 12]]


def test_a_model_is_a_line_with_its_range() -> None:
    model = {"kind": "model", "source": "fluid", "settled": False}
    rows = [row(10, 20, low=19, high=22, **model), row(5, 9, low=8, high=9.5, **model)]
    (panel,) = panels(plate(row(5, 11), *rows))
    line = panel["fluid: 120 s, iperf3"]
    assert points(line) == ([5, 10], [9, 20])
    (band,) = panel.of(Band)
    assert (list(band.low), list(band.high)) == ([8, 19], [9.5, 22])
    # The first model and the first run share a colour; a model is never hollow.
    assert line.look["color"] == panel[RUN].look["color"]
    assert HOLLOW not in panel.labels


def test_one_number_of_flows_of_cubic_and_bbr() -> None:
    with pytest.raises(ConfigError, match="these settings have 10 and 50 flows"):
        plate(row(5, 3), row(5, 3, n_flows=10))
    with pytest.raises(ConfigError, match="have no flows"):
        plate(row(5, 3, strategies="cubic copa"))


def test_it_is_written_in_the_format_of_its_name(tmp_path: Path) -> None:
    file = write_plate([row(5, 11)], PAPER, tmp_path / "plate.svg")
    assert file == tmp_path / "plate.svg"
    assert "<svg" in file.read_text()
    with pytest.raises(ConfigError, match=r"ends in .png"):
        write_plate([row(5, 11)], PAPER, tmp_path / "plate.jpg")
