"""One attempt at a trial on its lane, step by step."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable

from ..contract.errors import HostError, TargetError
from ..contract.trial import TrialRecord
from ..lane.capture import LiveCapture
from ..lane.generators import Generators
from ..lane.lab import Lab, quietly
from ..lane.losses import loss_counters
from ..machine.facts import utc_now
from ..machine.layout import Side
from ..machine.polling import poll
from ..plan.attempt import Attempt
from ..plan.flows import drain_ns
from ..store.run_directory import RunDirectory, disk_errors
from ..targets import Counters, TelemetryStream, TelemetryTotals
from .collecting import collect
from .record import Measured, make_record
from .steps import Steps, TrialStep

DRAIN_TIMEOUT_S = 10.0


class TrialRunner:
    """Runs one attempt.

    Args:
        lab: Session and target.
        directory: The run directory.
        attempt: What to run.
        stop: Set when the run is to end early.
        tell: Told of each step.
    """

    def __init__(
        self,
        lab: Lab,
        directory: RunDirectory,
        attempt: Attempt,
        stop: threading.Event,
        tell: Callable[[TrialStep], None],
    ) -> None:
        self._lab = lab
        self._directory = directory
        self._attempt = attempt
        self._steps = Steps(attempt.id, tell)
        self._generators = Generators(lab.session, attempt, stop)
        self._stream: TelemetryStream | None = None
        self._captures: list[LiveCapture] = []

    def execute(self) -> TrialRecord:
        """Run all steps; restores the lane whatever happens.

        Raises:
            NashbedError: A step failed; nothing of the attempt is left on disk.
        """
        record: TrialRecord | None = None
        try:
            with disk_errors(self._attempt.folder):
                record = self._measure()
        finally:
            self._steps.enter(TrialStep.RESTORE)
            self._restore(keep=record is not None)
        self._steps.enter(TrialStep.SEAL)
        self._directory.seal(self._attempt.id, record)
        return record

    def _measure(self) -> TrialRecord:
        """Every step until the tables are written."""
        started = utc_now()
        self._steps.enter(TrialStep.VALIDATE)
        self._validate()
        self._steps.enter(TrialStep.PREPARE)
        self._prepare()
        self._steps.enter(TrialStep.PROGRAM)
        applied = self._lab.target.program(self._attempt.program())
        self._steps.enter(TrialStep.START_TELEMETRY)
        self._stream = self._start_telemetry()
        self._start_captures()
        self._steps.enter(TrialStep.START_FLOWS)
        before = self._losses(self._counters())
        ready = self._generators.start()
        self._steps.enter(TrialStep.RUN)
        t0_ns = self._generators.order_start()
        ends = self._generators.await_ends(t0_ns)
        self._steps.enter(TrialStep.STOP)
        counters, totals = self._drain()
        measured = Measured(
            attempt=self._attempt,
            can=self._lab.target.capabilities(),
            applied=applied,
            t0_ns=t0_ns,
            epoch_ns=self._lab.epoch_ns,
            started_utc=started,
            ended_utc=utc_now(),
            ready=ready,
            sender=self._generators.by_flow(ends["sender"], "sender"),
            sink=self._generators.by_flow(ends["sink"], "sink"),
            ends=ends,
            counters=counters,
            telemetry=totals,
            before=before,
            after=self._losses(counters),
        )
        self._steps.enter(TrialStep.COLLECT)
        return make_record(measured, collect(measured))

    def _validate(self) -> None:
        can = self._lab.target.capabilities()
        last = self._attempt.first_flow + len(self._attempt.flows)
        if self._attempt.lane >= can.lanes or last > can.flows:
            raise TargetError(
                f"{self._attempt.id}: lane {self._attempt.lane} with flows up to {last - 1} does "
                f"not fit into {can.lanes} lanes and {can.flows} flow entries"
            )

    def _prepare(self) -> None:
        if self._attempt.folder.exists():
            shutil.rmtree(self._attempt.folder)
        self._attempt.folder.mkdir(parents=True)
        self._reset()

    def _start_telemetry(self) -> TelemetryStream:
        return self._lab.target.start_telemetry(self._attempt.lane, self._attempt.telemetry())

    def _start_captures(self) -> None:
        attempt, wanted = self._attempt, self._attempt.scenario.telemetry.capture
        sides: tuple[Side, ...] = ("snd", "rcv") if wanted == "both" else ("snd",) if wanted else ()
        for side in sides:
            self._captures.append(
                LiveCapture(self._lab.session, attempt.lane, attempt.folder, side)
            )

    def _counters(self) -> Counters:
        attempt = self._attempt
        return self._lab.target.read_counters(attempt.lane, attempt.first_flow, len(attempt.flows))

    def _losses(self, counters: Counters) -> dict[str, int]:
        return loss_counters(counters.shared, self._lab.session.host_losses())

    def _drain(self) -> tuple[Counters, TelemetryTotals]:
        """Wait until nothing is queued or delayed, then stop the postcards."""

        def empty() -> Counters | None:
            counters = self._counters()
            return counters if counters.held_packets == 0 else None

        late = HostError(f"{self._attempt.id}: the lane does not drain")
        wait_s = drain_ns(self._attempt.trial) / 1e9 + DRAIN_TIMEOUT_S
        counters = poll(empty, wait_s, lambda: late, interval_s=0.05)
        assert self._stream is not None
        stream, self._stream = self._stream, None
        for capture in self._captures:
            capture.stop()
        return counters, stream.stop()

    def _restore(self, keep: bool) -> None:
        """Leave nothing behind: no process, no postcards under way, an empty lane."""
        quietly("flow generators", self._generators.stop)
        for capture in self._captures:
            quietly("capture", capture.stop)
        if self._stream is not None:
            quietly("telemetry", self._stream.stop)
        quietly("lane", self._reset)
        if not keep:
            shutil.rmtree(self._attempt.folder, ignore_errors=True)

    def _reset(self) -> None:
        attempt = self._attempt
        self._lab.target.reset(attempt.lane, attempt.first_flow, len(attempt.flows))
