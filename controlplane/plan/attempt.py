"""One attempt at a planned trial: its flows, and what target and flow generators are asked to do.

Everything about it is decided before it runs.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from ..contract.applications import TCP_PROTOCOL, UDP, UDP_PROTOCOL
from ..contract.course import (
    PROBE_RTT_CYCLE_NS,
    SettledDuration,
    most_jitter_ns,
    planned_start_ns,
)
from ..contract.flow_group import FlowGroup
from ..contract.link import Departures
from ..contract.link_changes import losses_of
from ..contract.plan import PlannedTrial
from ..contract.program import FlowProgram
from ..contract.queues import FlowKind
from ..contract.scenario import Scenario, most_flows_at_any_setting
from ..contract.scenario_keys import BinnedPostcards
from ..contract.shared import (
    FIRST_SENDER_PORT,
    SINK_PORT,
    receiver_address,
    sender_address,
)
from ..contract.target import FlowEntry, LaneProgram, TelemetryPlan
from ..contract.trial import Setting, scenario_at
from .paths import group_delays
from .seeds import derive
from .transfers import Transfer, draw_sizes, draw_transfers

Role = Literal["sender", "sink", "reverse_sender", "reverse_sink"]
"""A flow generator; data of the last two takes the way of the others' acknowledgements."""
REVERSE = "reverse"
"""Folder of the raw files of generators whose data takes the way back."""
REVERSE_PREFIX = f"{REVERSE}_"
CONNECT_TIMEOUT_NS = 20 * 10**9
HOUR_NS = 3600 * 10**9
LONGEST_DRAIN_NS = 3000 * 10**9
"""Of queues, at the end of a trial: a flow generator waits for an hour with all that is added."""
SYN_BITS = 8 * 74
DRAIN_MARGIN_NS = 500_000_000
ENDING_TRANSFERS = 1000
"""Transfers that are under way when a trial ends, at the most that time is left for."""
END_NS = 400_000
"""Time to end a flow: a last sample of its socket, and its reset; 0.13 ms with 5,000 flows."""


