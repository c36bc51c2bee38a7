"""The equations that every form of Mishra, Tiu, Leong (IMC 2022) shares.

BBR is held back by its limit of two estimated bandwidth-delay products, and overestimates the
RTT by what CUBIC leaves in the queue at its minimum; CUBIC cuts its window to k of its largest
in each congestion event. The forms differ in k alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .prediction import Prediction, no_competition
from .question import Question

SOURCE = "Mishra, Tiu, Leong, IMC 2022"
MIN_BDP, MAX_BDP = 1.0, 100.0
VALIDITY = "buffers of 1 to 100 BDP, one base RTT, BBR version 1"
CUBIC_KEEPS = 0.7
"""Part of its window that one CUBIC flow keeps when it loses a packet (RFC 9438, beta)."""


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


def outside(question: Question) -> tuple[str, ...]:
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
    model: str, question: Question, k: float | None, refusals: tuple[str, ...] = ()
) -> Prediction:
    """The answer for a k, or the refusal.

    Args:
        model: Name of the form that was asked.
        question: The question.
        k: Its k; None if it has none for this question (then with a refusal).
        refusals: Its own reasons to refuse, besides the buffer's.
    """
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


def _flags(question: Question, held: Occupancy) -> tuple[str, ...]:
    """Reservations: at 1 BDP the equations have nothing for CUBIC."""
    if held.cubic_min > 0:
        return ()
    return (
        f"the buffer is {question.buffer_bdp:.3g} BDP: at 1 BDP b_cmin = (B - C R)/2 is 0, and the "
        "equations leave CUBIC nothing, whatever the mix",
    )
