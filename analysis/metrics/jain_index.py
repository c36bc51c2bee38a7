"""Jain's fairness index of the flows' throughputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from .per_flow_throughput import METRIC as THROUGHPUT
from .registry import Metric, register


def jain_index(values: NDArray[np.float64]) -> float:
    """Jain's index (sum x)^2 / (n sum x^2), unit 1: 1/n (one has all) to 1 (all have the same).

    Args:
        values: Non-negative values, shape (n,).

    Returns:
        The index, NaN if every value is 0.

    Source: Jain, Chiu, Hawe, DEC-TR-301, 1984.
    """
    squares = float(values @ values)
    return float(values.sum()) ** 2 / (len(values) * squares) if squares > 0 else float("nan")


def _of_trial(trial: TrialData) -> float:
    return jain_index(np.asarray(THROUGHPUT.compute(trial)))


METRIC = register(
    Metric(
        name="jain_index",
        title="Jain's index",
        unit="1",
        scope="trial",
        definition="(sum x)^2 / (n sum x^2) of the flows' throughputs.",
        source="Jain, Chiu, Hawe, DEC-TR-301, 1984",
        compute=_of_trial,
    )
)
