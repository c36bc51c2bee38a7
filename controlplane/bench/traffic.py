"""Flows of some lanes as trials have them, measured from warm-up to end, and judged by nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..contract.certificate import CoreShares
from ..contract.errors import TargetError
from ..contract.flow_group import FlowGroup
from ..contract.messages.dataplane import SharedCounters
from ..contract.plan import PlannedTrial
from ..contract.records import GOODPUT
from ..contract.scenario import Scenario
from ..contract.scenario_keys import Bottleneck
from ..contract.shared import CONSTANTS
from ..contract.target import LaneProgram
from ..contract.trial import GroupMix
from ..contract.units import Buffer, Duration, Rate, bytes_in_flight
from ..lane.generators import Generators
from ..lane.lab import Lab
from ..lane.programmed import programmed
from ..machine.host.counters import CpuTime, Ticks, cpu_time, read_ticks, shares
from ..machine.host.session import Session
from ..plan.attempt import Attempt, make_attempt
from ..plan.sweep import scenario_settings

STRATEGIES = ("cubic", "bbr")
TAIL_NS = 200_000_000
"""Flows go on that long after the measured window, so that all of it is looked at while they do."""
WATCH_S = 0.1
OTHERS_WORTH_SAYING = 0.1
"""Share of a core; postcards, log and samples take less."""


@dataclass(frozen=True)
class Traffic:
    """What crosses each lane, and for how long.

    Attributes:
        rate: The lane's rate.
        buffer: Its drop-tail limit.
        base_rtt: Base RTT of its flows.
        counts: CCA -> flows of the lane.
        seconds: Length of the measured window.
        warmup_s: Time before it, from the common start.
        lanes: How many lanes.
    """

    rate: Rate
    buffer: Buffer
    base_rtt: Duration
    counts: Mapping[str, int]
    seconds: float
    warmup_s: float
    lanes: int = 1

    @property
    def flows(self) -> int:
        """Flows of a lane."""
        return sum(self.counts.values())

    @property
    def warmup_ns(self) -> int:
        """Time before the measured window in ns."""
        return round(self.warmup_s * 1e9)

    @property
    def window_ns(self) -> int:
        """The measured window in ns."""
        return round(self.seconds * 1e9)

    @property
    def largest_window_bytes(self) -> int:
        """The most that a flow may have under way: BDP and buffer."""
        in_flight = bytes_in_flight(self.rate.bps, self.base_rtt.ns)
        return in_flight + self.buffer.to_bytes(self.rate, self.base_rtt)


@dataclass(frozen=True)
class MachineState:
    """What is known of the machine at one moment.

    Attributes:
        at_ns: When (CLOCK_MONOTONIC).
        cores: Ticks of every core.
        senders: Processor time of the senders' processes.
        sinks: Processor time of the sinks' processes.
        shared: The target's counters that all lanes share; None where none counts.
    """

    at_ns: int
    cores: Ticks
    senders: CpuTime
    sinks: CpuTime
    shared: SharedCounters | None


@dataclass(frozen=True)
class TrafficResult:
    """What came of the traffic.

    Attributes:
        first: At the begin of the measured window.
        last: At its end.
        goodput_bps: Payload that the sinks read in the window, all lanes together.
        sent_bytes: Payload sent from begin to end, retransmissions included.
        retransmitted_bytes: Of these.
    """

    first: MachineState
    last: MachineState
    goodput_bps: float
    sent_bytes: int
    retransmitted_bytes: int

    @property
    def ns(self) -> int:
        """Length of the window, from look to look."""
        return self.last.at_ns - self.first.at_ns

    @property
    def cores(self) -> tuple[CoreShares, ...]:
        """What each core did in the window."""
        return shares(self.first.cores, self.last.cores)

    def others_share(self, loop_cores: Collection[int]) -> float:
        """User time of everybody but the flows on all cores but the loops', in cores.

        What is more than some hundredths is somebody else's work on this machine, and spoils
        what was measured.

        Args:
            loop_cores: The packet loops' cores; their polling is user time.
        """
        user = sum(each.user for each in self.cores if each.core not in loop_cores)
        spent = self.last.senders + self.last.sinks - self.first.senders - self.first.sinks
        return max(0.0, user - spent.user_ns / self.ns)

    def counted(self, read: Callable[[SharedCounters], int]) -> int:
        """By how much a number of the target's shared counters has grown.

        Args:
            read: Takes it out of the counters.
        """
        assert self.first.shared is not None and self.last.shared is not None
        return read(self.last.shared) - read(self.first.shared)

    @property
    def busy_ns(self) -> int:
        """What the loops' rounds with work took, of all loops together."""
        return self.counted(lambda shared: shared.loop.busy_ns)

    def busy_share(self, loops: int) -> float:
        """Share of its time that a packet loop had work, on average.

        Counters are read a moment before the clock, and a round that spans an edge of the window
        counts whole: what these add beyond all of the time is taken off.

        Args:
            loops: Packet loops of the target.
        """
        return min(1.0, round(self.busy_ns / self.ns / loops, 4))


