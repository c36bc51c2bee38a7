"""The panel's benchmarks: minutes, and how far each buffer is from the published equilibrium."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashbed.controlplane.bench.panel import PANEL, Settled, measured
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.config import load_scenario


def settled(bdp: float, found: tuple[int, ...], published: int) -> Settled:
    return Settled(bdp, found, (), published, mixes=9)


def test_the_nearest_equilibrium_counts() -> None:
    assert settled(10, (12, 22), 20).off == 2
    assert Settled(10, (), (25,), 20, 9).off == 5
    assert Settled(10, (), (), 20, 9).off is None


def test_shallow_buffers_are_told_but_not_judged() -> None:
    minutes, worst = measured(
        900.0, 60, [settled(5, (0,), 9), settled(10, (23,), 20), settled(50, (42,), 43)]
    )
    assert (minutes.median, minutes.met) == (15.0, True)
    assert (worst.median, worst.met) == (3.0, True)
    assert "5 BDP: 0 CUBIC (published 9)" in worst.detail
    assert [row["off"] for row in minutes.data["buffers"]] == [9, 3, 1]


def test_a_buffer_without_an_equilibrium_is_not_met() -> None:
    _, worst = measured(900.0, 60, [settled(10, (20,), 20), Settled(20, (), (), 27, 9)])
    assert not worst.met
    assert "20 BDP: none CUBIC" in worst.detail


def test_every_buffer_has_its_published_equilibrium() -> None:
    scenario = load_scenario(PANEL).model
    (reference,) = scenario.reference
    assert len(scenario.sweep.buffer) == len(reference.x) == 7


def test_the_projection_runs_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli(["bench", "panel", "--out", str(tmp_path), "--json"]) in (0, 20)
    (benchmark,) = json.loads(capsys.readouterr().out)["figures"]
    assert benchmark["name"] == "panel_minutes_projected"
    assert list(tmp_path.iterdir()) == []
