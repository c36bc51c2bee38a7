"""What a reader should know of a trial though it is valid."""

from __future__ import annotations

from collections.abc import Callable

from .measurement import TrialMeasurement
from .window_limited import window_limited

MAX_MISSED_TICKS = 0.01


def marks_of(trial: TrialMeasurement) -> tuple[str, ...]:
    """One line for each."""
    return tuple(line for each in MARKS for line in each(trial))


def short_memory(trial: TrialMeasurement) -> tuple[str, ...]:
    """Memory or queues of the hosts that ran short without losing a segment."""
    counted = {name: count for name, count in trial.strain.pressure.items() if count}
    listed = ", ".join(f"{name} {count}" for name, count in counted.items())
    return (f"the hosts ran short: {listed}",) if listed else ()


def held_back(trial: TrialMeasurement) -> tuple[str, ...]:
    """Flows that a socket's size held back, and that the scenario does not want so."""
    return tuple(
        f"flow {flow.flow} ({flow.strategy}) was limited by its {flow.by} for "
        f"{flow.share:.1%} of the window"
        for flow in window_limited(trial)
        if not flow.stated
    )


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


MARKS: tuple[Callable[[TrialMeasurement], tuple[str, ...]], ...] = (
    samples_missing,
    short_memory,
    held_back,
)