def disturbance(others: Sequence[float]) -> str:
    """A remark for a figure's detail when somebody else worked meanwhile; empty without.

    Args:
        others: `TrafficResult.others_share` of each repetition.
    """
    if max(others) < OTHERS_WORTH_SAYING:
        return ""
    return (
        f"; others used up to {max(others):.0%} of a core meanwhile: repeat it on an idle machine"
    )


def make_attempts(traffic: Traffic, folder: Path) -> tuple[Attempt, ...]:
    """One attempt for each lane, with a folder below `folder`.

    Args:
        traffic: What crosses them.
        folder: Where the lanes' folders are made.
    """
    scenario = _scenario(traffic)
    (setting,) = scenario_settings(scenario)
    trial = PlannedTrial(
        key="bench",
        setting=setting,
        mix=(GroupMix(group=0, name="all", counts=dict(traffic.counts)),),
        repetition=0,
    )
    folders = [folder / f"lane{lane}" for lane in range(traffic.lanes)]
    for each in folders:
        each.mkdir(parents=True)
    return tuple(make_attempt(scenario, trial, 0, lane, f) for lane, f in enumerate(folders))


def _scenario(traffic: Traffic) -> Scenario:
    return Scenario(
        name="bench",
        title="Traffic of a measurement",
        bottleneck=Bottleneck(rate=traffic.rate, buffer=traffic.buffer),
        flows=(FlowGroup(name="all", count=traffic.flows, base_rtt=traffic.base_rtt),),
        start_jitter=Duration(0),
        strategies=STRATEGIES,
        duration=Duration(traffic.warmup_ns + traffic.window_ns + TAIL_NS),
        warmup=Duration(traffic.warmup_ns),
    )


def cross_lab(
    lab: Lab, traffic: Traffic, lanes: Sequence[tuple[Attempt, LaneProgram]]
) -> TrafficResult:
    """Have traffic cross a lab's lanes, their postcards kept as in a run.

    Args:
        lab: Session and target.
        traffic: What crosses them.
        lanes: Each lane's attempt, and what the target is asked to do for it.

    Raises:
        TargetError: Postcards were lost on their way to the file: that is no run's work.
    """
    attempts = [attempt for attempt, _ in lanes]
    with ExitStack() as stack:
        opened = [
            stack.enter_context(programmed(lab, program, attempt.telemetry()))
            for attempt, program in lanes
        ]
        crossed = cross(lab.session, traffic, attempts, lambda: opened[0].counters().shared)
        for attempt, lane in zip(attempts, opened, strict=True):
            totals = lane.stop_telemetry()
            if totals.lost or totals.gaps:
                lost = totals.lost + totals.gaps
                raise TargetError(f"lane {attempt.lane}: {lost} postcards lost")
        return crossed


def cross(
    session: Session,
    traffic: Traffic,
    attempts: Sequence[Attempt],
    shared: Callable[[], SharedCounters | None] = lambda: None,
) -> TrafficResult:
    """Start the flows of all lanes, look at the window's begin and end, await their end.

    Args:
        session: The machine; what stands between its hosts forwards already.
        traffic: What crosses the lanes.
        attempts: The lanes' attempts.
        shared: Reads the target's shared counters.
    """
    with ExitStack() as stack:
        generators = [
            stack.enter_context(Generators(session, attempt, threading.Event()))
            for attempt in attempts
        ]
        for each in generators:
            each.start()
        starts = [each.order_start() for each in generators]
        begin_ns = max(starts) + traffic.warmup_ns
        _wait_until(begin_ns, session)
        first = _look(generators, shared)
        _wait_until(begin_ns + traffic.window_ns, session)
        last = _look(generators, shared)
        ends = [g.await_ends(t0_ns) for g, t0_ns in zip(generators, starts, strict=True)]
    read = sum(
        _read_bytes(
            attempt.folder / CONSTANTS.goodput_file, t0_ns + traffic.warmup_ns, traffic.window_ns
        )
        for attempt, t0_ns in zip(attempts, starts, strict=True)
    )
    flows = [flow for end in ends for flow in end.sender.flows]
    return TrafficResult(
        first=first,
        last=last,
        goodput_bps=read * 8 / traffic.seconds,
        sent_bytes=sum(flow.bytes_sent for flow in flows),
        retransmitted_bytes=sum(flow.bytes_retrans for flow in flows),
    )


def _wait_until(t_ns: int, session: Session) -> None:
    while (left_s := (t_ns - time.monotonic_ns()) / 1e9) > 0:
        session.require_targets()
        time.sleep(min(left_s, WATCH_S))


def _look(
    generators: list[Generators], shared: Callable[[], SharedCounters | None]
) -> MachineState:
    def spent(role: str) -> CpuTime:
        return sum((cpu_time(each.pids[role]) for each in generators), CpuTime())

    counters = shared()
    return MachineState(time.monotonic_ns(), read_ticks(), spent("sender"), spent("sink"), counters)


def _read_bytes(path: Path, from_ns: int, window_ns: int) -> int:
    """Payload that a sink read in the intervals that end in a window."""
    records = np.fromfile(path, GOODPUT)
    inside = (records["t_ns"] > from_ns) & (records["t_ns"] <= from_ns + window_ns)
    return int(records["bytes"][inside].sum())
