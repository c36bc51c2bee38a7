"""What a metric is: its name and unit, its definition, and how a trial's value is computed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData

Value = float | NDArray[np.float64]
Scope = Literal["flow", "trial"]


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: The name that figures, tables and bounds use.
        title: What a person reads on an axis or in a table.
        unit: Unit of the value (`bit/s`, `s`, `B`, `1/min`, `x` for so many times, or `1` for a
            share or an index).
        scope: `flow`: one value for each flow, shape (F,); `trial`: one number.
        definition: One sentence.
        source: Where the definition is from.
        compute: Trial -> value; raises NotMeasuredError where telemetry is missing.
        common: Whether every trial can have it; others have a place in tables and in the report
            only where one has.
    """

    name: str
    title: str
    unit: str
    scope: Scope
    definition: str
    source: str
    compute: Callable[[TrialData], Value]
    common: bool = True

    @property
    def possible(self) -> tuple[float, float]:
        """Smallest and largest value that there can be."""
        return possible_values(self.unit)


def possible_values(unit: str) -> tuple[float, float]:
    """Smallest and largest value that a metric can have: none is negative, no share above 1."""
    return 0.0, 1.0 if unit == "1" else math.inf
