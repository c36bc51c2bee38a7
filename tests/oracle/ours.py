# SPDX-License-Identifier: Apache-2.0
"""Our queue disciplines before the same line: hosts/dpdk/test/play_shim.c through ctypes."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    n = len(ours.params)
    names = (ctypes.c_char_p * n)(*(name.encode() for name in ours.params))
    values = (ctypes.c_double * n)(*(float(value) for value in ours.params.values()))
    setup = _Setup(
        line.rate_bps,
        ours.limit,
        line.seed,
        *ours.shaper,
        UNITS.index(ours.unit),
        COUNTS.index(ours.counts),
        line.overhead,
        n,
        ours.name.encode() or None,
        ctypes.addressof(names),
        ctypes.addressof(values),
    )
    error = _library().shim_play(
        ctypes.byref(setup),
        arrivals.ctypes.data_as(ctypes.c_void_p),
        len(arrivals),
        outcomes.ctypes.data_as(ctypes.c_void_p),
    )
    if error:
        raise OSError(-error, f"{ours} is refused")
    return outcomes


class _Setup(ctypes.Structure):
    """struct setup of play_shim.c."""

    _fields_ = (
        ("rate_bps", ctypes.c_uint64),
        ("limit", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        *((name, ctypes.c_uint64) for name in ("burst_bytes", "peak_bps", "mtu_bytes")),
        ("unit", ctypes.c_uint32),
        ("counts", ctypes.c_uint32),
        ("overhead_bytes", ctypes.c_uint32),
        ("n_params", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("params", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
    )


@cache
def _library() -> ctypes.CDLL:
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built: run `make build`")
    return ctypes.CDLL(str(LIBRARY))
