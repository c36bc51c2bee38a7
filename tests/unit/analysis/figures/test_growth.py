"""How cost grows: which series stands in which panel, on which axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures import growth
from tests.support.drawn import lines_of, points


def series(name: str, label: str, y_label: str, y: list[float]) -> dict[str, Any]:
    return {"name": name, "label": label, "x_label": f"x of {label}", "y_label": y_label,
            "x": [1, 10, 100], "y": y}  # fmt: skip


ALL = [
    series("cpu_per_packet_ns_dataplane_by_lanes", "data plane", "us", [10.0, 11.0, 12.0]),
    series("cpu_per_packet_ns_flows_by_lanes", "flows", "us", [1.0, 3.0, 9.0]),
    series("replay_ns_by_flows", "replay", "ns", [300.0, 310.0, 320.0]),
    series("analysis_s_by_postcards", "time", "s", [0.1, 1.0, 10.0]),
    series("analysis_mib_by_postcards", "memory", "MiB", [300.0, 310.0, 320.0]),
]


@pytest.fixture
def figure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Figure:
    saved: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, path: saved.append(self))
    growth.draw_growth(ALL, tmp_path / "growth.png")
    (drawn,) = saved
    return drawn


def test_each_series_in_its_panel(figure: Figure) -> None:
    lanes, flows, postcards, memory = figure.axes
    titles = [ax.get_title(loc="left") for ax in (lanes, flows, postcards)]
    assert titles == ["Lanes", "Flows", "Postcards"]
    assert points(lines_of(lanes)["data plane"]) == ([1, 10, 100], [10, 11, 12])
    assert points(lines_of(lanes)["flows"]) == ([1, 10, 100], [1, 3, 9])
    assert points(lines_of(flows)["replay"])[1] == [300, 310, 320]
    assert points(lines_of(postcards)["time"])[1] == [0.1, 1, 10]
    assert points(lines_of(memory)["memory"])[1] == [300, 310, 320]


def test_axes(figure: Figure) -> None:
    lanes, flows, postcards, memory = figure.axes
    assert [ax.get_xscale() for ax in (lanes, flows, postcards)] == ["log"] * 3
    # Logarithmic where the panel's values differ by more than three times.
    assert [ax.get_yscale() for ax in (lanes, flows, postcards)] == ["log", "linear", "log"]
    assert flows.get_ylim() == pytest.approx((0, 1.15 * 320))
    assert [lanes.get_ylabel(), flows.get_ylabel(), postcards.get_ylabel()] == ["us", "ns", "s"]
    assert memory.get_ylabel() == "memory (MiB)"
    assert postcards.get_xlabel() == "x of time"
    # One legend where two series share an axis; a second axis is named instead.
    assert [bool(ax.get_legend()) for ax in (lanes, flows, postcards)] == [True, False, False]
