"""What was measured of an attempt -> its verdicts, its digests and its record."""

import logging

from ..contract.messages.flows import GeneratorTotals
from ..contract.model import JsonObject
from ..contract.target import Applied
from ..contract.trial import Steadiness, TrialRecord
from ..machine.host.cores import lower_priority
from ..store.digests import digest_trial
from ..validity.findings import disturbance_of, marks_of, repeated_payload, window_limited
from ..validity.gates import judge
from ..validity.measurement import TrialMeasurement, spans

LOG = logging.getLogger(__name__)


def make_record(measured: TrialMeasurement, steadiness: Steadiness | None) -> TrialRecord:
    """Judge an attempt, its raw files collected, and put its record together.

    Args:
        steadiness: Whether its shares were steady at the end; None: it was too short to tell.
    """
    attempt, scenario = measured.attempt, measured.attempt.scenario
    gates = judge(measured)
    reasons = tuple(f"{gate.name}: {gate.detail}" for gate in gates if not gate.passed)
    for reason in reasons:
        LOG.warning("trial %s is invalid: %s", attempt.id, reason)
    with lower_priority():
        digests = digest_trial(attempt.folder, _facts(measured))
    return TrialRecord(
        id=attempt.id,
        setting=attempt.trial.setting,
        applied=measured.applied,
        mix=attempt.trial.mix,
        repetition=attempt.trial.repetition,
        attempt=attempt.number,
        seed=attempt.seed,
        lane=attempt.lane,
        t0_ns=measured.t0_ns,
        epoch_ns=measured.epoch_ns,
        duration_ns=_end_ns(measured),
        warmup_ns=scenario.warmup.ns,
        window_ns=measured.window_ns,
        window=scenario.window,
        spans=spans([flow for flow in attempt.flows if flow.mixed], measured.sender, measured.sink),
        steadiness=steadiness,
        postcards=attempt.telemetry().mode,
        started_utc=measured.started_utc,
        ended_utc=measured.ended_utc,
        valid=not reasons,
        gates=gates,
        invalid_reasons=reasons,
        lane_counters=measured.counters.lane,
        lateness=measured.counters.lane.lateness,
        disturbance=disturbance_of(measured),
        marks=marks_of(measured),
        ports_delta=measured.losses,
        pressure=measured.strain.pressure,
        kernel_load=measured.strain.cores,
        window_limited=window_limited(measured),
        repeated=repeated_payload(measured),
        flow_generator=GeneratorTotals(sender=measured.sender.totals, sink=measured.sink.totals),
        digests=digests,
        return_queue=measured.return_queue,
    )


def _end_ns(measured: TrialMeasurement) -> int:
    """When the last flow was to end: as planned, or as its process or a settled trial had it."""
    scenario = measured.attempt.scenario
    if scenario.start != "iperf3" and measured.steadiness is None:
        return scenario.longest.ns
    return max(flow.end_ns or 0 for flow in measured.sender.flows)


ALWAYS = ("overhead_bytes", "slot_bytes", "detail")
"""What is named in a trial's facts even where it is the default."""


def _facts(measured: TrialMeasurement) -> JsonObject:
    """What the attempt measured besides its tables; how late the machine was is not part of it.

    Of what was applied other defaults are left out: a new key changes no digest of trials without;
    nor does it that `arrive_as` was once called `arrivals`.
    """
    late, applied = {"lateness"}, measured.applied
    usual = {"arrive_as"} | {
        name
        for name, field in Applied.model_fields.items()
        if name not in ALWAYS and getattr(applied, name) == field.default
    }
    return {
        "applied": applied.model_dump(mode="json", exclude=usual) | {"arrivals": applied.arrive_as},
        "ready": [flow.model_dump(mode="json") for flow in measured.ready],
        "sender": measured.sender.model_dump(mode="json", exclude=late),
        "sink": measured.sink.model_dump(mode="json", exclude=late),
        "lane": measured.counters.lane.model_dump(mode="json", exclude=late),
        "losses": {name: count for name, count in measured.losses.items() if count},
    }
