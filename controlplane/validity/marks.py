"""What a reader should know of a trial though it is valid."""

from __future__ import annotations

from collections.abc import Callable

from .measurement import TrialMeasurement
from .window_limited import window_limited


def marks(trial: TrialMeasurement) -> tuple[str, ...]:
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


MARKS: tuple[Callable[[TrialMeasurement], tuple[str, ...]], ...] = (short_memory, held_back)
