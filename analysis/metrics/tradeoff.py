"""Delay against goodput: power, and the ellipse of repetitions."""

from typing import NamedTuple

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S

from ..align.data import FloatArray, TrialData
from ..errors import NotMeasuredError
from .metric import Metric
from .rtt import MEAN_RTT
from .throughput import PER_FLOW

LEAST_POINTS = 3
"""Points that an ellipse needs: two are on a line."""


def power(goodput_bps: float, capacity_bps: float, rtt_s: float, base_rtt_s: float) -> float:
    """Used share of the capacity by the RTT in base RTTs, unit 1.

    1 is a full link without a queue. A queue of one BDP that never runs dry makes it 1/2.

    Source: Kleinrock, ICC 1979: throughput by delay, each relative to its best.
    """
    return goodput_bps / capacity_bps * base_rtt_s / rtt_s


class GaussianEllipse(NamedTuple):
    """The one-sigma contour of a two-dimensional normal distribution.

    Attributes:
        middle: Its mean (x, y).
        axes: Half axes as vectors, the longer one first, shape (2, 2).
    """

    middle: FloatArray
    axes: FloatArray

    def outline(self, points: int = 73) -> tuple[FloatArray, FloatArray]:
        """Its outline, closed: x and y, shape (points,) each."""
        turn = np.linspace(0, 2 * np.pi, points)
        x, y = self.middle[:, None] + self.axes.T @ np.stack((np.cos(turn), np.sin(turn)))
        return x, y


def gaussian_ellipse(x: FloatArray, y: FloatArray) -> GaussianEllipse | None:
    """One-sigma ellipse of the normal distribution that points most likely are of.

    Its covariance is divided by n, not by n - 1. The half axes are its eigenvectors, as long as the
    roots of their eigenvalues.

    Args:
        x: Shape (n,).
        y: Shape (n,).

    Returns:
        The ellipse; None with fewer than three points.

    Source: Winstein and Balakrishnan, SIGCOMM 2013; RFC 7928, section 2.7.
    """
    if len(x) < LEAST_POINTS:
        return None
    variances, vectors = np.linalg.eigh(np.cov(x, y, ddof=0))
    axes = vectors * np.sqrt(np.maximum(variances, 0))
    return GaussianEllipse(np.array([x.mean(), y.mean()]), axes.T[::-1])


def _power_of_trial(trial: TrialData) -> float:
    rtt_s = np.asarray(MEAN_RTT.compute(trial))
    known = trial.mixed & np.isfinite(rtt_s)
    if not known.any():
        raise NotMeasuredError("no flow of the mix has an RTT")
    (capacity_bits,) = trial.capacity_bits(np.array(trial.window_ns, np.int64))
    return power(
        float(np.asarray(PER_FLOW.compute(trial))[trial.mixed].sum()),
        float(capacity_bits) * NS_PER_S / trial.length_ns,
        float(rtt_s[known].mean()),
        float(trial.base_rtt_ns[known].mean()) / NS_PER_S,
    )


POWER = Metric(
    name="power",
    title="Power",
    unit="1",
    scope="trial",
    definition="Goodput of the mix's flows as a share of the capacity, divided by their mean RTT "
    "in base RTTs, which are those of the trial's beginning: 1 is a full link without a queue.",
    source="Kleinrock, ICC 1979",
    compute=_power_of_trial,
)
