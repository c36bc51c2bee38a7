"""How alike two CCAs behave: their performance envelopes, and what these share.

A trial in which all flows run one CCA is cut into windows of ten base RTTs. Each flow and
window is a point: its mean smoothed RTT and its goodput. The envelope of a CCA on a path is the
convex hull of the 95 % of its points that are nearest to their centre. Two CCAs conform as far
as their points lie in both envelopes.

Source: the idea is that of Mishra, Lim and Leong, "Understanding Speciation in QUIC Congestion
Control", IMC 2022. Here each CCA has one hull (no clusters), distances are Mahalanobis's, and
the score is the share of all kept points that lie in both hulls. Two series of trials of the same
CCA score about 0.95: a hull of finitely many points misses some of the next ones.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.model import ContractModel
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..measures import RunMeasures, TrialMeasures
from ..state import strategy_totals

WINDOW_RTTS = 10
LEAST_SAMPLES = 4
"""Least samples of TCP_INFO in a window; where ten base RTTs are too short, it is longer."""
KEPT = 0.95
LEAST_POINTS = 20
US_PER_MS = 1000.0
BITS_PER_BYTE = 8
SAMPLES = ("t_ns", "flow", "srtt_us", "bytes_acked")

Points = NDArray[np.float64]
"""One row for each flow and window: mean smoothed RTT in ms, goodput in bit/s; shape (n, 2)."""


class Conformance(ContractModel):
    """Two CCAs on one path, as `nashbed cc alike --json` answers it.

    Attributes:
        setting: Label of the path's setting.
        cca: The CCA in question.
        reference: The one that it is held against.
        points: Number of kept points of the two.
        median_rtt_ms: Median of their smoothed RTTs.
        median_goodput_bps: Median of their goodputs.
        score: Share of all of the points that lie in both hulls, 0 to 1.
    """

    setting: str
    cca: str
    reference: str
    points: tuple[int, int]
    median_rtt_ms: tuple[float, float]
    median_goodput_bps: tuple[float, float]
    score: float


def conformance_of_run(measures: RunMeasures, cca: str, reference: str) -> list[Conformance]:
    """Hold a CCA against another one at every setting where both ran alone.

    Raises:
        ConfigError: The run has no such strategy, or none of its settings has valid trials with
            each of the two alone.
    """
    for name in (cca, reference):
        if name not in measures.strategies:
            known = ", ".join(measures.strategies)
            raise ConfigError(f"{name}: not a strategy of the run (it has {known})")
    found = []
    for setting in measures.run.settings:
        mine = points_alone(measures, setting, cca)
        other = points_alone(measures, setting, reference)
        if min(len(mine), len(other)) >= LEAST_POINTS:
            kept = (near_centre(mine), near_centre(other))
            found.append(
                Conformance(
                    setting=setting.label,
                    cca=cca,
                    reference=reference,
                    points=(len(kept[0]), len(kept[1])),
                    median_rtt_ms=_medians(kept, 0),
                    median_goodput_bps=_medians(kept, 1),
                    score=overlap(*kept),
                )
            )
    if not found:
        raise ConfigError(
            f"no setting of the run has valid trials of {cca} alone and of {reference} alone; "
            "a scenario with `mixes: all` has both"
        )
    return found


def _medians(kept: tuple[Points, Points], column: int) -> tuple[float, float]:
    first, second = (float(np.median(points[:, column])) for points in kept)
    return first, second


def points_alone(measures: RunMeasures, setting: Setting, strategy: str) -> Points:
    """The points of every valid trial in which all flows run one strategy, shape (n, 2)."""
    index = measures.strategies.index(strategy)
    trials = [
        trial
        for cell in measures.cells(setting)
        if strategy_totals(cell.state)[index] == measures.flows(setting)
        for trial in cell.trials
    ]
    parts = [points for trial in trials for points in _points_of_trial(trial)]
    return np.concatenate(parts) if parts else np.empty((0, 2))


def _points_of_trial(trial: TrialMeasures) -> Iterator[Points]:
    if not trial.trial.has("flow_samples"):
        return
    samples = trial.trial.arrays("flow_samples", SAMPLES)
    low, high = trial.trial.record.window_ns
    base_rtt_ns = max(trial.trial.setting.base_rtt_ns)
    for flow in range(len(trial.strategy)):
        rows = samples["flow"] == flow
        rows &= (samples["t_ns"] >= low) & (samples["t_ns"] < high)
        yield window_points(
            samples["t_ns"][rows], samples["srtt_us"][rows], samples["bytes_acked"][rows],
            WINDOW_RTTS * base_rtt_ns,
        )  # fmt: skip


def window_points(
    t_ns: NDArray[Any], srtt_us: NDArray[Any], acked: NDArray[Any], window_ns: int
) -> Points:
    """The points of one flow.

    Args:
        t_ns: Times of its samples, shape (n,).
        srtt_us: Smoothed RTTs, shape (n,).
        acked: Bytes acknowledged until then, shape (n,).
        window_ns: Length of a window; it becomes longer where samples are rare.

    Returns:
        One row for each whole window, shape (m, 2).
    """
    if len(t_ns) <= LEAST_SAMPLES:
        return np.empty((0, 2))
    step_ns = float(np.median(np.diff(t_ns)))
    step = max(LEAST_SAMPLES, round(window_ns / step_ns))
    starts = np.arange(0, len(t_ns) - step, step)
    ends = starts + step
    rtt_ms = np.array([srtt_us[a:b].mean() for a, b in zip(starts, ends, strict=True)]) / US_PER_MS
    seconds = (t_ns[ends] - t_ns[starts]) / NS_PER_S
    bits = (acked[ends].astype(float) - acked[starts].astype(float)) * BITS_PER_BYTE
    return np.column_stack([rtt_ms, bits / seconds])


def near_centre(points: Points) -> Points:
    """The share KEPT of the points that is nearest to their mean, by Mahalanobis's distance."""
    offset = points - points.mean(axis=0)
    inverse = np.linalg.pinv(np.cov(points.T))
    distance = np.einsum("ni,ij,nj->n", offset, inverse, offset)
    order = np.argsort(distance, kind="stable")
    return points[np.sort(order[: int(np.ceil(KEPT * len(points)))])]


def overlap(one: Points, other: Points) -> float:
    """Share of the points of both that lie in both convex hulls, 0 to 1."""
    both = np.concatenate([one, other])
    return float((_inside(one, both) & _inside(other, both)).mean())


def _inside(hull: Points, points: Points) -> NDArray[np.bool_]:
    """Which points lie in a convex hull; where it has no area, those that are its own."""
    from scipy.spatial import Delaunay, QhullError  # noqa: PLC0415 - few commands need scipy

    scale = np.maximum(np.ptp(np.concatenate([hull, points]), axis=0), np.finfo(float).tiny)
    try:
        found: NDArray[np.bool_] = (
            Delaunay(hull / scale).find_simplex(points / scale, tol=1e-9) >= 0
        )
    except QhullError:
        found = (points[:, None, :] == hull[None, :, :]).all(axis=2).any(axis=1)
    return found
