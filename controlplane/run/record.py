"""What an attempt measured -> the facts for the gates -> its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..contract.target import Applied, Capabilities
from ..contract.trial import TrialRecord
from ..machine.log import LOG
from ..plan.attempt import Attempt
from ..store.raw_files import LaneClock
from ..targets import Counters, TelemetryTotals
from ..validity.gates import Facts, judge
from ..validity.postcard_evidence import Edges, PostcardEvidence

Report = dict[int, dict[str, Any]]


@dataclass(frozen=True)
class Measured:
    """Everything that is known when the lane has drained.

    Attributes:
        attempt: What was run.
        can: What the target can do.
        applied: What the target really did.
        t0_ns: Common start on CLOCK_MONOTONIC.
        epoch_ns: Switch clock 0 on CLOCK_MONOTONIC.
        started_utc: Wall-clock start.
        ended_utc: Wall-clock end.
        ready: The sender's report before the start, by flow.
        sender: The sender's report at the end, by flow.
        sink: The sink's report at the end, by flow.
        ends: Both last reports as they came, by role.
        counters: Registers after the drain.
        telemetry: What became of the postcards.
        losses: Change of every loss counter over the trial.
    """

    attempt: Attempt
    can: Capabilities
    applied: Applied
    t0_ns: int
    epoch_ns: int
    started_utc: str
    ended_utc: str
    ready: Report
    sender: Report
    sink: Report
    ends: dict[str, dict[str, Any]]
    counters: Counters
    telemetry: TelemetryTotals
    losses: dict[str, int]

    @property
    def clock(self) -> LaneClock:
        """What turns raw records into this trial's."""
        attempt = self.attempt
        t0_switch_ns = self.t0_ns - self.epoch_ns
        return LaneClock(attempt.lane, attempt.first_flow, len(attempt.flows), t0_switch_ns)


@dataclass(frozen=True)
class Collected:
    """What collecting found out.

    Attributes:
        evidence: What all postcards prove; None when not all were kept.
        edges: Which flows were seen in the first and the last part of the window.
    """

    evidence: PostcardEvidence | None
    edges: Edges


def make_record(measured: Measured, found: Collected) -> TrialRecord:
    """Judge an attempt and put its record together."""
    attempt, scenario = measured.attempt, measured.attempt.scenario
    gates = judge(make_facts(measured, found))
    reasons = tuple(f"{gate.name}: {gate.detail}" for gate in gates if not gate.passed)
    for reason in reasons:
        LOG.warning("trial %s is invalid: %s", attempt.id, reason)
    return TrialRecord(
        id=attempt.id,
        setting=attempt.trial.setting,
        requested=attempt.trial.program,
        applied=measured.applied,
        mix=attempt.trial.mix,
        repetition=attempt.trial.repetition,
        attempt=attempt.number,
        seed=attempt.seed,
        lane=attempt.lane,
        t0_ns=measured.t0_ns,
        epoch_ns=measured.epoch_ns,
        duration_ns=scenario.duration.ns,
        warmup_ns=scenario.warmup.ns,
        window_ns=(scenario.warmup.ns, scenario.duration.ns),
        postcards=attempt.telemetry().mode,
        started_utc=measured.started_utc,
        ended_utc=measured.ended_utc,
        valid=not reasons,
        gates=gates,
        invalid_reasons=reasons,
        lane_counters=measured.counters.lane,
        lateness=measured.counters.lateness,
        ports_delta=measured.losses,
        flow_generator={role: _summary(end) for role, end in measured.ends.items()},
    )


def make_facts(measured: Measured, found: Collected) -> Facts:
    """What the gates look at."""
    return Facts(
        scenario=measured.attempt.scenario,
        setting=measured.attempt.trial.setting,
        flows=measured.attempt.flows,
        ready=measured.ready,
        sender=measured.sender,
        sink=measured.sink,
        sampling=measured.ends["sender"]["lateness"],
        registers=measured.counters.flows,
        lateness=measured.counters.lateness,
        losses=measured.losses,
        telemetry=measured.telemetry,
        evidence=found.evidence,
        seen_first=found.edges.first,
        seen_last=found.edges.last,
    )


def _summary(end: dict[str, Any]) -> dict[str, Any]:
    """A generator's report without what the tables hold."""
    return {key: value for key, value in end.items() if key not in ("flows", "event")}
