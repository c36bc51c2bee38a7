"""The model of Mishra, Tiu and Leong (IMC 2022): equations, forms, and assumptions as inputs.

BBR is held back by its limit of two estimated bandwidth-delay products, and overestimates the
RTT by what CUBIC leaves in the queue at its minimum; CUBIC cuts its window to k of its largest
in each congestion event. The forms differ in k alone: `MODELS` has each as a model. `Inputs` puts
measured values in place of the model's assumptions, one factor for each of them.
"""

import math
from dataclasses import dataclass

from .competition import Competition, ModelError
from .prediction import Model, Prediction, no_competition, other_than_bbr
from .starts import BBR, CUBIC

SOURCE = "Mishra, Tiu, Leong, IMC 2022"
MIN_BDP, MAX_BDP = 1.0, 100.0
VALIDITY = "buffers of 1 to 100 BDP, one base RTT, BBR version 1"
CUBIC_KEEPS = 0.7
"""Part of its window that one CUBIC flow keeps when it loses a packet (RFC 9438, beta)."""
SLACK = 1e-9
"""Tolerance within which a k counts as at one of its bounds."""


def k_synchronised() -> float:
    """Part of the aggregate window that remains when every CUBIC flow loses (equation 21)."""
    return CUBIC_KEEPS


def k_desynchronised(cubic: float) -> float:
    """Part of the aggregate window that remains when one of N_c CUBIC flows loses (equation 22).

    Args:
        cubic: CUBIC flows N_c, at least 1; a fraction is allowed when solving for a mix.
    """
    return (cubic - (1 - CUBIC_KEEPS)) / cubic


def k_of_synchrony(share: float) -> float:
    """The k between the bounds when this share of the CUBIC flows loses in one event.

    Flows of equal windows, of which the share s keeps 0.7, keep 1 - 0.3 s together. With
    s = 1 this is equation 21, with s = 1/N_c equation 22.

    Args:
        share: Mean share of the CUBIC flows that lose in one congestion event, 0 to 1.
    """
    return 1 - (1 - CUBIC_KEEPS) * share


@dataclass(frozen=True)
class Occupancy:
    """Who holds what of the buffer, in bytes.

    Attributes:
        bbr: Mean of the BBR flows b_b.
        cubic_min: Smallest occupancy of the CUBIC flows b_cmin (equation 10 at a full buffer).
        cubic_max: Largest occupancy of the CUBIC flows b_cmax = B - b_b.
        cubic_window: Their largest aggregate window W.
    """

    bbr: float
    cubic_min: float
    cubic_max: float
    cubic_window: float


def solve_occupancy(buffer_bytes: float, bdp_bytes: float, k: float) -> Occupancy:
    """Solve equation 18 for b_b.

    In units of the BDP, with X = B / (C R), m = b_cmin = (X - 1) / 2 and b = b_b, it reads

        f(b) = m + m / (m + b) - k (X - b) (1 + 1/X) = 0.

    For 0.5 < k <= 1 and X > 1 there is exactly one root in (0, X): f is convex (m / (m + b)
    is, the rest is linear), f(0) = (1/2 - k)(X + 1) < 0, and f(X) = m + m / (m + X) > 0. At
    X = 1 CUBIC's minimum is 0 and the root is b = X. Times (m + b) it is a quadratic,

        K b^2 + (m + K m - k (X + 1)) b - m (X + 1) (k - 1/2) = 0    with K = k (1 + 1/X).

    Args:
        buffer_bytes: Buffer B, at least one BDP.
        bdp_bytes: C R.
        k: Part of its largest window that CUBIC keeps, above 0.5 and at most 1.

    Raises:
        ValueError: The buffer is below one BDP, or k is out of its range.

    Source: equation 18 of Mishra, Tiu, Leong, IMC 2022.
    """
    x = buffer_bytes / bdp_bytes
    if not (x >= 1 and 0.5 < k <= 1):
        raise ValueError(f"no solution for {x:g} BDP and k = {k:g}")
    least = (x - 1) / 2
    root = x if least == 0 else _root(x, least, k)
    queued = x - root
    return Occupancy(
        bbr=root * bdp_bytes,
        cubic_min=least * bdp_bytes,
        cubic_max=queued * bdp_bytes,
        cubic_window=queued * (1 + 1 / x) * bdp_bytes,
    )


