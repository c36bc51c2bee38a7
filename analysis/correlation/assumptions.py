"""The assumptions of Mishra's model (IMC 2022), each checked against one trial."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..measures import TrialMeasures
from ..models.competition import Competition
from ..models.mishra2022 import CUBIC_KEEPS, Inputs
from .bbr import BbrWindows, rtt_plus
from .competition import bbr_of, bbr_share, question_of
from .congestion_events import ShiftedNull
from .cubic_losses import CubicLosses
from .series import FlowSeries


@dataclass(frozen=True)
class Assumption:
    """One assumption of the model.

    Attributes:
        key: Its name in data, and the name of its input in `models.mishra2022.Inputs`.
        short: Its name in figures.
        equation: The paper's equations that make it.
        unit: The unit of the measured value.
        relative: Whether the input is the ratio measured / assumed rather than the measured value.
        derived: Whether it follows from other assumptions.
    """

    key: str
    short: str
    words: str
    equation: str
    unit: str
    relative: bool = True
    derived: bool = False


ASSUMPTIONS = (
    Assumption(
        "flight",
        "BBR in flight (7)",
        "BBR keeps twice its throughput times RTT+ in flight",
        "(6), (7)",
        "1",
        relative=False,
    ),
    Assumption(
        "delay",
        "BBR meets the mean queue (7)",
        "BBR has its throughput times R + Q_d in flight, so that its packets meet the mean queue",
        "(7)",
        "B",
    ),
    Assumption(
        "rtt_plus",
        "RTT+ (9)",
        "RTT+ is the base RTT and the delay of CUBIC's smallest queue in 10 s, R + b_cmin/C",
        "(9)",
        "s",
    ),
    Assumption(
        "seen",
        "one b_cmin (9), (18)",
        "CUBIC's smallest queue in BBR's 10 s is its smallest after a loss: there is one b_cmin",
        "(9), (18)",
        "B",
    ),
    Assumption(
        "full",
        "queue = B (10)",
        "the buffer is always full, b_b + b_c = B",
        "(10)",
        "B",
    ),
    Assumption(
        "queue",
        "queue = 2 b_cmin + C R (10)",
        "the queue b_b + b_c is 2 b_cmin + C R, which follows from (7) to (9)",
        "(10)",
        "B",
        derived=True,
    ),
    Assumption(
        "least_share",
        "share at b_cmin (13)",
        "CUBIC has b_cmin/(b_cmin + b_b) of the link when its queue is smallest",
        "(13)",
        "1",
    ),
    Assumption(
        "largest",
        "W at a loss (18)",
        "CUBIC's window W at a loss is (B - b_b)(1 + C R/B) while BBR holds its mean b_b",
        "(18)",
        "B",
    ),
    Assumption(
        "keeps",
        "a flow keeps 0.7 (21)",
        "a CUBIC flow keeps 0.7 of its window after a loss",
        "(21)",
        "1",
        relative=False,
    ),
    Assumption(
        "losing",
        "losses together (21), (22)",
        "the CUBIC flows lose packets all together, or one flow at a time",
        "(21), (22)",
        "1",
        relative=False,
    ),
    Assumption(
        "kept",
        "k W after a loss (18)",
        "CUBIC's window W falls to k W at its smallest, where k depends on how many flows lost",
        "(18)",
        "B",
    ),
)
"""In the order of the ledger."""


@dataclass(frozen=True)
class AssumptionCheck:
    """An assumption checked against one trial.

    Attributes:
        synchronised: What the model says when all CUBIC flows lose together.
        desynchronised: What it says, one of them losing at a time.
        values: The single measurements (windows of 10 s, loss events, cuts), shape (n,).
        null: What chance gives, if that was asked.
    """

    synchronised: float
    desynchronised: float
    measured: float
    values: NDArray[np.float64]
    null: ShiftedNull | None = None


def check_assumptions(
    measures: TrialMeasures,
    series: FlowSeries,
    cubic: CubicLosses | None,
    windows: BbrWindows | None,
) -> dict[str, AssumptionCheck]:
    """Every assumption that can be held against a trial, by key.

    Returns:
        Nothing but for CUBIC against BBR at one base RTT; without what was not measured.
    """
    if bbr_share(measures) is None:
        return {}
    question = question_of(measures)
    held = dict(_of_queue(question, series, windows))
    if windows is not None:
        held |= dict(_of_bbr(question, windows))
    if cubic is not None and len(cubic.events_ns):
        bbr = float(series.occupancy[measures.flow_mask(bbr_of(measures))].sum(axis=0).mean())
        held |= dict(_of_cubic(question, cubic, bbr))
        if windows is not None and len(cubic.b_min):
            held["seen"] = _checked(_mean(cubic.b_min), windows.least)
    return {
        key: one
        for key, one in held.items()
        if np.isfinite((one.measured, one.synchronised)).all() and one.synchronised > 0
    }


def _checked(
    says: float, values: NDArray[np.float64], measured: float | None = None
) -> AssumptionCheck:
    """With both bounds alike; the mean of the values unless something else was measured."""
    return AssumptionCheck(says, says, _mean(values) if measured is None else measured, values)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _of_queue(
    question: Competition, series: FlowSeries, windows: BbrWindows | None
) -> Iterator[tuple[str, AssumptionCheck]]:
    mean = float(series.occupancy.sum(axis=0).mean())
    by_window = windows.queue if windows is not None else np.array([mean])
    yield "full", _checked(question.buffer_bytes, by_window, mean)


def _of_bbr(question: Competition, windows: BbrWindows) -> Iterator[tuple[str, AssumptionCheck]]:
    with np.errstate(divide="ignore", invalid="ignore"):  # BBR may get nothing for 10 s
        flights = windows.flight / (windows.rate * windows.min_rtt_s)
        mean = np.divide(_mean(windows.flight), _mean(windows.rate) * _mean(windows.min_rtt_s))
    yield "flight", _checked(Inputs().flight, flights, float(mean))
    rate = question.rate_bps / 8
    loaded_rtt_s = question.base_rtt_s + _mean(windows.queue) / rate
    yield "delay", _checked(_mean(windows.rate) * loaded_rtt_s, windows.flight)
    least = _mean(windows.least)
    expected = rtt_plus(question.base_rtt_s, least, question.rate_bps)
    yield "rtt_plus", _checked(expected, windows.min_rtt_s)
    yield "queue", _checked(2 * least + question.bdp_bytes, windows.queue)


def _of_cubic(
    question: Competition, cubic: CubicLosses, bbr: float
) -> Iterator[tuple[str, AssumptionCheck]]:
    """Against BBR's mean bytes in the queue."""
    least = _mean(cubic.b_min)
    with np.errstate(divide="ignore", invalid="ignore"):  # nobody may have anything in the queue
        share = float(np.divide(least, least + bbr))
    yield "least_share", _checked(share, cubic.share_min)
    keeps = _mean(cubic.cuts)
    yield "keeps", _checked(CUBIC_KEEPS, cubic.cuts)
    losing = _mean(cubic.shares)
    yield "losing", AssumptionCheck(1.0, 1 / cubic.flows, losing, cubic.shares, cubic.null)
    window = _mean(cubic.window)
    free = question.buffer_bytes - bbr
    yield "largest", _checked(free * (1 + 1 / question.buffer_bdp), cubic.window)
    k = Inputs(keeps=keeps, losing=losing).k
    after = cubic.b_min + cubic.share_min * question.bdp_bytes
    yield "kept", _checked(k * window, after)
