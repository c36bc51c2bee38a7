"""A flow's share of the trial's whole throughput."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from .per_flow_throughput import METRIC as THROUGHPUT
from .registry import Metric, register


def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value's part of the sum (unit 1).

    Args:
        values: Non-negative values, shape (F,).

    Returns:
        Shares that add up to 1, shape (F,); NaN where the sum is 0.
    """
    total = float(values.sum())
    return values / total if total > 0 else np.full_like(values, np.nan, dtype=np.float64)


def _of_trial(trial: TrialData) -> NDArray[np.float64]:
    return shares(np.asarray(THROUGHPUT.compute(trial)))


METRIC = register(
    Metric(
        name="throughput_share",
        title="Share of the throughput",
        unit="1",
        scope="flow",
        definition="The flow's throughput divided by that of all flows.",
        source="nashbed",
        compute=_of_trial,
    )
)
