"""What the machine did to a trial's frames, held against the round trip that TCP lived by."""

from __future__ import annotations

from ..contract.trial import Disturbance
from .measurement import TrialMeasurement


def round_trip_ns(trial: TrialMeasurement) -> float:
    """The shortest round trip that a flow had on average: smallest base RTT and mean queue."""
    return min(trial.attempt.trial.setting.base_rtt_ns) + trial.evidence.queueing.mean_ns


def disturbance_of(trial: TrialMeasurement) -> Disturbance:
    """The summary for a trial's record."""
    seen = trial.evidence.disturbance
    return Disturbance(
        round_trip_ns=round_trip_ns(trial),
        departures=seen.departures.count,
        late_mean_ns=seen.departures.mean_ns,
        late_max_ns=seen.departures.longest_ns,
        returns=seen.returns.count,
        error_mean_ns=seen.returns.mean_ns,
        error_max_ns=seen.returns.longest_ns,
        responses=seen.responses.count,
        response_mean_ns=seen.responses.mean_ns,
        response_max_ns=seen.responses.longest_ns,
        pauses=seen.pauses.count,
        paused_ns=seen.pauses.total_ns,
        longest_pause_ns=seen.pauses.longest_ns,
        lost=trial.disturbances.lost,
    )
