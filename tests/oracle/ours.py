"""Our queue disciplines before the same line: hosts/dpdk/test/play_shim.c through cffi."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.model.core import CORE, Lane, array
from tests.oracle.linux_qdiscs import ARRIVAL, OUTCOME, Line


@dataclass(frozen=True)
class Ours:
    """A discipline of ours.

    Attributes:
        limit: In `unit`.
        unit: "bytes" or "packets".
        counts: "system" or "queue".
        name: Such as "codel"; empty: drop-tail.
        params: By their names in C: times in ns, sizes in bytes.
        shaper: Burst in bytes, peak rate in bit/s (0: none) and mtu in bytes of a token bucket in
            place of the line.
    """

    limit: int
    unit: str = "bytes"
    counts: str = "queue"
    name: str = ""
    params: Mapping[str, float] = field(default_factory=dict)
    shaper: tuple[int, int, int] = (0, 0, 0)


def play(ours: Ours, line: Line, arrivals: NDArray[Any]) -> NDArray[Any]:
    """What becomes of arrivals: shape (n,), dtype OUTCOME; what waits at the end is sent."""
    arrivals = np.ascontiguousarray(arrivals, ARRIVAL)
    outcomes = np.zeros(len(arrivals), OUTCOME)
    lane = Lane(line.rate_bps, ours.limit, ours.unit, 0, ours.counts, line.overhead)
    if ours.name:
        lane.discipline(ours.name, line.seed, **ours.params)
    if any(ours.shaper):
        lane.shaper(*ours.shaper)
    came, data = array("struct arrival[]", arrivals), array("struct outcome[]", outcomes)
    assert CORE.call("play", lane.handle, came, len(arrivals), data) == 0
    return outcomes
