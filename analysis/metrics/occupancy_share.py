"""A flow's share of the queue, and how it goes with its share of the throughput."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from .least_squares import least_squares
from .registry import Metric, register
from .throughput_share import shares


@dataclass(frozen=True)
class ShareLine:
    """A straight line through (occupancy share, throughput share) points.

    Attributes:
        slope: Throughput share gained for each unit of occupancy share.
        intercept: Throughput share at no occupancy.
        r2: Squared correlation coefficient.
        n: Number of points.
    """

    slope: float
    intercept: float
    r2: float
    n: int


def share_line(
    occupancy_share: NDArray[np.float64], throughput_share: NDArray[np.float64]
) -> ShareLine | None:
    """Least-squares line of throughput share on occupancy share (unit 1 each).

    Equation (5) of Mishra, Tiu, Leong (IMC 2022) says lambda = (lambda R + b) / (R + Q), so
    lambda Q = b: the shares are equal, whatever the flows' base RTTs are. That is Little's
    law with one waiting time for all; a flow whose packets meet a longer queue than average
    lies to the right of the identity line.

    Args:
        occupancy_share: Shares of the mean queue, shape (n,).
        throughput_share: Shares of the throughput of the same flows, shape (n,).

    Returns:
        The line; None with fewer than 3 points or all at one occupancy.
    """
    known = np.isfinite(occupancy_share) & np.isfinite(throughput_share)
    x, y = occupancy_share[known], throughput_share[known]
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    return ShareLine(*least_squares(x, y), n=len(x))


def _of_trial(trial: TrialData) -> NDArray[np.float64]:
    return shares(trial.need_queue().occupancy_byte_ns)


METRIC = register(
    Metric(
        name="occupancy_share",
        title="Share of the queue",
        unit="1",
        scope="flow",
        definition="The flow's mean bytes in the queue divided by those of all flows.",
        source="Mishra, Tiu, Leong, IMC 2022, equation (5)",
        compute=_of_trial,
    )
)
