"""What trials take: time, disk, and of a testbed's rate and memory, before any of them has run."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..contract.plan import Plan, PlannedTrial
from ..contract.scenario import Scenario
from ..contract.scenario_keys import BinnedPostcards
from ..contract.testbed import SMALL_PAGE_BYTES, Testbed
from ..contract.trial import Setting
from ..contract.units import PACKET_BYTES, Duration, bytes_in_flight

RAW_BYTES_PER_PACKET = 40
TABLE_BYTES_PER_PACKET = 24
SAMPLE_BYTES = 120
CAPTURED_BYTES = 144
"""Bytes of a captured data segment or ACK: 128 bytes of headers and the capture's own 16."""
GOODPUT_BYTES = 12
FIXED_BYTES = 100_000
"""Bytes of a trial's record and its small tables."""
PACKETS_PER_FULL_PACKET = 1.25
"""Packets for each full-sized packet of the rate: drops and short packets are extra."""
UNLIMITED = 2**62
LEAST_GUEST_PACKETS = 8192
"""Packet buffers of a guest whose queue and delay lines hold next to nothing."""
GUEST_BASE_BYTES = 110 * 10**6
"""What a guest takes whatever it carries: its kernel, its programs, and the data plane's tables;
measured: 72 MB, and 0.3 MB for each flow."""
GUEST_WINDOW_COPIES = 4
"""What is in flight is in the senders' buffers, and what waits for it at the receivers, with the
kernel's own overhead; measured: 0.6 (85 MB in flight) to 4.2 (15 MB)."""
REAL_OVERHEAD_S = 3.0
"""Wall-clock seconds of a trial besides its duration: connecting, draining, converting."""
# In virtual time, on one core: twice what `nashbed bench virtual` measured (10 to 100 flows,
# 50 Mbit/s to 1 Gbit/s) on a quiet machine, for others have taken two to three times as long.
BOOT_S = 0.8
"""Starting and ending the guest and its processes, converting and sealing."""
IDLE_S = 0.004
"""Computing time of each virtual second, whatever happens in it."""
PACKET_S = 4e-6
"""Computing time of each packet through the bottleneck, with its ACK and its postcard."""
FLOW_S = 2.2e-4
"""Computing time of each flow in each virtual second: its timers, and sampling its state."""
# As measured with four flows at 20 Mbit/s on a busy machine; aioquic and others may take more.
PROGRAM_PACKET_S = 3e-4
"""And of each of a program's, mostly system calls: ngtcp2 2.6e-4, quinn 3e-4."""
PROGRAM_S = 2.0
"""Starting a flow's server and client, and reading its qlog: ngtcp2 1.1, quinn 2, iperf3 3.6."""
TrialTime = Callable[[PlannedTrial], float]
"""Wall-clock seconds of a trial."""


@dataclass(frozen=True)
class Resources:
    """What a testbed has, or a trial takes.

    Attributes:
        rate_bps: Sum of bottleneck rates.
        packets: Packets in queues and delay lines.
        memory_bytes: Memory of guests, where each trial has a machine of its own.
    """

    rate_bps: int
    packets: int
    memory_bytes: int = UNLIMITED

    def covers(self, demand: Resources) -> bool:
        """Whether this is enough for a demand."""
        return (
            demand.rate_bps <= self.rate_bps
            and demand.packets <= self.packets
            and demand.memory_bytes <= self.memory_bytes
        )

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.rate_bps + other.rate_bps,
            self.packets + other.packets,
            self.memory_bytes + other.memory_bytes,
        )

    def __sub__(self, other: Resources) -> Resources:
        return Resources(
            self.rate_bps - other.rate_bps,
            self.packets - other.packets,
            self.memory_bytes - other.memory_bytes,
        )


NO_RESOURCES = Resources(0, 0, 0)
UNLIMITED_RESOURCES = Resources(UNLIMITED, UNLIMITED)
"""Where lanes share nothing: what one takes is not missing elsewhere."""


def resources_of(testbed: Testbed, plan: Plan | None = None) -> Resources:
    """What a testbed has; with a plan, the capacity that the plan was made for."""
    if plan is not None and plan.isolated:
        return UNLIMITED_RESOURCES
    capacity = testbed.capacity if plan is None else plan.capacity
    return Resources(capacity.rate.bps, testbed.dataplane.queue_packets)


def demand_of(setting: Setting) -> Resources:
    """What a trial takes."""
    return Resources(setting.most_rate_bps, held_packets(setting), guest_takes_bytes(setting))


def held_packets(setting: Setting) -> int:
    """Packets that a lane's queue and delay lines may hold: data, and an ACK for each."""
    return 2 * setting.largest_window_bytes // PACKET_BYTES + 64


