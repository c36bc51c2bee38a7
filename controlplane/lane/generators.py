"""The flow generators of an attempt: a sink and a sender, one process each."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Self

from ..contract.errors import HostError
from ..machine.layout import Side
from ..machine.process import Process
from ..machine.session import Session
from ..plan.attempt import Attempt
from ..plan.flows import drain_ns, generator_config
from .lab import quietly

READY_TIMEOUT_S = 30.0
END_MARGIN_S = 10.0
START_LEAD_NS = 300_000_000
"""From the order to start until t0: long enough for both generators to read it."""

Report = dict[int, dict[str, Any]]


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
        self._processes: dict[str, Process] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        quietly("flow generators", self.stop)

    def start(self) -> Report:
        """Sink first, then the sender, which connects; returns what each socket tells."""
        self._start("sink").wait_event("listening", READY_TIMEOUT_S, self._stop_event)
        ready = self._start("sender").wait_event("ready", READY_TIMEOUT_S, self._stop_event)
        return self.by_flow(ready, "sender")

    def order_start(self) -> int:
        """Name the common start t0 (CLOCK_MONOTONIC, ns) to both."""
        t0_ns = time.monotonic_ns() + START_LEAD_NS
        for process in self._processes.values():
            process.send({"t0_ns": t0_ns})
        return t0_ns

    def await_ends(self, t0_ns: int) -> dict[str, dict[str, Any]]:
        """Wait for the end of both; returns their last reports by role."""
        duration_ns = self._attempt.scenario.duration.ns + drain_ns(self._attempt.trial)
        return {role: self._await_end(role, t0_ns + duration_ns) for role in self._processes}

    @property
    def pids(self) -> dict[str, int]:
        """Process id of each role that is started."""
        return {role: process.pid for role, process in self._processes.items()}

    def stop(self) -> None:
        """End what is still running."""
        for process in self._processes.values():
            process.stop()

    def by_flow(self, report: dict[str, Any], role: str) -> Report:
        """A report by flow number; raises HostError when a flow is missing."""
        flows = {int(entry["flow"]): entry for entry in report.get("flows", [])}
        count = len(self._attempt.flows)
        if set(flows) != set(range(count)):
            raise HostError(f"the {role} reported {len(flows)} of {count} flows")
        return flows

    def _start(self, role: str) -> Process:
        attempt = self._attempt
        config = attempt.folder / f"{role}.json"
        config.write_text(json.dumps(generator_config(role, attempt)) + "\n")
        side: Side = "snd" if role == "sender" else "rcv"
        process = self._session.start_flows(side, config, attempt.lane)
        self._processes[role] = process
        return process

    def _await_end(self, role: str, end_ns: int) -> dict[str, Any]:
        process = self._processes[role]
        left_s = max(0.0, (end_ns - time.monotonic_ns()) / 1e9) + END_MARGIN_S
        watch = self._session.require_targets
        report = process.wait_event("done", left_s, self._stop_event, watch)
        code = process.wait_exit(END_MARGIN_S)
        if code != 0:
            raise HostError(f"{process.name} ended with exit code {code}")
        return report
