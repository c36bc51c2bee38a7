# SPDX-License-Identifier: Apache-2.0
"""Our queue disciplines before the same line: hosts/dpdk/test/play_shim.c through ctypes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.core import COUNTS, LIBRARY, UNITS
from tests.oracle.linux_qdiscs import ARRIVAL, OUTCOME, Line


@dataclass(frozen=True)
class Ours:
    """A discipline of ours.

    Attributes:
        limit: In `unit`.
        unit: "bytes" or "packets".
        counts: "system" or "queue".
    """

    limit: int
    unit: str = "bytes"
    counts: str = "queue"


def play(ours: Ours, line: Line, arrivals: NDArray[Any]) -> NDArray[Any]:
    """What becomes of arrivals: shape (n,), dtype OUTCOME; what waits at the end is sent."""
    arrivals = np.ascontiguousarray(arrivals, ARRIVAL)
    outcomes = np.zeros(len(arrivals), OUTCOME)
    error = _library().shim_play(
        ctypes.c_uint64(line.rate_bps),
        ctypes.c_uint64(ours.limit),
        UNITS.index(ours.unit),
        COUNTS.index(ours.counts),
        line.overhead,
        arrivals.ctypes.data_as(ctypes.c_void_p),
        len(arrivals),
        outcomes.ctypes.data_as(ctypes.c_void_p),
    )
    assert error == 0
    return outcomes


@cache
def _library() -> ctypes.CDLL:
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built: run `make build`")
    return ctypes.CDLL(str(LIBRARY))
