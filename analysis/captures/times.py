"""Times as whole numbers: seconds and units of a fraction, nothing rounded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PICO = 10**12
DIGITS = 12
WORD = 1 << 64


@dataclass(frozen=True)
class Times:
    """Times of n packets, as exact as their source gives them.

    Attributes:
        seconds: Whole seconds, shape (n,).
        fraction: Units of the last second, below `per_second`, shape (n,).
        per_second: How many of these units make a second.
    """

    seconds: NDArray[np.int64]
    fraction: NDArray[np.uint64]
    per_second: int

    def __len__(self) -> int:
        return len(self.seconds)

    def take(self, which: Any) -> Times:
        """Some of them: an index, a mask or a slice of numpy."""
        return Times(self.seconds[which], self.fraction[which], self.per_second)

    def exact(self, index: int) -> tuple[int, int, int]:
        """Seconds, fraction and units per second of one packet."""
        return int(self.seconds[index]), int(self.fraction[index]), self.per_second

    def picoseconds(self, origin_s: int) -> NDArray[np.int64]:
        """Picoseconds since a second, floored, shape (n,).

        Exact for every format but the Exablaze trailer (0.91 ps), ERF and base-2 pcapng, of
        which less than 1 ps is cut off. Good for 106 days either side of the origin.
        """
        return (self.seconds - origin_s) * PICO + self._below_second()

    def _below_second(self) -> NDArray[np.int64]:
        """Long division by `per_second`, as many decimal digits at a time as 64 bits hold."""
        per_second = self.per_second
        if per_second * 10 > WORD:
            whole = [int(f) * PICO // per_second for f in self.fraction]
            return np.array(whole, dtype=np.int64)
        digits = min(DIGITS, len(str(WORD // per_second)) - 1)
        rest = self.fraction.copy()
        result = np.zeros(len(rest), dtype=np.int64)
        left = DIGITS
        while left > 0:
            step = 10 ** min(digits, left)
            left -= min(digits, left)
            rest *= np.uint64(step)
            quotient, rest = np.divmod(rest, np.uint64(per_second))
            result = result * step + quotient.astype(np.int64)
        return result


def merged(parts: Sequence[tuple[NDArray[np.intp], Times]], count: int) -> Times | None:
    """One series of times from several, in the unit that divides those of all.

    Args:
        parts: Where each time stands in the whole, and the times.
        count: Length of the whole.

    Returns:
        The whole; None: the common unit does not fit 64 bits.
    """
    if len(parts) == 1:
        return parts[0][1]
    per_second = math.lcm(*(times.per_second for _, times in parts))
    if per_second > WORD:
        return None
    seconds, fraction = np.zeros(count, np.int64), np.zeros(count, np.uint64)
    for where, times in parts:
        seconds[where] = times.seconds
        fraction[where] = times.fraction * np.uint64(per_second // times.per_second)
    return Times(seconds, fraction, per_second)
