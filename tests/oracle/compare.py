"""What two queue disciplines made of the same arrivals, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPARED = ("dropped", "marked", "departure_ns")


def assert_same(
    ours: NDArray[Any], theirs: NDArray[Any], columns: tuple[str, ...] = COMPARED
) -> None:
    """Every packet has the same fate at the same times.

    Args:
        ours: Shape (n,), dtype OUTCOME.
    """
    differs = np.zeros(len(ours), bool)
    for column in columns:
        differs |= ours[column] != theirs[column]
    if differs.any():
        first = int(np.argmax(differs))
        raise AssertionError(
            f"{differs.sum()} of {len(ours)} packets differ, first packet {first}: "
            f"ours {describe(ours[first])}, Linux's {describe(theirs[first])}; drops "
            f"{ours['dropped'].sum()} and {theirs['dropped'].sum()}, marks "
            f"{ours['marked'].sum()} and {theirs['marked'].sum()}"
        )


def describe(outcome: NDArray[Any]) -> str:
    fate = "dropped" if outcome["dropped"] else "marked" if outcome["marked"] else "sent"
    return f"{fate} (decided {outcome['decided_ns']}, left {outcome['departure_ns']})"


@dataclass(frozen=True)
class Means:
    """Two samples' means.

    Attributes:
        theirs: The mean of Linux's.
        error: The standard error of their difference.
    """

    ours: float
    theirs: float
    error: float

    @property
    def errors_apart(self) -> float:
        """How many standard errors lie between them."""
        return abs(self.ours - self.theirs) / self.error

    @property
    def detectable(self) -> float:
        """The least difference that is seen nine times of ten, as a share of Linux's.

        At a limit of four standard errors, which chance passes once in 16,000 times.
        """
        return (4 + 1.28) * self.error / self.theirs


def means(ours: Sequence[float], theirs: Sequence[float]) -> Means:
    """Compare samples by their means (Welch).

    Args:
        ours: A number for each seed.
    """
    variances = [np.var(sample, ddof=1) / len(sample) for sample in (ours, theirs)]
    return Means(float(np.mean(ours)), float(np.mean(theirs)), float(np.sqrt(sum(variances))))
