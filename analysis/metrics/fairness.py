"""Fairness: how evenly the flows of a mix share throughput, and the queueing delay."""

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from ..errors import NotMeasuredError
from .metric import Metric
from .queue import MEAN_DELAY_PER_FLOW
from .throughput import PER_FLOW

RFC_5166 = "RFC 5166, section 2.3"


def _of_mix(metric: Metric, trial: TrialData) -> NDArray[np.float64]:
    """What is known of a metric of the mix's flows, at least of one."""
    values: NDArray[np.float64] = np.asarray(metric.compute(trial))[trial.mixed]
    values = values[np.isfinite(values)]
    if not len(values):
        raise NotMeasuredError(f"no flow of the mix has a {metric.name}")
    return values


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


def product_fairness(values: NDArray[np.float64]) -> float:
    """Product of the values by its largest at the same sum, prod(x) / mean(x)^n, unit 1.

    It is 1 where all are equal and 0 where one is 0, and it falls with n: of ten flows of which
    each has 0.5 or 1.5 times the mean it is 0.75^5.

    Args:
        values: Non-negative values, shape (n,).

    Returns:
        The share, NaN if every value is 0.

    Source: product measure, RFC 5166, section 2.3; Mitra and Seery 1991.
    """
    mean = float(values.mean())
    return float(np.prod(values / mean)) if mean > 0 else float("nan")


def least_by_largest(values: NDArray[np.float64]) -> float:
    """Least value by the largest, unit 1: what is epsilon-fair has at least 1 - epsilon.

    Args:
        values: Non-negative values, shape (n,).

    Returns:
        The ratio, NaN if every value is 0.

    Source: epsilon-fairness, RFC 5166, section 2.3; Zhang, Kang, Loguinov 2004.
    """
    most = float(values.max())
    return float(values.min()) / most if most > 0 else float("nan")


JAIN = Metric(
    name="jain_index",
    title="Jain's index",
    unit="1",
    scope="trial",
    definition="(sum x)^2 / (n sum x^2) of the throughputs of the mix's flows.",
    source="Jain, Chiu, Hawe, DEC-TR-301, 1984",
    compute=lambda trial: jain_index(_of_mix(PER_FLOW, trial)),
)
PRODUCT = Metric(
    name="product_fairness",
    title="Product of the throughputs",
    unit="1",
    scope="trial",
    definition="Product of the throughputs of the mix's flows, as a share of what it is where all "
    "have the same; it falls with the number of flows.",
    source=RFC_5166,
    compute=lambda trial: product_fairness(_of_mix(PER_FLOW, trial)),
)
EPSILON = Metric(
    name="epsilon_fairness",
    title="Least by largest throughput",
    unit="1",
    scope="trial",
    definition="Throughput of the slowest flow of the mix divided by that of the fastest.",
    source=RFC_5166,
    compute=lambda trial: least_by_largest(_of_mix(PER_FLOW, trial)),
)
MINIMUM = Metric(
    name="minimum_throughput",
    title="Least throughput of a flow",
    unit="bit/s",
    scope="trial",
    definition="Throughput of the slowest flow of the mix, which max-min fairness maximises.",
    source=RFC_5166,
    compute=lambda trial: float(_of_mix(PER_FLOW, trial).min()),
)
DELAY = Metric(
    name="delay_fairness",
    title="Least by largest queueing delay",
    unit="1",
    scope="trial",
    definition="Mean queueing delay of the flow of the mix that has the least, divided by that of "
    "the one that has the most.",
    source="epsilon-fairness (RFC 5166, section 2.3) of delays: nashbed",
    compute=lambda trial: least_by_largest(_of_mix(MEAN_DELAY_PER_FLOW, trial)),
)
FAIRNESS = (JAIN, PRODUCT, EPSILON, MINIMUM, DELAY)