@dataclass(frozen=True)
class TrialFlow:
    """One flow.

    Attributes:
        index: Its number in the lane, over all groups.
        group: Index of its flow group.
        cc: Requested CCA.
        start_ns: Start after the common start t0; 0 for the flow of an iperf3 process.
        process: The iperf3 process that it would belong to.
        dscp: What its sockets set; 0: nothing.
        queue: Which of several queues its flow entry says; BY_DSCP: its packets' DSCP does.
        mixed: Whether it is part of the mix; if not, it is background.
        size_bytes: What its transfer brings; 0: it sends until the end.
        kept: Whether its connection may carry further transfers.
        reverse: Whether its data takes the way of the others' acknowledgements: its sender is
            among the receivers then, and its sink among the senders.
        program: What makes it; None: our flow generator.
    """

    index: int
    group: int
    group_name: str
    cc: str
    base_rtt_ns: int
    src: str
    dst: str
    sport: int
    start_ns: int
    dport: int = SINK_PORT
    process: int = 0
    ecn: bool = False
    dscp: int = 0
    queue: int = 0
    mixed: bool = True
    size_bytes: int = 0
    kept: bool = False
    reverse: bool = False
    program: FlowProgram | None = None

    @property
    def is_transfer(self) -> bool:
        """Whether it ends when its transfer is complete."""
        return self.size_bytes > 0

    @property
    def protocol(self) -> int:
        """Its IP protocol."""
        if self.program is not None:
            return self.program.protocol
        return UDP_PROTOCOL if self.cc == UDP else TCP_PROTOCOL


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    Attributes:
        scenario: The scenario as it is at the setting, with this attempt's start.
        folder: Where its files go until it is sealed.
        lane_flows: Flows that each lane has room for in the flow table.
    """

    scenario: Scenario
    trial: PlannedTrial
    number: int
    lane: int
    folder: Path
    seed: int
    flows: tuple[TrialFlow, ...]
    lane_flows: int

    @property
    def id(self) -> str:
        """The trial id."""
        return self.trial.attempt_id(self.number)

    @property
    def first_flow(self) -> int:
        """Flow table id of flow 0: every lane has a range of its own."""
        return self.lane * self.lane_flows

    @property
    def raw_telemetry(self) -> Path:
        """Where the data plane writes raw records."""
        return self.folder / "telemetry.raw"

    @property
    def can_mark(self) -> bool:
        """Whether postcards can say more than drop-tail's: flows have ECN, or drops a reason."""
        lane = self.trial.setting
        several = not lane.is_droptail or lane.drops_before_queue
        return several or any(flow.ecn for flow in self.flows)

    @property
    def has_reverse(self) -> bool:
        """Whether data of some flows takes the way of the others' acknowledgements."""
        return any(flow.reverse for flow in self.flows)

    @property
    def roles(self) -> tuple[Role, ...]:
        """The flow generators that it needs: sinks first, which listen when senders connect."""
        every: tuple[Role, ...] = ("sink", "reverse_sink", "sender", "reverse_sender")
        return tuple(role for role in every if self.flows_of(role))

    def flows_of(self, role: Role) -> tuple[TrialFlow, ...]:
        """The flows of a generator."""
        reverse = role.startswith(REVERSE_PREFIX)
        return tuple(f for f in self.flows if f.reverse == reverse and f.program is None)

    @property
    def program_flows(self) -> tuple[tuple[TrialFlow, ...], ...]:
        """The flows that programs make: those of each process, in the order in which they start."""
        processes: dict[int, list[TrialFlow]] = {}
        for flow in self.flows:
            if flow.program is not None:
                processes.setdefault(flow.dport, []).append(flow)
        return tuple(sorted(map(tuple, processes.values()), key=lambda flows: flows[0].start_ns))

    def generator_folder(self, role: Role) -> Path:
        """Where a generator writes its raw files."""
        return self.folder / REVERSE if role.startswith(REVERSE_PREFIX) else self.folder

    def program(self) -> LaneProgram:
        """What the target is asked to do."""
        return LaneProgram(
            lane=self.lane,
            bottleneck=self.trial.setting,
            delays=group_delays(
                self.scenario,
                self.trial.setting,
                self.seed,
                losses_of(self.scenario.bottleneck.changes),
            ),
            flows=flow_table(self.flows, self.first_flow),
            seed=derive(self.seed, "machine"),
            kernel=self.trial.setting.kernel,
            module_parameters=self.scenario.module_parameters,
        )

    def telemetry(self) -> TelemetryPlan:
        """Which postcards are recorded, and where."""
        postcards = self.scenario.telemetry.postcards
        plan = partial(
            TelemetryPlan,
            path=self.raw_telemetry,
            first_flow=self.first_flow,
            flows=len(self.flows),
        )
        if isinstance(postcards, BinnedPostcards):
            overtaken_ns = overtaken_for_ns(self.scenario, self.trial)
            return plan("bins", bin_ns=postcards.bins.ns, overtaken_ns=overtaken_ns)
        return plan("all")


def make_attempt(
    scenario: Scenario, trial: PlannedTrial, number: int, lane: int, folder: Path
) -> Attempt:
    """Decide an attempt: its seed is the scenario's, hashed with the trial id or the repetition.

    Its scenario is the one that it is asked for, as it is at its setting, with the start of its
    repetition.
    """
    own = scenario_at(scenario, trial.setting)
    starts = own.starts()
    own = own.model_copy(update={"start": starts[trial.repetition % len(starts)]})
    name = trial.attempt_id(number)
    seed = derive(
        scenario.seed, f"r{trial.repetition}-a{number}" if scenario.paired_seeds else name
    )
    flows = trial_flows(own, trial, seed, lane)
    lane_flows = most_flows_at_any_setting(scenario)
    return Attempt(own, trial, number, lane, folder, seed, flows, lane_flows)