def _root(x: float, least: float, k: float) -> float:
    """The positive root of the quadratic, in the form that loses no digits."""
    square = k * (1 + 1 / x)
    linear = least + square * least - k * (x + 1)
    constant = -least * (x + 1) * (k - 0.5)
    spread = math.sqrt(linear * linear - 4 * square * constant)
    if linear > 0:
        return -2 * constant / (linear + spread)
    return (spread - linear) / (2 * square)


def share_of_bbr(buffer_bytes: float, bdp_bytes: float, k: float) -> float:
    """BBR's part of the throughput: its part of the buffer.

    Equation 19, lambda_c (R + 2 b_cmin / C) = 2 b_cmin + C R - b_b, with 2 b_cmin = B - C R
    is lambda_c B / C = B - b_b; hence lambda_b / C = b_b / B (equation 20).

    Args:
        buffer_bytes: Buffer B, at least one BDP.
        bdp_bytes: C R.
        k: Part of its largest window that CUBIC keeps, above 0.5 and at most 1.
    """
    return solve_occupancy(buffer_bytes, bdp_bytes, k).bbr / buffer_bytes


def outside(question: Competition) -> tuple[str, ...]:
    """Why the equations do not hold for a question; empty if they do."""
    x = question.buffer_bdp
    if x < MIN_BDP:
        return (
            f"the buffer is {x:.3g} BDP: below {MIN_BDP:g} BDP CUBIC empties the queue and BBR is "
            "not held by its limit on the bytes in flight",
        )
    if x > MAX_BDP:
        return (f"the buffer is {x:.4g} BDP: beyond about {MAX_BDP:g} BDP BBR is overestimated",)
    return ()


def answer(
    model: str, question: Competition, k: float | None, refusals: tuple[str, ...] = ()
) -> Prediction:
    """The answer for a k, or the refusal.

    Args:
        k: Its k; None if it has none for this question (then with a refusal).
        refusals: Its own reasons to refuse, besides the buffer's.
    """
    other = other_than_bbr(model, question)
    if other is not None:
        return other
    why = (*refusals, *outside(question))
    if why:
        return Prediction(model, question, None, refusals=why)
    alone = no_competition(model, question)
    if alone is not None or k is None:
        return alone or Prediction(model, question, None, refusals=("k is not known",))
    held = solve_occupancy(question.buffer_bytes, question.bdp_bytes, k)
    inner = {
        "k": k,
        "bbr_queue_bytes": held.bbr,
        "cubic_queue_min_bytes": held.cubic_min,
        "cubic_queue_max_bytes": held.cubic_max,
        "cubic_window_bytes": held.cubic_window,
        "bbr_rtt_s": question.base_rtt_s + held.cubic_min * 8 / question.rate_bps,
    }
    share = held.bbr / question.buffer_bytes
    return Prediction(model, question, share, flags=_flags(question, held), inner=inner)


def _flags(question: Competition, held: Occupancy) -> tuple[str, ...]:
    """Reservations: at 1 BDP the equations have nothing for CUBIC."""
    if held.cubic_min > 0:
        return ()
    return (
        f"the buffer is {question.buffer_bdp:.3g} BDP: at 1 BDP b_cmin = (B - C R)/2 is 0, and the "
        "equations leave CUBIC nothing, whatever the mix",
    )


