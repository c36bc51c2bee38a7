"""The flow generators of an attempt: a sink and a sender, one process each."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from ..contract.errors import HostError
from ..contract.messages import (
    Listening,
    ReadyFlow,
    SenderFlowReport,
    SenderReady,
    SenderReport,
    SinkFlowReport,
    SinkReport,
    read_message,
)
from ..machine.layout import Side
from ..machine.process import ManagedProcess
from ..machine.session import Session
from ..plan.attempt import Attempt
from ..plan.flows import drain_ns, generator_config
from .lab import quietly

READY_TIMEOUT_S = 30.0
END_MARGIN_S = 10.0
START_LEAD_NS = 300_000_000
"""From the order to start until t0: long enough for both generators to read it."""

Flow = TypeVar("Flow", ReadyFlow, SenderFlowReport, SinkFlowReport)
Report = TypeVar("Report", SenderReport, SinkReport)


@dataclass(frozen=True)
class FlowReports:
    """The generators' last words; the flows of each are in the attempt's order.

    Attributes:
        sender: The sender's.
        sink: The sink's.
    """

    sender: SenderReport
    sink: SinkReport


class Generators:
    """Sink and sender of one attempt.

    Args:
        session: Starts processes.
        attempt: Says what flows there are.
        stop: Ends every wait early when set.
    """

    def __init__(self, session: Session, attempt: Attempt, stop: threading.Event) -> None:
        self._session = session
        self._attempt = attempt
        self._stop_event = stop
        self._processes: dict[str, ManagedProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        quietly("flow generators", self.stop)

    def start(self) -> tuple[ReadyFlow, ...]:
        """Sink first, then the sender, which connects; returns the flows in their order."""
        sink = self._start("sink")
        listening = sink.wait_event("listening", READY_TIMEOUT_S, self._stop_event)
        read_message(Listening, listening, f"{sink.name}: listening", HostError)
        sender = self._start("sender")
        event = sender.wait_event("ready", READY_TIMEOUT_S, self._stop_event)
        ready = read_message(SenderReady, event, f"{sender.name}: ready", HostError)
        return self._in_order(ready.flows, "sender")

    def order_start(self) -> int:
        """Name the common start t0 (the hosts' CLOCK_MONOTONIC, ns) to both."""
        t0_ns = self._session.clock.now_ns() + START_LEAD_NS
        for process in self._processes.values():
            process.send({"t0_ns": t0_ns})
        return t0_ns

    def await_ends(self, t0_ns: int) -> FlowReports:
        """Wait for the end of both; returns their last reports."""
        end_ns = t0_ns + self._attempt.scenario.duration.ns + drain_ns(self._attempt.trial)
        sink = self._await_end("sink", SinkReport, end_ns)
        sender = self._await_end("sender", SenderReport, end_ns)
        in_order = self._in_order
        return FlowReports(
            sender.model_copy(update={"flows": in_order(sender.flows, "sender")}),
            sink.model_copy(update={"flows": in_order(sink.flows, "sink")}),
        )

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each role that is started."""
        return {role: process.pid for role, process in self._processes.items()}

    def stop(self) -> None:
        """End what is still running."""
        for process in self._processes.values():
            process.stop()

    def _in_order(self, flows: Sequence[Flow], role: str) -> tuple[Flow, ...]:
        """Flows by their numbers; raises HostError when one is missing."""
        by_number = {flow.flow: flow for flow in flows}
        count = len(self._attempt.flows)
        if set(by_number) != set(range(count)):
            raise HostError(f"the {role} reported {len(by_number)} of {count} flows")
        return tuple(by_number[number] for number in range(count))

    def _start(self, role: str) -> ManagedProcess:
        attempt = self._attempt
        config = attempt.folder / f"{role}.json"
        config.write_text(json.dumps(generator_config(role, attempt)) + "\n")
        side: Side = "snd" if role == "sender" else "rcv"
        process = self._session.start_flows(side, config, attempt.lane)
        self._processes[role] = process
        return process

    def _await_end(self, role: str, report: type[Report], end_ns: int) -> Report:
        process = self._processes[role]
        left_s = max(0.0, (end_ns - self._session.clock.now_ns()) / 1e9) + END_MARGIN_S
        watch = self._session.require_targets
        event = process.wait_event("done", left_s, self._stop_event, watch)
        code = process.wait_exit(END_MARGIN_S)
        if code != 0:
            raise HostError(f"{process.name} ended with exit code {code}")
        return read_message(report, event, f"{process.name}: done", HostError)
