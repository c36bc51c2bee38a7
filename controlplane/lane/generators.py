"""The flow generators of an attempt: a sink and a sender, one process each, and programs.

Where data of some flows takes the way of the others' acknowledgements, there are two more: their
sender is among the receivers, and their sink among the senders.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from ..contract.course import SettledDuration
from ..contract.errors import HostError
from ..contract.messages.flows import (
    Listening,
    ReadyFlow,
    SenderFlowReport,
    SenderReady,
    SenderReport,
    SinkFlowReport,
    SinkProgress,
    SinkReport,
    TimerLateness,
)
from ..contract.messages.message import read_message
from ..contract.steadiness import SteadinessRules, Watch
from ..contract.trial import Kind, Steadiness
from ..machine.host.layout import Side
from ..machine.host.session import Session
from ..machine.process.managed import ManagedProcess
from ..plan.attempt import (
    Attempt,
    Role,
    TrialFlow,
    drain_ns,
    progress_ns,
    span_ns,
)
from ..plan.generator_config import generator_config
from .lab import quietly
from .programs import Programs

SENDERS: tuple[Role, ...] = ("sender", "reverse_sender")
SINKS: tuple[Role, ...] = ("sink", "reverse_sink")
READY_TIMEOUT_S = 30.0
END_MARGIN_S = 10.0
START_LEAD_NS = 300_000_000
"""From the order to start until t0: long enough for both generators to read it."""

END_LEAD_NS = 500_000_000
"""From a report of progress until the end that it leads to: long enough to be read in time."""

Flow = TypeVar("Flow", ReadyFlow, SenderFlowReport, SinkFlowReport)
Report = TypeVar("Report", SenderReport, SinkReport)


@dataclass(frozen=True)
class FlowReports:
    """The generators' last words; the flows of each are in the attempt's order.

    Attributes:
        steadiness: Of a trial that was to end when its shares are steady; else None.
    """

    sender: SenderReport
    sink: SinkReport
    steadiness: Steadiness | None = None


class Generators:
    """Sinks and senders of one attempt.

    Args:
        stop: Ends every wait early when set.
    """

    def __init__(self, session: Session, attempt: Attempt, stop: threading.Event) -> None:
        self._session = session
        self._attempt = attempt
        self._stop_event = stop
        self._processes: dict[Role, ManagedProcess] = {}
        self._programs = Programs(session, attempt, stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        quietly("flow generators", self.stop)

    def start(self) -> tuple[ReadyFlow, ...]:
        """Servers and sinks first, then the senders, which connect.

        Returns:
            The flows that are connected in advance, in their order.
        """
        ready: list[ReadyFlow] = []
        self._programs.start_servers()
        for role in self._attempt.roles:
            process = self._start(role)
            if role in SINKS:
                event = process.wait_event("listening", READY_TIMEOUT_S, self._stop_event)
                read_message(Listening, event, f"{process.name}: listening", HostError)
                continue
            event = process.wait_event("ready", READY_TIMEOUT_S, self._stop_event)
            ready += read_message(SenderReady, event, f"{process.name}: ready", HostError).flows
        return self._in_order(ready, "sender", {f.index for f in self._in_advance})

    def order_start(self, before: Callable[[int], None] | None = None) -> int:
        """Name the common start t0 (the hosts' CLOCK_MONOTONIC, ns) to all of them.

        Args:
            before: Is told t0 first; for what is not to miss it.
        """
        t0_ns = self._session.clock.now_ns() + START_LEAD_NS + self._programs.lead_ns
        if before is not None:
            before(t0_ns)
        for process in self._processes.values():
            process.send({"t0_ns": t0_ns})
        return t0_ns

    def await_ends(self, t0_ns: int) -> FlowReports:
        """Wait for the end of all; returns their last reports."""
        steadiness = self._end_when_settled(t0_ns)
        self._programs.run(t0_ns)
        senders, sinks = self._programs.reports()
        attempt = self._attempt
        scenario, trial = attempt.scenario, attempt.trial
        end_ns = t0_ns + span_ns(scenario, trial) + drain_ns(scenario, trial)
        sink = joined_sinks(self._await_ends(SINKS, SinkReport, end_ns))
        sender = joined_senders(self._await_ends(SENDERS, SenderReport, end_ns))
        every = {flow.index for flow in attempt.flows}
        in_order = self._in_order
        return FlowReports(
            sender.model_copy(
                update={"flows": in_order([*sender.flows, *senders], "sender", every)}
            ),
            sink.model_copy(update={"flows": in_order([*sink.flows, *sinks], "sink", every)}),
            steadiness,
        )

    def _end_when_settled(self, t0_ns: int) -> Steadiness | None:
        """Follow a trial until its shares are steady, and order its end then."""
        duration = self._attempt.scenario.duration
        if not isinstance(duration, SettledDuration):
            return None
        settling = Settling(self._attempt, duration)
        for cycle in range(settling.cycles_left):
            progress = self._await_progress(t0_ns, cycle + 1)
            if settling.take(progress):
                end_ns = t0_ns + progress.t_ns + END_LEAD_NS
                for role in self._processes.keys() & SENDERS:
                    self._processes[role].send({"end_ns": end_ns})
                break
        return settling.steadiness

    def _await_progress(self, t0_ns: int, cycle: int) -> SinkProgress:
        """What the sink reports at the end of a cycle."""
        attempt, sink = self._attempt, self._processes["sink"]
        due_ns = t0_ns + cycle * progress_ns(attempt.scenario, attempt.trial)
        left_s = max(0.0, (due_ns - self._session.clock.now_ns()) / 1e9) + END_MARGIN_S
        watch = self._session.require_targets
        event = sink.wait_event("progress", left_s, self._stop_event, watch)
        return read_message(SinkProgress, event, f"{sink.name}: progress", HostError)

    @property
    def _in_advance(self) -> list[TrialFlow]:
        return [f for f in self._attempt.flows if not (f.is_transfer or f.program)]

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each role that is started."""
        return {role: process.pid for role, process in self._processes.items()}

    def stop(self) -> None:
        """End what is still running."""
        self._programs.stop()
        for process in self._processes.values():
            process.stop()

    def _in_order(self, flows: Sequence[Flow], role: str, expected: set[int]) -> tuple[Flow, ...]:
        """Flows by their numbers; raises HostError when one is missing."""
        by_number = {flow.flow: flow for flow in flows}
        if set(by_number) != expected:
            raise HostError(f"the {role} reported {len(by_number)} of {len(expected)} flows")
        return tuple(by_number[number] for number in sorted(expected))

    def _start(self, role: Role) -> ManagedProcess:
        attempt = self._attempt
        config = attempt.folder / f"{role}.json"
        content = generator_config(role, attempt, self._session.cca_maps if role in SENDERS else {})
        config.write_text(content.model_dump_json(exclude_defaults=True) + "\n")
        attempt.generator_folder(role).mkdir(exist_ok=True)
        side: Side = "snd" if role in ("sender", "reverse_sink") else "rcv"
        process = self._session.start_flows(side, config, attempt.lane)
        self._processes[role] = process
        return process

    def _await_ends(self, roles: Sequence[Role], report: type[Report], end_ns: int) -> list[Report]:
        return [self._await_end(role, report, end_ns) for role in roles if role in self._processes]

    def _await_end(self, role: Role, report: type[Report], end_ns: int) -> Report:
        process = self._processes[role]
        left_s = max(0.0, (end_ns - self._session.clock.now_ns()) / 1e9) + END_MARGIN_S
        watch = self._session.require_targets
        event = process.wait_event("done", left_s, self._stop_event, watch)
        code = process.wait_exit(END_MARGIN_S)
        if code != 0:
            raise HostError(f"{process.name} ended with exit code {code}")
        return read_message(report, event, f"{process.name}: done", HostError)


def joined_senders(reports: Sequence[SenderReport]) -> SenderReport:
    """What the senders of an attempt report, as if it were one."""
    if len(reports) == 1:
        return reports[0]
    return SenderReport(
        flows=tuple(flow for each in reports for flow in each.flows),
        lost=sum(each.lost for each in reports),
        lateness=joined_lateness([each.lateness for each in reports]),
    )


def joined_sinks(reports: Sequence[SinkReport]) -> SinkReport:
    """What the sinks of an attempt report, as if it were one."""
    if len(reports) == 1:
        return reports[0]
    return SinkReport(
        flows=tuple(flow for each in reports for flow in each.flows),
        strangers=sum(each.strangers for each in reports),
        acks=sum(each.acks for each in reports),
        segments=sum(each.segments for each in reports),
        lateness=joined_lateness([each.lateness for each in reports]),
    )


def joined_lateness(parts: Sequence[TimerLateness]) -> TimerLateness:
    """How late several timers were together."""
    count = sum(part.count for part in parts)
    total = sum(part.count * part.mean_ns for part in parts)
    return TimerLateness(
        count=count,
        missed=sum(part.missed for part in parts),
        mean_ns=total // max(1, count),
        max_ns=max((part.max_ns for part in parts), default=0),
    )


class Settling:
    """Takes in what a sink reports once a cycle.

    Args:
        attempt: The attempt; its scenario says what counts as steady.
    """

    def __init__(self, attempt: Attempt, duration: SettledDuration) -> None:
        self._flows = attempt.flows_of("sink")
        self._duration = duration
        self._cycle_ns = progress_ns(attempt.scenario, attempt.trial)
        self._watch = Watch(SteadinessRules(duration.within.fraction, self._cycle_ns))
        self._before: dict[Kind, int] = defaultdict(int)
        self.steadiness: Steadiness | None = None

    @property
    def cycles_left(self) -> int:
        """Cycles that the longest trial still has."""
        return self._duration.at_most.ns // self._cycle_ns - self._watch.made

    def take(self, progress: SinkProgress) -> bool:
        """Take a report in; returns whether the trial may end."""
        totals: dict[Kind, int] = defaultdict(int)
        for flow, arrived in zip(self._flows, progress.bytes, strict=True):
            if flow.mixed:
                totals[flow.group, flow.cc] += arrived
        cycle = {kind: total - self._before[kind] for kind, total in totals.items()}
        self._before = totals
        self.steadiness = self._watch.take(cycle)
        return self.steadiness.settled and progress.t_ns >= self._duration.at_least.ns