def _two_flow(question: Competition) -> Prediction:
    """Predict one against one: k = 0.7, for one flow always loses alone (equations 5 to 20)."""
    cubic, bbr = question.flows_of(CUBIC), question.flows_of(BBR)
    refusals: tuple[str, ...] = ()
    if (cubic, bbr) != (1, 1):
        refusals = (f"{cubic} CUBIC and {bbr} BBR flows: this form is for one of each",)
    return answer(TWO_FLOW.name, question, CUBIC_KEEPS, refusals)


def _synchronised(question: Competition) -> Prediction:
    """Predict with k = 0.7: the least that BBR gets (equations 18 to 21)."""
    return answer(SYNCHRONISED.name, question, k_synchronised())


def _desynchronised(question: Competition) -> Prediction:
    """Predict with k = (N_c - 0.3) / N_c: the most that BBR gets (equations 18 to 20 and 22)."""
    cubic = question.flows_of(CUBIC)
    return answer(DESYNCHRONISED.name, question, k_desynchronised(cubic) if cubic else None)


def given_k(k: float | None) -> Model:
    """The model with a k that was measured, between its two bounds (equations 18 to 20).

    Args:
        k: Part of its largest aggregate window that CUBIC keeps in a congestion event, see
            `k_of_synchrony`. Without one, or with one outside the bounds of equations 21 and 22,
            every question is refused.
    """
    name = "mishra-given-k"
    return Model(
        name,
        "Mishra, k given",
        f"{SOURCE}, equations 18 to 20",
        f"{VALIDITY}; k between 0.7 and (N_c - 0.3) / N_c",
        lambda question: answer(name, question, k, _refusals(question, k)),
    )


def _refusals(question: Competition, k: float | None) -> tuple[str, ...]:
    if k is None:
        return ("k is not given (the share of its window that CUBIC keeps)",)
    if question.flows_of(CUBIC) == 0:
        return ()
    low, high = k_synchronised(), k_desynchronised(question.flows_of(CUBIC))
    if low - SLACK <= k <= high + SLACK:
        return ()
    return (f"k = {k:g} is outside its bounds for this mix, {low:g} to {high:.3g}",)


TWO_FLOW = Model(
    "mishra-two-flow",
    "Mishra 1 v 1",
    f"{SOURCE}, equations 5 to 20",
    f"{VALIDITY}, one flow of each; tested at 1 to 30 BDP",
    _two_flow,
)
SYNCHRONISED = Model(
    "mishra-synchronised",
    "Mishra, synchronised",
    f"{SOURCE}, equations 18 to 21",
    f"{VALIDITY}; a bound: all CUBIC flows lose at once",
    _synchronised,
)
DESYNCHRONISED = Model(
    "mishra-desynchronised",
    "Mishra, de-synchronised",
    f"{SOURCE}, equations 18 to 20 and 22",
    f"{VALIDITY}; a bound: CUBIC flows lose one at a time",
    _desynchronised,
)
GIVEN_K = given_k(None)


class NoSolutionError(ModelError):
    """The equations have no solution with these inputs.

    Attributes:
        edge: BBR's share (0 or 1) on the edge of what can be solved, towards these inputs.
    """

    def __init__(self, message: str, edge: float) -> None:
        super().__init__(message)
        self.edge = edge


