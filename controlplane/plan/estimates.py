"""How long trials take and how much disk they need, before any of them has run."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate

from ..contract.plan import PlannedTrial
from ..contract.scenario import BinnedPostcards, SampledPostcards, Scenario
from ..contract.trial import Setting
from ..contract.units import PACKET_BYTES, bytes_in_flight
from .resources import NO_RESOURCES, Resources, demand_of
from .trial_time import TrialTime

RAW_BYTES_PER_PACKET = 40
TABLE_BYTES_PER_PACKET = 24
SAMPLE_BYTES = 120
CAPTURED_BYTES = 144
"""Of a captured data segment or ACK: 128 bytes of headers and the capture's own 16."""
GOODPUT_BYTES = 12
FIXED_BYTES = 100_000
"""Of a trial's record and the small tables."""
PACKETS_PER_FULL_PACKET = 1.25
"""Packets for each full-sized packet of the rate: drops and short packets are extra."""


def estimate_seconds(
    trials: Sequence[PlannedTrial], takes: TrialTime, lanes: int, available: Resources
) -> float:
    """Wall-clock seconds of trials packed by rate, packet memory and number of lanes.

    Args:
        trials: In the order of their start.
        takes: How long each runs.
        lanes: At most so many at once.
        available: What they may take at once.
    """
    running: list[tuple[float, int, Resources]] = []
    now, free = 0.0, available
    for number, trial in enumerate(trials):
        demand = demand_of(trial.setting)
        while running and (len(running) >= lanes or not free.covers(demand)):
            now, _, released = heapq.heappop(running)
            free += released
        heapq.heappush(running, (now + takes(trial.setting), number, demand))
        free -= demand
    return max((end for end, _, _ in running), default=0.0)


def mean_seconds(trials: Sequence[PlannedTrial], takes: TrialTime) -> float:
    """Wall-clock seconds of an average one of some trials.

    Args:
        trials: At least one.
        takes: How long each runs.
    """
    return sum(takes(trial.setting) for trial in trials) / len(trials)


def most_at_once(trials: Sequence[PlannedTrial], lanes: int, available: Resources) -> int:
    """The most trials that can ever run side by side: those that take least, of each resource.

    Args:
        trials: At least one.
        lanes: At most so many.
        available: What they may take at once; a single one always runs.
    """
    demands = [demand_of(trial.setting) for trial in trials]
    by_rate = _fitting([demand.rate_bps for demand in demands], available.rate_bps)
    by_packets = _fitting([demand.packets for demand in demands], available.packets)
    by_memory = _fitting([demand.memory_bytes for demand in demands], available.memory_bytes)
    return max(1, min(lanes, by_rate, by_packets, by_memory))


def _fitting(parts: Sequence[int], whole: int) -> int:
    """How many of the smallest parts fit into a whole."""
    return sum(total <= whole for total in accumulate(sorted(parts)))


def trials_at_once(trials: Sequence[PlannedTrial], lanes: int, available: Resources) -> int:
    """Trials side by side: each of the largest rate, and of the average memory."""
    demands = [demand_of(trial.setting) for trial in trials]
    by_rate = available.rate_bps // max(demand.rate_bps for demand in demands)
    total = sum(demands, NO_RESOURCES)
    by_packets = available.packets * len(demands) // total.packets
    by_memory = available.memory_bytes * len(demands) // total.memory_bytes
    return max(1, min(lanes, by_rate, by_packets, by_memory))


def trial_table_bytes(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of a sealed trial's size in bytes."""
    telemetry = scenario.telemetry
    samples = scenario.longest.ns // telemetry.tcp_info.ns * scenario.total_flows
    intervals = scenario.longest.ns // telemetry.goodput.ns * scenario.total_flows
    postcards = _kept_records(scenario, setting) * TABLE_BYTES_PER_PACKET
    captured = 0
    if telemetry.capture:
        places = 2 if telemetry.capture == "both" else 1
        captured = 2 * places * _trial_packets(scenario, setting) * CAPTURED_BYTES
    return captured + postcards + samples * SAMPLE_BYTES + intervals * GOODPUT_BYTES + FIXED_BYTES


def raw_bytes(scenario: Scenario, trials: Sequence[PlannedTrial], lanes: int) -> int:
    """Raw postcards of the trials that are on disk at once, before their conversion."""
    largest = max((_kept_records(scenario, trial.setting) for trial in trials), default=0)
    return largest * RAW_BYTES_PER_PACKET * min(lanes, len(trials))


def _trial_packets(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of the packets that reach the bottleneck in a trial."""
    full = bytes_in_flight(setting.rate_bps, scenario.longest.ns) // PACKET_BYTES
    return int(full * PACKETS_PER_FULL_PACKET) + 1000


def _kept_records(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of the postcards or bins that a trial keeps."""
    postcards = scenario.telemetry.postcards
    if isinstance(postcards, SampledPostcards):
        return _trial_packets(scenario, setting) // postcards.sample + 1
    if isinstance(postcards, BinnedPostcards):
        return scenario.longest.ns // postcards.bins.ns * scenario.total_flows
    return _trial_packets(scenario, setting)
