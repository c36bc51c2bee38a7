"""Retransmitted bytes, of all bytes sent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from .registry import Metric, register


def increase(t_ns: NDArray[Any], counter: NDArray[Any], window_ns: tuple[int, int]) -> float:
    """How much a counter grew in a window, by the last readings up to each of its ends.

    Args:
        t_ns: Times of the readings, increasing, shape (n,).
        counter: A counter that never falls, shape (n,).
        window_ns: The window (from, to).

    Returns:
        The growth; before the first reading the counter was 0.
    """
    start, end = np.searchsorted(t_ns, window_ns, side="right")
    before = float(counter[start - 1]) if start > 0 else 0.0
    return (float(counter[end - 1]) if end > 0 else 0.0) - before


def retransmit_share(retransmitted: float, sent: float) -> float:
    """Retransmitted by sent payload bytes (unit 1), NaN where nothing was sent."""
    return retransmitted / sent if sent > 0 else float("nan")


def _growth(trial: TrialData, flow: int) -> tuple[float, float]:
    samples = trial.need_samples()
    t_ns = samples.of_flow(flow, "t_ns")
    again = increase(t_ns, samples.of_flow(flow, "bytes_retrans"), trial.window_ns)
    return again, increase(t_ns, samples.of_flow(flow, "bytes_sent"), trial.window_ns)


def _of_flows(trial: TrialData) -> NDArray[np.float64]:
    return np.array([retransmit_share(*_growth(trial, flow)) for flow in range(trial.flows)])


def _of_trial(trial: TrialData) -> float:
    growth = np.array([_growth(trial, flow) for flow in range(trial.flows)])
    return retransmit_share(float(growth[:, 0].sum()), float(growth[:, 1].sum()))


METRIC = register(
    Metric(
        name="per_flow_retransmit_share",
        title="Retransmitted share per flow",
        unit="1",
        scope="flow",
        definition="Retransmitted part of the payload that the flow sent in the window (TCP_INFO).",
        source="Cao et al., IMC 2019, section 3",
        compute=_of_flows,
    )
)
TOTAL = register(
    Metric(
        name="retransmit_share",
        title="Retransmitted share",
        unit="1",
        scope="trial",
        definition="Retransmitted part of the payload sent in the window (TCP_INFO).",
        source="Cao et al., IMC 2019, section 3",
        compute=_of_trial,
    )
)
