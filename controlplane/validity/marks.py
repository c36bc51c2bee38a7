"""Marks of a trial: what its reader should know, and what invalidates nothing."""

from __future__ import annotations

from .measurement import TrialMeasurement

MAX_MISSED_TICKS = 0.01


def marks_of(trial: TrialMeasurement) -> tuple[str, ...]:
    """All marks, one line each."""
    return samples_missing(trial)


def samples_missing(trial: TrialMeasurement) -> tuple[str, ...]:
    """Samples of TCP's state that came late or not at all: gaps in a table, not in throughput.

    Marked are more than 1 % of the ticks missed, or a mean lateness above the scenario's
    `gates.sampling_lateness`. Where a target's times are exact, a gate judges both.
    """
    if trial.capabilities.time_bounds is not None:
        return ()
    bound = trial.attempt.scenario.gates.sampling_lateness
    limit = trial.attempt.scenario.telemetry.tcp_info.ns // 4 if bound == "auto" else bound.ns
    timer = trial.sender.lateness
    due = timer.count + timer.missed
    if timer.missed <= MAX_MISSED_TICKS * max(1, due) and timer.mean_ns <= limit:
        return ()
    late_ms = timer.mean_ns / 1e6
    return (f"samples of TCP's state: {timer.missed} of {due} missed, mean {late_ms:.3g} ms late",)
