"""Goodput gain: what one congestion control alone gets more than another alone."""

from __future__ import annotations


def goodput_gain(first: float, second: float) -> float:
    """(second - first) / first (unit 1): 1.15 is 115 % more, -0.5 is half.

    Args:
        first: Goodput with the first congestion control.
        second: Goodput with the second one, in the same unit.

    Returns:
        The gain; NaN if the first got nothing or one of them was not measured.

    Source: Cao et al., IMC 2019, section 3.1.
    """
    return (second - first) / first if first > 0 else float("nan")