@dataclass(frozen=True)
class Inputs:
    """What the model assumes; the defaults are its own, fully synchronised.

    Attributes:
        flight: BBR's bytes in flight by its throughput times RTT+ (equations 6 and 7).
        delay: BBR's bytes in flight by lambda_b (R + Q_d): 1 if its packets meet the mean queue and
            none is lost (equation 7).
        rtt_plus: RTT+ by R + b_cmin/C, with b_cmin CUBIC's least in BBR's windows of 10 s
            (equation 9).
        seen: CUBIC's least in those windows by its least after a loss; the model has one b_cmin.
        full: The mean queue b_b + b_c by the buffer B.
        queue: b_b + b_c by 2 b_cmin + C R (equation 10). It follows from the five above, so give
            it alone.
        least_share: CUBIC's share of the link at its least by b_cmin/(b_cmin + b_b)
            (equation 13).
        largest: CUBIC's window W at a loss by (B - b_b)(1 + C R/B).
        keeps: Part of its window that a CUBIC flow keeps when it loses a packet.
        losing: Share of the CUBIC flows that lose together: 1 synchronised (equation 21), 1/N_c
            de-synchronised (equation 22).
        kept: CUBIC's window after a loss by k W, k = 1 - (1 - keeps) losing.
    """

    flight: float = 2.0
    delay: float = 1.0
    rtt_plus: float = 1.0
    seen: float = 1.0
    full: float = 1.0
    queue: float = 1.0
    least_share: float = 1.0
    largest: float = 1.0
    keeps: float = CUBIC_KEEPS
    losing: float = 1.0
    kept: float = 1.0

    @property
    def k(self) -> float:
        """Part of the aggregate window that CUBIC keeps."""
        return self.kept * (1 - (1 - self.keeps) * self.losing)


def share_of_bbr_with(x: float, inputs: Inputs) -> float:
    """BBR's part of the throughput with given inputs.

    In units of the BDP, with X = B/(C R), b = b_b, m = b_cmin and each input as a factor at its
    place, equations 7 to 9 are delay (1 + full X) = flight rtt_plus (1 + seen m). Equation 18 is

        m + least_share m/(m + b) = K (X - b)    with K = k largest (1 + 1/X).

    Times (m + b) it is a quadratic in b with one positive root as long as m + least_share < K X:
    otherwise CUBIC's least alone is more than it keeps, and no queue is left for BBR. By
    Little's law the share is b / (full X). The defaults give `share_of_bbr`.

    Args:
        x: Buffer in BDP, at least 1.

    Raises:
        NoSolutionError: An occupancy or a share would be below 0 or above the whole.

    Source: equations 7 to 20 of Mishra, Tiu, Leong, IMC 2022.
    """
    _refuse_nothing(inputs)
    least = _least(x, inputs)
    kept = inputs.k * inputs.largest * (1 + 1 / x)
    if least < 0:
        raise NoSolutionError("CUBIC's least would be below 0", edge=1)
    if least == 0:
        return _share(x, x, inputs)
    constant = least * (least + inputs.least_share - kept * x)
    if constant > 0:
        raise NoSolutionError("CUBIC's least would be more than it keeps of its window", edge=0)
    linear = least + kept * least - kept * x
    root = (math.sqrt(linear * linear - 4 * kept * constant) - linear) / (2 * kept)
    return _share(root, x, inputs)


def _refuse_nothing(inputs: Inputs) -> None:
    """Refuse inputs of which one is nothing at all, so that equations lose their meaning."""
    if min(inputs.flight, inputs.rtt_plus) <= 0:
        raise NoSolutionError("BBR would have nothing in flight", edge=0)
    if min(inputs.delay, inputs.full, inputs.queue) <= 0:
        raise NoSolutionError("there would be no queue", edge=0)
    if inputs.k * inputs.largest <= 0:
        raise NoSolutionError("CUBIC would keep nothing of its window", edge=1)


def _least(x: float, inputs: Inputs) -> float:
    """CUBIC's least queue b_cmin in BDP.

    Equation 10 is the same as equations 7 to 9 with a gain of 2: R + Q = 2 R+. Its own ratio
    divides the queue.
    """
    queue = inputs.full * x / inputs.queue
    gain = inputs.flight * inputs.rtt_plus / inputs.delay
    windows_least = (queue + 1) / gain - 1
    if inputs.seen <= 0 < windows_least:
        raise NoSolutionError("CUBIC's least in BBR's windows would not be 0", edge=0)
    return windows_least / inputs.seen if inputs.seen > 0 else min(windows_least, 0.0)


def _share(held: float, x: float, inputs: Inputs) -> float:
    share = held / (inputs.full * x)
    if share > 1:
        raise NoSolutionError("BBR would hold more than the whole queue", edge=1)
    return share
