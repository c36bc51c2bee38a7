"""The published series of the exhaustive panels are those of the published files."""

import csv
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_scenario
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries

FOLDER = Path(__file__).resolve().parents[4] / "configs" / "scenarios" / "srivastava2023"
FILES = ("panel-exhaustive", "panel-100mbit-exhaustive")
FORMS = [f"{file}{form}" for file in FILES for form in ("", "-short")]
Points = list[tuple[float, float]]


def scenario_of(name: str) -> Scenario:
    return load_scenario(FOLDER / f"{name}.yaml").model


def published(scenario: Scenario, file: str, buffer: float) -> list[dict[str, str]]:
    """The rows of a published file about one of the scenario's buffers."""
    place = scenario.bottleneck.rate.bps / 1e6, scenario.flows[0].base_rtt.ns / 1e6, buffer
    keys = ("bandwidth_mbps", "base_rtt_ms", "buffer_bdp")
    with (FOLDER / "published" / file).open(newline="") as text:
        return [r for r in csv.DictReader(text) if tuple(float(r[k]) for k in keys) == place]


def buffers(scenario: Scenario) -> list[float]:
    return [float(str(buffer).removesuffix("bdp")) for buffer in scenario.sweep.buffer]


def points(series: ReferenceSeries) -> Points:
    return list(zip(series.x, series.y, strict=True))


@pytest.mark.parametrize("name", FORMS)
def test_published_mixes(name: str) -> None:
    scenario = scenario_of(name)
    mixes = [s for s in scenario.reference if s.axis == "mix"]
    assert [s.buffer for s in mixes] == list(scenario.sweep.buffer)
    for series, buffer in zip(mixes, buffers(scenario), strict=True):
        assert (series.strategy, series.quantity) == ("bbr", "aggregate")
        assert (series.rate, series.base_rtt) == (
            scenario.bottleneck.rate, scenario.flows[0].base_rtt,
        )  # fmt: skip
        rows = published(scenario, "fabric_mixes.csv", buffer)
        assert len(rows) == 51
        valid = [r for r in rows if not r["valid"].startswith("INVALID")]
        assert points(series) == [(float(r["n_bbr"]), float(r["bbr_agg_mbps"])) for r in valid]


@pytest.mark.parametrize("name", FORMS)
def test_published_equilibria(name: str) -> None:
    scenario = scenario_of(name)
    (series,) = (s for s in scenario.reference if s.quantity == "equilibrium")
    assert (series.strategy, series.axis) == ("cubic", "buffer_bdp")
    expected = [
        (buffer, float(count))
        for buffer in buffers(scenario)
        for row in published(scenario, "fabric_equilibria.csv", buffer)
        for count in row["n_cubic_at_NE_all"].split()
    ]
    assert points(series) == expected


@pytest.mark.parametrize("name", FILES)
def test_every_published_mix_is_run(name: str) -> None:
    scenario = scenario_of(name)
    assert buffers(scenario) == [0.5, 5, 10, 20, 30, 40, 50]
    assert (scenario.total_flows, scenario.sweep.mixes) == (50, "all")
    assert (scenario.trials, scenario.longest.seconds) == (1, 120)
    assert scenario.equilibrium.search == "exhaustive"