def guest_packets(held_bytes: int) -> int:
    """Packet buffers of a guest: twice the full-sized packets that are held, and an ACK for each.

    Args:
        held_bytes: What queue and delay lines hold at most.
    """
    return max(LEAST_GUEST_PACKETS, 2 * 2 * held_bytes // PACKET_BYTES)


def guest_takes_bytes(setting: Setting) -> int:
    """The most memory that a guest is expected to take of this machine for a trial."""
    window_bytes = setting.largest_window_bytes
    buffers = guest_packets(window_bytes) * SMALL_PAGE_BYTES
    return GUEST_BASE_BYTES + buffers + GUEST_WINDOW_COPIES * window_bytes


def trial_time(virtual_time: bool, trial_ns: int, flows: int) -> TrialTime:
    """How long the trials of a plan take.

    Args:
        virtual_time: Whether they are computed as fast as that goes.
        trial_ns: Length of each whose setting says none.
        flows: Of each whose setting says none.
    """

    def takes(trial: PlannedTrial) -> float:
        setting = trial.setting
        own_ns = setting.duration_ns or trial_ns
        if virtual_time:
            own_flows = sum(setting.flow_counts or ()) or flows
            return virtual_seconds(own_ns, setting.rate_bps, own_flows, trial.program_flows)
        return real_seconds(own_ns)

    return takes


def planned_time(plan: Plan) -> TrialTime:
    """How long the trials of a plan take."""
    return trial_time(plan.virtual_time, plan.trial_ns, plan.flows_per_trial)


def real_seconds(trial_ns: int) -> float:
    """Wall-clock seconds of a trial in real time."""
    return Duration(trial_ns).seconds + REAL_OVERHEAD_S


def virtual_seconds(trial_ns: int, rate_bps: int, flows: int, of_programs: int = 0) -> float:
    """Wall-clock seconds of a trial in virtual time, on one core.

    Args:
        rate_bps: Rate of its bottleneck, which is taken to be busy.
        of_programs: So many of the flows are of programs, and have their share of the packets.
    """
    packets = rate_bps / (8 * PACKET_BYTES)
    a_packet = PACKET_S + PROGRAM_PACKET_S * of_programs / max(flows, 1)
    a_second = IDLE_S + packets * a_packet + flows * FLOW_S
    return BOOT_S + of_programs * PROGRAM_S + Duration(trial_ns).seconds * a_second


def speed_ups(plan: Plan) -> tuple[float, float]:
    """How many times faster than the clock a trial is computed: the slowest and the fastest."""
    takes = planned_time(plan)
    ratios = [plan.seconds_of(each.setting) / takes(each) for each in plan.trials]
    return min(ratios), max(ratios)


def estimate_seconds(
    trials: Sequence[PlannedTrial], takes: TrialTime, lanes: int, available: Resources
) -> float:
    """Wall-clock seconds of trials packed by rate, packet memory and number of lanes.

    Args:
        trials: In the order of their start.
        lanes: At most so many at once.
    """
    running: list[tuple[float, int, Resources]] = []
    now, free = 0.0, available
    for number, trial in enumerate(trials):
        demand = demand_of(trial.setting)
        while running and (len(running) >= lanes or not free.covers(demand)):
            now, _, released = heapq.heappop(running)
            free += released
        heapq.heappush(running, (now + takes(trial), number, demand))
        free -= demand
    return max((end for end, _, _ in running), default=0.0)


def mean_seconds(trials: Sequence[PlannedTrial], takes: TrialTime) -> float:
    """Wall-clock seconds of an average one of some trials.

    Args:
        trials: At least one.
    """
    return sum(takes(trial) for trial in trials) / len(trials)


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
    samples = scenario.longest.ns // telemetry.tcp_info.ns * scenario.lasting_flows
    intervals = scenario.longest.ns // telemetry.goodput.ns * scenario.lasting_flows
    postcards = _kept_records(scenario, setting) * TABLE_BYTES_PER_PACKET
    captured = 0
    if telemetry.capture:
        places = 2 if telemetry.capture == "both" else 1
        captured = 2 * places * _trial_packets(scenario, setting) * CAPTURED_BYTES
    return captured + postcards + samples * SAMPLE_BYTES + intervals * GOODPUT_BYTES + FIXED_BYTES


def raw_trial_bytes(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of a trial's raw postcards, which are on disk until their conversion."""
    return _kept_records(scenario, setting) * RAW_BYTES_PER_PACKET


def _trial_packets(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of the packets that reach the bottleneck in a trial."""
    full = bytes_in_flight(setting.most_rate_bps, scenario.longest.ns) // PACKET_BYTES
    media = sum(g.udp.packets(scenario.longest.ns) * g.count for g in scenario.flows if g.udp)
    return int(full * PACKETS_PER_FULL_PACKET) + media + 1000


def _kept_records(scenario: Scenario, setting: Setting) -> int:
    """Upper estimate of the postcards or bins that a trial keeps."""
    postcards = scenario.telemetry.postcards
    if isinstance(postcards, BinnedPostcards):
        return scenario.longest.ns // postcards.bins.ns * scenario.lasting_flows
    return _trial_packets(scenario, setting)
