"""Mishra 2022 with measured values in place of its assumptions, one factor for each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .mishra2022 import CUBIC_KEEPS
from .question import ModelError


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
    Little's law the share is b / (full X). The defaults give `mishra2022.share_of_bbr`.

    Args:
        x: Buffer in BDP, at least 1.
        inputs: The inputs.

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
