"""How cost grows: with lanes, with flows, with postcards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..contract.benchmark import Benchmark
from ..contract.units import Rate
from ..machine.log import ShowStep
from .cpu import bench_cpu, cpu_traffic
from .replay import BURST, bench_replay
from .site import BenchSite

LANES = (1, 2, 4, 8, 16, 32, 64)
TOTAL = Rate(192 * 10**6)
"""Shared by all lanes, so that more lanes are not more packets."""
FLOWS_OF_A_LANE = 4
LANE_SECONDS = 8.0
FLOWS = (10, 50, 200, 1000, 5000)
REPLAY_PACKETS = 1_000_000
POSTCARDS = (10**5, 10**6, 10**7, 10**8)
REPETITIONS = 3

Analysis = Callable[[int, int, Path | None], tuple[Benchmark, ...]]
"""Reads postcards: (how many, how often, folder) -> speed and peak memory."""


@dataclass(frozen=True)
class Series:
    """One cost against one size.

    Attributes:
        name: What it is: `dataplane_ns_by_lanes`.
        label: What it is, for a legend.
        x_label: The size.
        y_label: The cost, with its unit.
        x: Sizes, smallest first.
        y: Costs, of the same length.
    """

    name: str
    label: str
    x_label: str
    y_label: str
    x: tuple[int, ...]
    y: tuple[float, ...]


def by_lanes(site: BenchSite, show_step: ShowStep, sizes: Sequence[int] = LANES) -> list[Series]:
    """Processor time per packet of loop and flow generators, live, at the same total rate."""
    costs: dict[str, list[float]] = {}
    for done, lanes in enumerate(sizes):
        show_step(f"{lanes} lanes", done, len(sizes))
        traffic = cpu_traffic(lanes, Rate(TOTAL.bps // lanes), FLOWS_OF_A_LANE, LANE_SECONDS)
        for cost in bench_cpu(site, traffic, 1, lambda *_: None):
            costs.setdefault(cost.name, []).append(cost.median)
    return [
        Series(
            name=f"{name}_by_lanes",
            label=label,
            x_label=f"lanes ({TOTAL} in all)",
            y_label="CPU time per packet (ns)",
            x=tuple(sizes),
            y=tuple(costs[name]),
        )
        for name, label in (
            ("cpu_per_packet_ns_dataplane", "data plane"),
            ("cpu_per_packet_ns_flows", "flow generator"),
        )
    ]


def by_flows(show_step: ShowStep, sizes: Sequence[int] = FLOWS) -> list[Series]:
    """Time per packet through the whole path in memory."""
    costs = []
    for done, flows in enumerate(sizes):
        show_step(f"{flows} flows", done, len(sizes))
        (speed,) = bench_replay(REPLAY_PACKETS, REPETITIONS, flows, BURST)
        costs.append(1e3 / speed.median)
    return [
        Series(
            name="replay_ns_by_flows",
            label="P4 and queue, in memory",
            x_label="flows in one lane",
            y_label="time per packet (ns)",
            x=tuple(sizes),
            y=tuple(costs),
        )
    ]


def by_postcards(
    read: Analysis, folder: Path | None, show_step: ShowStep, sizes: Sequence[int] = POSTCARDS
) -> list[Series]:
    """Time and peak memory of the analysis; from few to many, for the peak is the process's."""
    seconds, memory = [], []
    for done, postcards in enumerate(sizes):
        show_step(f"{postcards} postcards", done, len(sizes))
        speed, peak = read(postcards, 1, folder)
        seconds.append(postcards / speed.median / 1e6)
        memory.append(peak.median)
    return [
        Series(
            "analysis_s_by_postcards", "time", "postcards", "time (s)", tuple(sizes), tuple(seconds)
        ),
        Series(
            "analysis_mib_by_postcards",
            "peak memory",
            "postcards",
            "MiB",
            tuple(sizes),
            tuple(memory),
        ),
    ]
