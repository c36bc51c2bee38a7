"""How one clock stands to another, and times carried over from the one to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.model import ContractModel
from numpy.typing import NDArray

from .timebase import ClockError, Instants, TimeBase

LEAST_PACKETS = 32
LEAST_SPAN_PS = 10**10
"""10 ms: from a shorter common time no drift can be estimated."""
PARTS = 4
PS = 1e-12
LARGEST_DRIFT = 1e-3
"""Worse than any oscillator."""
STEPS = 64
"""Halvings of twice the largest drift: to the last bit of a double."""


class ClockOffset(ContractModel):
    """other = reference + offset + drift * (reference - start), where start is `origin_s`.

    Attributes:
        origin_s: Second of the reference at which the offset holds.
        other_origin_s: Second of the other clock that its fitted times are counted from.
        offset_ps: Picoseconds besides the difference of these two seconds.
        drift: By how much the other clock is faster, dimensionless.
        offset_error_ps: Largest error of the offset.
        drift_error: Largest error of the drift.
    """

    origin_s: int
    other_origin_s: int
    offset_ps: float
    drift: float
    offset_error_ps: float
    drift_error: float
    packets: int
    span_s: float


class Alignment(ClockOffset):
    """Two clocks, and how the one stands to the other.

    Attributes:
        reference: The clock taken as true.
        other: The clock that is described.
    """

    reference: TimeBase
    other: TimeBase

    def to_reference(self, times: Instants) -> Instants:
        """Times of the other clock as the reference would show them.

        Raises:
            ClockError: They are of some third clock.
        """
        if times.base != self.other:
            raise ClockError(f"times of {times.base} are not of {self.other}, which was aligned")
        ps = times.ps + (times.origin_s - self.other_origin_s) * 10**12
        since = (ps - self.offset_ps) / (1 + self.drift)
        correction = self.offset_ps + self.drift * since
        return Instants(self.reference, self.origin_s, ps - np.rint(correction).astype(np.int64))

    def inverted(self) -> Alignment:
        """This alignment, seen from the other clock."""
        return Alignment(
            reference=self.other,
            other=self.reference,
            origin_s=self.other_origin_s,
            other_origin_s=self.origin_s,
            offset_ps=-self.offset_ps / (1 + self.drift),
            drift=-self.drift / (1 + self.drift),
            offset_error_ps=self.offset_error_ps,
            drift_error=self.drift_error,
            packets=self.packets,
            span_s=self.span_s,
        )

    def text(self) -> str:
        """One line for a report."""
        offset_s = (self.other_origin_s - self.origin_s) + self.offset_ps * PS
        return (
            f"{self.other} is {offset_s:+.9f} s (± {self.offset_error_ps / 1e3:.0f} ns) from "
            f"{self.reference} and {self.drift * 1e6:+.4f} ppm (± {self.drift_error * 1e6:.4f}) "
            f"fast, by {self.packets} packets over {self.span_s:.1f} s"
        )


def align(reference: Instants, other: Instants, transit_ps: int = 0) -> Alignment:
    """Find offset and drift from the times of the same packets on two clocks.

    The packets' shortest way from the reference to the other source is taken to last
    `transit_ps`: what is not known of it is in the offset. Queueing only lengthens the way, so
    the lower envelope of the differences is free of it as long as some packets met none, early
    and late.

    The errors are the largest departures of the estimates that quarters of the packets give:
    a quarter knows less than the whole, so this errs on the safe side.

    Args:
        reference: Times of n packets at the one source.
        other: Times of the same packets, in the same order, at the other.
        transit_ps: Their shortest way from the one to the other.

    Raises:
        ClockError: Too few packets, too short, or no clocks at all.
    """
    if len(reference) != len(other):
        raise ClockError(f"{len(reference)} times cannot be compared with {len(other)}")
    _check_common(reference, other)
    x = reference.ps.astype(np.float64)
    difference = (other.ps - reference.ps).astype(np.float64) - transit_ps
    whole = lower_envelope(x, difference)
    if abs(whole.slope) > 0.99 * LARGEST_DRIFT:
        raise ClockError(
            f"{other.base} and {reference.base} drift apart by more than "
            f"{LARGEST_DRIFT * 1e6:.0f} ppm: other packets, or all of them met a queue"
        )
    parts = [lower_envelope(x[n::PARTS], difference[n::PARTS]) for n in range(PARTS)]
    middle = float(x.mean())
    return Alignment(
        reference=reference.base,
        other=other.base,
        origin_s=reference.origin_s,
        other_origin_s=other.origin_s,
        offset_ps=whole.at_zero,
        drift=whole.slope,
        offset_error_ps=max(abs(_at(p, middle) - _at(whole, middle)) for p in parts)
        + max(abs(p.slope - whole.slope) for p in parts) * middle,
        drift_error=max(abs(p.slope - whole.slope) for p in parts),
        packets=len(x),
        span_s=float(x.max() - x.min()) * PS,
    )


def _at(line: Envelope, x: float) -> float:
    return line.at_zero + line.slope * x


def _check_common(reference: Instants, other: Instants) -> None:
    names = f"{reference.base} and {other.base}"
    if len(reference) == 0:
        raise ClockError(f"{names} have no packets in common; were both on the same path?")
    if len(reference) < LEAST_PACKETS:
        raise ClockError(
            f"{names} have {len(reference)} packets in common; at least {LEAST_PACKETS} are needed"
        )
    if int(reference.ps.max() - reference.ps.min()) < LEAST_SPAN_PS:
        raise ClockError(
            f"{names} have packets in common for less than 10 ms: too short to estimate a drift"
        )


@dataclass(frozen=True)
class Envelope:
    """difference = at_zero + slope * x.

    Attributes:
        at_zero: At x = 0, in the unit of the differences.
        slope: Per unit of x.
    """

    at_zero: float
    slope: float


def lower_envelope(x: NDArray[np.float64], difference: NDArray[np.float64]) -> Envelope:
    """Fit the highest line that no difference lies below.

    A packet that met no queue takes the shortest way; everything else is above. Among the lines
    with all points on or above them, the one with the least sum of distances is wanted. For a
    slope the highest such line has at_zero = min(difference - slope x), so the sum is least
    where min(difference - slope x) + slope mean(x) is greatest: a concave function of the slope,
    whose rise is mean(x) less the x of the packet at the minimum. It is halved to its top.

    Args:
        x: Times on one clock, shape (n,).
        difference: Times on the other clock less those on the first, shape (n,), same unit.

    Source: Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay
    measurements", INFOCOM 1999 (the linear program there, solved by its dual).
    """
    middle = float(x.mean())
    low, high = -LARGEST_DRIFT, LARGEST_DRIFT
    for _ in range(STEPS):
        slope = (low + high) / 2
        if x[np.argmin(difference - slope * x)] < middle:
            low = slope
        else:
            high = slope
    slope = (low + high) / 2
    return Envelope(float((difference - slope * x).min()), slope)