def trial_flows(
    scenario: Scenario, trial: PlannedTrial, seed: int, lane: int
) -> tuple[TrialFlow, ...]:
    """The flows of a trial on a lane; group by group, strategy by strategy, background last.

    Args:
        seed: The attempt's seed; each flow's jitter has a seed of its own.
    """
    kinds = _kinds(scenario, trial, seed)
    process_of = processes([(number, cc) for number, cc, _ in kinds])
    sizes = {
        number: draw_sizes(group, derive(seed, "transfers", number))
        for number, group in enumerate(scenario.flows)
        if group.ends
    }
    flows = []
    firsts: dict[tuple[int, str], int] = {}
    for index, (number, cc, transfer) in enumerate(kinds):
        group = scenario.flows[number]
        program = scenario.programs[cc].program if cc in scenario.programs else None
        first = firsts.setdefault((number, cc), index)
        begins_ns = start_ns(scenario, group, cc, index, trial.repetition, seed)
        ends = sender_address(lane, number), receiver_address(lane, number)
        src, dst = reversed(ends) if group.reverse else ends
        transfer_bytes = 0 if transfer is None else transfer.size_bytes
        flows.append(
            TrialFlow(
                index=index,
                group=number,
                group_name=group.name,
                cc=cc,
                base_rtt_ns=trial.setting.base_rtt_ns[number],
                src=src,
                dst=dst,
                sport=FIRST_SENDER_PORT + index,
                dport=SINK_PORT if program is None else _receiver_port(program, index, first),
                start_ns=begins_ns if transfer is None else transfer.arrival_ns,
                process=process_of[index],
                ecn=_asks_for_ecn(scenario, group, cc),
                dscp=group.dscp or 0,
                queue=entry_queue(trial, FlowKind(cc, group.name, group.dscp)),
                mixed=group.mixed,
                size_bytes=next(sizes[number]) if group.ends else transfer_bytes,
                kept=group.connections == "kept",
                reverse=group.reverse,
                program=program,
            )
        )
    return tuple(flows)


def _asks_for_ecn(scenario: Scenario, group: FlowGroup, cc: str) -> bool:
    """Whether our flow generator is to ask for ECN."""
    is_ours = group.udp is None and cc not in scenario.programs
    return is_ours and scenario.hosts.negotiates_ecn(cc, group.name)


def _receiver_port(program: FlowProgram, index: int, first: int) -> int:
    """A process of a program has its first flow's port at both ends.

    Args:
        first: That of the first flow of its group and strategy.
    """
    return FIRST_SENDER_PORT + (first if program.has("flows") else index)


def _kinds(
    scenario: Scenario, trial: PlannedTrial, seed: int
) -> list[tuple[int, str, Transfer | None]]:
    """Group, strategy and transfer of each flow: those of the mix, then background."""
    kinds: list[tuple[int, str, Transfer | None]] = [
        (mix.group, cc, None)
        for mix in trial.mix
        for cc, count in mix.counts.items()
        for _ in range(count)
    ]
    shares = Counter(cc for _, cc, _ in kinds)
    for number, group in enumerate(scenario.flows):
        if group.arrivals is not None:
            its_own = derive(seed, "transfers", number)
            drawn = draw_transfers(group, scenario.longest.ns, shares, its_own)
            kinds += [(number, transfer.cc, transfer) for transfer in drawn]
        elif not group.mixed:
            kinds += [(number, group.runs, None)] * group.count
    return kinds


def start_ns(
    scenario: Scenario, group: FlowGroup, strategy: str, index: int, repetition: int, seed: int
) -> int:
    """When a flow starts after the common start t0.

    An iperf3 process decides by itself when its flows start: 0. Background starts at its group's
    offset: the scenario's start is that of the mix.

    Args:
        seed: The attempt's; each flow's jitter has a seed of its own.
    """
    if scenario.start == "iperf3":
        return 0
    settles = isinstance(scenario.duration, SettledDuration)
    start = scenario.start if group.mixed else "together"
    most = most_jitter_ns(start, scenario.start_jitter, settles and group.mixed, repetition)
    jitter = random.Random(derive(seed, "start", index)).randint(0, most)  # noqa: S311 - no secret
    return group.start_offset.ns + planned_start_ns(start, strategy, index) + jitter


def processes(flows: Sequence[tuple[int, str]]) -> list[int]:
    """The iperf3 process of each flow: one for each strategy and group, in order of appearance.

    Args:
        flows: Group and strategy of each flow.
    """
    numbers: dict[tuple[int, str], int] = {}
    return [numbers.setdefault(flow, len(numbers)) for flow in flows]


def entry_queue(trial: PlannedTrial, kind: FlowKind) -> int:
    """Which of several queues the table entries of such flows say."""
    queues = trial.setting.queues
    return 0 if queues is None else queues.entry_of(kind)


