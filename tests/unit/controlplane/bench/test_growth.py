"""Cost against size: every size is measured once, and drawn."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from nashbed.analysis.figures.growth import draw_growth
from nashbed.controlplane.bench import growth
from nashbed.controlplane.bench.postcards import bench_analysis
from nashbed.controlplane.cli.bench_text import growth_text
from nashbed.controlplane.contract.benchmark import Benchmark


def silent(*_: object) -> None:
    return None


@pytest.fixture
def series(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[growth.Series]:
    """Lanes and flows by fakes that name the size in their answer; postcards for real."""

    def cpu(place, traffic, repetitions, tell):
        assert traffic.lanes * traffic.rate.bps == growth.TOTAL.bps
        names = ("cpu_per_packet_ns_dataplane", "cpu_per_packet_ns_flows")
        return tuple(Benchmark(name=n, unit="ns", values=(100.0 * traffic.lanes,)) for n in names)

    def replay(packets, repetitions, flows, burst):
        return (Benchmark(name="replay_mpps", unit="", values=(1000.0 / flows,)),)

    monkeypatch.setattr(growth, "bench_cpu", cpu)
    monkeypatch.setattr(growth, "bench_replay", replay)
    return [
        *growth.by_lanes(None, silent, (1, 4)),
        *growth.by_flows(silent, (10, 50)),
        *growth.by_postcards(bench_analysis, tmp_path, silent, (1000, 20_000)),
    ]


def test_series(series: list[growth.Series]) -> None:
    lanes, generators, flows, seconds, memory = series
    assert (lanes.x, lanes.y) == ((1, 4), (100.0, 400.0))
    assert generators.name == "cpu_per_packet_ns_flows_by_lanes"
    assert flows.y == (10.0, 50.0)
    assert seconds.x == (1000, 20_000)
    assert 0 < memory.y[0] <= memory.y[1]


@pytest.mark.slow
def test_text_and_plot(series: list[growth.Series], tmp_path: Path) -> None:
    assert "  10: 10   50: 50" in growth_text(series).splitlines()
    draw_growth([asdict(each) for each in series], tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
