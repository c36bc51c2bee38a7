"""The registry: metric name -> what it is, its unit, and how a trial's value is had."""

from __future__ import annotations

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
        unit: Unit of the value (`bit/s`, `s`, `B`, or `1` for a share or an index).
        scope: `flow`: one value for each flow, shape (F,); `trial`: one number.
        definition: One sentence.
        source: Where the definition is from.
        compute: Trial -> value; raises NotMeasuredError where telemetry is missing.
    """

    name: str
    title: str
    unit: str
    scope: Scope
    definition: str
    source: str
    compute: Callable[[TrialData], Value]

    @property
    def possible(self) -> tuple[float, float]:
        """Smallest and largest value that there can be: none is negative, no share above 1."""
        return 0.0, 1.0 if self.unit == "1" else math.inf


METRICS: dict[str, Metric] = {}
"""Every registered metric by name, in the order of registration."""


def register(metric: Metric) -> Metric:
    """Add a metric; a name can be taken only once.

    Args:
        metric: The metric.

    Raises:
        ValueError: The name is taken.
    """
    if metric.name in METRICS:
        raise ValueError(f"metric {metric.name!r} is registered twice")
    METRICS[metric.name] = metric
    return metric


def metric_named(name: str) -> Metric:
    """Look a metric up.

    Raises:
        KeyError: There is none of this name; the text lists those there are.
    """
    if name not in METRICS:
        raise KeyError(f"no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]