def flow_table(flows: tuple[TrialFlow, ...], first: int) -> tuple[FlowEntry, ...]:
    """Flow table entries, of what comes from the senders' side; ids count from the lane's first.

    Of a flow whose data takes the way back these are its acknowledgements.
    """
    return tuple(_flow_entry(flow, first) for flow in flows)


def _flow_entry(flow: TrialFlow, first: int) -> FlowEntry:
    ends = (flow.src, flow.sport), (flow.dst, flow.dport)
    (src, sport), (dst, dport) = reversed(ends) if flow.reverse else ends
    return FlowEntry(
        flow=first + flow.index,
        src=src,
        dst=dst,
        sport=sport,
        dport=dport,
        queue=flow.queue,
        proto=flow.protocol,
    )


def overtaken_for_ns(scenario: Scenario, trial: PlannedTrial) -> int:
    """How long before another a packet may have arrived that leaves after it.

    The whole buffer may be one flow's, which gets its fair share of the rate, or a tenth of it
    (dualpi2's classic queue); what a user's own discipline does is not known. One of several queues
    may wait as long as others have packets.
    """
    setting = trial.setting
    if setting.queues is None and setting.queue.is_in_order:
        return 0
    longest_ns = scenario.longest.ns + drain_ns(scenario, trial)
    if setting.queues is not None or setting.queue.file:
        return longest_ns
    flows = scenario.most_flows
    empties_ns = emptied_ns(scenario, setting)
    return min(longest_ns, 2 * max(10, flows) * empties_ns)


def emptied_ns(scenario: Scenario, setting: Setting) -> int:
    """How long a full queue takes to empty: at worst, where the link changes, begun at its end.

    A full queue may also come to wait for the slowest rate that a change has brought.
    """
    if not setting.is_scheduled:
        return setting.buffer_bytes * 8 * 10**9 // setting.rate_bps
    end_ns, bits = scenario.longest.ns, 8 * setting.most_buffer_bytes
    times = {end_ns, *(change.at_ns for change in setting.changes)}
    return max(Departures(setting.link).leave(at, bits) - at for at in times)


def drain_ns(scenario: Scenario, trial: PlannedTrial) -> int:
    """How long after the senders' end the last byte may reach a sink: queue, RTT, margin.

    Flows are ended one after the other: thousands of them take the sender a while.
    """
    setting = trial.setting
    queue_ns = emptied_ns(scenario, setting)
    transfers = scenario.most_flows - scenario.lasting_flows
    flows = scenario.lasting_flows + min(transfers, ENDING_TRANSFERS)
    if setting.back is not None:
        queue_ns += setting.back.longest_ns
    return queue_ns + 2 * setting.longest_rtt_ns + DRAIN_MARGIN_NS + flows * END_NS


def connect_timeout_ns(scenario: Scenario, trial: PlannedTrial) -> int:
    """How long connecting may take: with iperf3 every stream may have to wait for a full queue."""
    if scenario.start != "iperf3":
        return CONNECT_TIMEOUT_NS
    setting = trial.setting
    queue_ns = setting.buffer_bytes * 8 * 10**9 // setting.rate_bps
    a_stream_ns = setting.longest_rtt_ns + queue_ns
    return min(HOUR_NS, CONNECT_TIMEOUT_NS + scenario.lasting_flows * a_stream_ns)


def span_ns(scenario: Scenario, trial: PlannedTrial) -> int:
    """The most that can pass from t0 to the end of the last flow."""
    late_ns = connect_timeout_ns(scenario, trial) if scenario.start == "iperf3" else 0
    return scenario.longest.ns + late_ns


def probe_rtt_cycle_ns(trial: PlannedTrial) -> int:
    """From one ProbeRTT phase to the next: the phase itself lasts a round trip longer."""
    return PROBE_RTT_CYCLE_NS + max(trial.setting.base_rtt_ns)


def progress_ns(scenario: Scenario, trial: PlannedTrial) -> int:
    """How often a sink tells what has arrived; 0: never. Whole ProbeRTT cycles are compared."""
    return probe_rtt_cycle_ns(trial) if isinstance(scenario.duration, SettledDuration) else 0
