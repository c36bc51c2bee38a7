#!/usr/bin/env python3
"""Make the traces of this folder again: `python3 configs/traces/make.py`. README.md has the models.

Every draw comes from random(), whose sequence Python keeps the same over its versions.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
MS = 1000


def exponential(draw: random.Random, mean: float) -> float:
    """A draw of the exponential distribution."""
    return -mean * math.log(1.0 - draw.random())


def normal(draw: random.Random) -> float:
    """A draw of the standard normal distribution: twelve uniform ones (Irwin and Hall)."""
    return sum(draw.random() for _ in range(12)) - 6.0


def poisson(draw: random.Random, mean: float) -> int:
    """A draw of the Poisson distribution: how many exponential gaps fit into 1."""
    count, passed = 0, exponential(draw, 1.0)
    while passed < mean:
        count += 1
        passed += exponential(draw, 1.0)
    return count


def opportunities(times_ms: list[int], end_ms: int) -> str:
    """Mahimahi's form: a line for each opportunity, the last at the end of the trace."""
    return "".join(f"{at}\n" for at in [*times_ms, end_ms])


def cellular(seed: int = 8, length_s: int = 60) -> str:
    """Opportunities of a Poisson process whose rate is a Brownian motion, with outages.

    The model and its numbers are those that Sprout infers a link by (Winstein, Sivaraman and
    Balakrishnan, NSDI 2013, section 3.1): the rate changes by 200 packets/s in the root of a
    second, between 0 and 1000 packets/s; one that has come to 0 stays there for 1 s on average.
    """
    draw, tick_ms = random.Random(seed), 20  # noqa: S311 - no secret
    rate, times = 500.0, []
    for begin in range(0, length_s * MS, tick_ms):
        if rate > 0.0:
            step = 200.0 * math.sqrt(tick_ms / MS) * normal(draw)
            rate = min(1000.0, max(0.0, rate + step))
        elif draw.random() < tick_ms / MS:
            rate = 100.0
        made = poisson(draw, rate * tick_ms / MS)
        times += sorted(begin + int(draw.random() * tick_ms) for _ in range(made))
    return opportunities(times, length_s * MS)


def satellite(seed: int = 6, length_s: int = 60) -> str:
    """Rates of a link that gets another satellite each 15 s.

    With each the rate is another one, from 10 to 50 Mbit/s; in each second it is up to 10 % below
    it. A handover interrupts the link for 100 ms.
    """
    draw, rows = random.Random(seed), ["t_s,rate_bps"]  # noqa: S311 - no secret
    for second in range(length_s):
        if second % 15 == 0:
            best = 10e6 + 40e6 * draw.random()
            rows.append(f"{second},0")
        at = f"{second}.1" if second % 15 == 0 else f"{second}"
        rows.append(f"{at},{round(best * (1.0 - 0.1 * draw.random()))}")
    return "\n".join([*rows, f"{length_s},0"]) + "\n"


def wifi(seed: int = 3, length_s: int = 20) -> str:
    """Bursts of a station that contends for the channel.

    It wins the channel every 8 ms on average, exponentially, and then sends an aggregate of 4 to
    24 packets at once.
    """
    draw, times, at = random.Random(seed), [], 0.0  # noqa: S311 - no secret
    while (at := at + exponential(draw, 8.0)) < length_s * MS:
        times += [int(at)] * (4 + int(draw.random() * 21))
    return opportunities(times, length_s * MS)


TRACES: dict[str, Callable[[], str]] = {
    "cellular.trace": cellular,
    "satellite.csv": satellite,
    "wifi.trace": wifi,
}


def main() -> int:
    """Write all of them."""
    for name, make in TRACES.items():
        (HERE / name).write_text(make())
    return 0


if __name__ == "__main__":
    sys.exit(main())
