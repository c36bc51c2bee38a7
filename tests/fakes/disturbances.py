"""What a fake data plane says of what held frames up: in every 100 ms the same.

In real time 100 departures of a bin are 20 us late in all and 50 round trips 1 us too long in all,
and the loop pauses for 1 ms in the middle of the trial. A fault makes one of them worse.
"""

from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import DISTURBANCE, PAUSE
from nashbed.controlplane.contract.shared import CONSTANTS
from numpy.typing import NDArray

HELD_UP_NS = 300_000_000


def disturbances(span_ns: tuple[int, int], is_virtual: bool, fault: str) -> NDArray[Any]:
    """The bins from one time to another, both on CLOCK_MONOTONIC."""
    begins = np.arange(*span_ns, CONSTANTS.disturbance_bin_ns, dtype=np.int64)
    bins = np.zeros(len(begins), DISTURBANCE)
    bins["t_ns"], bins["departures"], bins["returns"], bins["responses"] = begins, 100, 50, 10
    if not is_virtual:
        bins["late_sum_ns"], bins["late_max_ns"] = 20_000, 5_000
        bins["error_sum_ns"], bins["error_max_ns"] = 1_000, 500
        bins["response_sum_ns"], bins["response_max_ns"] = 200_000, 40_000
    for name, stem in (("held_up", "error"), ("stalled", "response")):
        if fault == name:
            bins[f"{stem}_sum_ns"] = bins[f"{stem}_max_ns"] = HELD_UP_NS
    return bins


def pauses(span_ns: tuple[int, int], is_virtual: bool, fault: str) -> NDArray[Any]:
    """The loop's pauses in that time."""
    length = 10**9 if fault == "gap" else 1_000_000
    found = np.zeros(0 if is_virtual or span_ns[0] == span_ns[1] else 1, PAUSE)
    found["t_ns"], found["length_ns"] = sum(span_ns) // 2, length
    return found
