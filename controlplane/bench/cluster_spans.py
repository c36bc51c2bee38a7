"""When workers began and ended trials -> what a cluster costs a trial. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

TRIAL_S = 10.0
"""The trial of which overhead is told as a share, in seconds of a worker's time."""


@dataclass(frozen=True)
class TrialSpan:
    """A trial on a worker.

    Attributes:
        worker: Address of the worker, which runs one trial at a time.
        began_s: When it began, by that worker's clock.
        ended_s: When it was sealed there, before it was packed.
    """

    worker: str
    began_s: float
    ended_s: float


def gaps_s(spans: Iterable[TrialSpan]) -> list[float]:
    """Seconds from the end of each trial to the beginning of the next one of the same worker.

    Packing, sending, Dask's scheduling and the next request are in them.

    Args:
        spans: Trials of all workers, in any order.
    """
    of_worker: dict[str, list[TrialSpan]] = defaultdict(list)
    for span in spans:
        of_worker[span.worker].append(span)
    return [
        after.began_s - before.ended_s
        for _, own in sorted(of_worker.items())
        for before, after in pairwise(sorted(own, key=lambda span: span.began_s))
    ]


def share_percent(seconds: float, trial_s: float = TRIAL_S) -> float:
    """Seconds as percent of a trial.

    Args:
        seconds: What it costs.
        trial_s: How long a trial takes.
    """
    return 100.0 * seconds / trial_s


def per_minute(trials: int, seconds: float) -> float:
    """Trials a minute."""
    return 60.0 * trials / seconds
