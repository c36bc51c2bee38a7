"""One attempt at a trial on its lane, step by step."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..contract.errors import TargetError
from ..contract.messages.dataplane import Counters, DisturbanceTotals, TelemetryTotals
from ..contract.trial import TrialRecord
from ..lane.capture import LiveCapture
from ..lane.generators import Generators
from ..lane.lab import Lab
from ..lane.programmed import ProgrammedLane, programmed
from ..machine.host.layout import Side
from ..machine.process.clock import utc_now
from ..plan.attempt import Attempt, drain_ns
from ..store.errors import disk_errors
from ..store.run_directory import RunDirectory
from ..validity.measurement import Evidence, TrialMeasurement, measured_window
from .collecting import collect
from .program_goodput import with_program_goodput
from .program_samples import add_program_samples
from .progress import OnStep, Steps, TrialStep
from .record import make_record

DRAIN_TIMEOUT_S = 10.0


class TrialRunner:
    """Runs one attempt.

    Args:
        attempt: What to run; its folder is where the directory has it `unsealed`.
        stop: Set when the run is to end early.
    """

    def __init__(
        self,
        lab: Lab,
        directory: RunDirectory,
        attempt: Attempt,
        stop: threading.Event,
        on_step: OnStep,
    ) -> None:
        self._lab = lab
        self._directory = directory
        self._attempt = attempt
        self._stop = stop
        self._steps = Steps(attempt.id, on_step)

    def execute(self) -> TrialRecord:
        """Run all steps; the lane is given back whatever happens.

        Raises:
            NashbedError: A step failed; the attempt's folder goes with its context.
        """
        with disk_errors(self._directory.trials):
            measured = self._measure()
            self._steps.enter(TrialStep.COLLECT)
            measured = with_program_goodput(measured)
            add_program_samples(measured)
            record = make_record(measured, collect(measured))
        self._steps.enter(TrialStep.SEAL)
        self._directory.seal(self._attempt.id, record)
        return record

    def _measure(self) -> TrialMeasurement:
        """Every step that needs the lane."""
        started_utc = utc_now()
        attempt, can = self._attempt, self._lab.target.capabilities()
        self._steps.enter(TrialStep.VALIDATE)
        self._validate()
        self._steps.enter(TrialStep.PREPARE)
        self._attempt.folder.mkdir()
        self._steps.enter(TrialStep.PROGRAM)
        with (
            programmed(self._lab, attempt.program(), attempt.telemetry()) as lane,
            self._captures() as captures,
            Generators(self._lab.session, attempt, self._stop) as generators,
            self._step_at_exit(TrialStep.RESTORE),
        ):
            self._steps.enter(TrialStep.START_FLOWS)
            ready = generators.start()
            self._steps.enter(TrialStep.RUN)
            t0_ns = generators.order_start(lane.on_start)
            ends = generators.await_ends(t0_ns)
            self._steps.enter(TrialStep.STOP)
            counters, disturbances, totals = self._drain(lane, captures)
            window_ns = measured_window(attempt.scenario, ends.sender, ends.steadiness)
            return TrialMeasurement(
                attempt=attempt,
                applied=lane.applied,
                t0_ns=t0_ns,
                epoch_ns=self._lab.epoch_ns,
                started_utc=started_utc,
                ended_utc=utc_now(),
                ready=ready,
                sender=ends.sender,
                sink=ends.sink,
                window_ns=window_ns,
                steadiness=ends.steadiness,
                counters=counters,
                telemetry=totals,
                disturbances=disturbances,
                return_queue=lane.write_return_queue(attempt.folder),
                losses=lane.losses(counters),
                link_downs=lane.link_downs(counters),
                strain=lane.strain(),
                evidence=Evidence.empty(attempt, lane.applied, can, window_ns),
                capabilities=can,
            )

    def _validate(self) -> None:
        can = self._lab.target.capabilities()
        last = self._attempt.first_flow + len(self._attempt.flows)
        if self._attempt.lane >= can.lanes or last > can.flows:
            raise TargetError(
                f"{self._attempt.id}: lane {self._attempt.lane} with flows up to {last - 1} does "
                f"not fit into {can.lanes} lanes and {can.flows} flow entries"
            )

    @contextmanager
    def _captures(self) -> Iterator[list[LiveCapture]]:
        """The captures that the scenario asks for, running."""
        attempt, wanted = self._attempt, self._attempt.scenario.telemetry.capture
        sides: tuple[Side, ...] = ("snd", "rcv") if wanted == "both" else ("snd",) if wanted else ()
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    LiveCapture(self._lab.session, attempt.lane, attempt.folder, side)
                )
                for side in sides
            ]

    @contextmanager
    def _step_at_exit(self, step: TrialStep) -> Iterator[None]:
        """Enter a step when the block is left, however it ends."""
        try:
            yield
        finally:
            self._steps.enter(step)

    def _drain(
        self, lane: ProgrammedLane, captures: list[LiveCapture]
    ) -> tuple[Counters, DisturbanceTotals, TelemetryTotals]:
        """Wait until nothing is queued or delayed, then stop all that is recorded."""
        attempt = self._attempt
        drain_s = drain_ns(attempt.scenario, attempt.trial) / 1e9
        counters = lane.drained(drain_s + DRAIN_TIMEOUT_S, attempt.id)
        disturbances = lane.write_disturbances(attempt.folder)
        for capture in captures:
            capture.stop()
        return counters, disturbances, lane.stop_telemetry()
