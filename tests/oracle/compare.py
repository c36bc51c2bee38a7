# SPDX-License-Identifier: Apache-2.0
"""What two queue disciplines made of the same arrivals, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

COMPARED = ("dropped", "marked", "departure_ns")


def assert_same(
    ours: NDArray[Any], theirs: NDArray[Any], columns: tuple[str, ...] = COMPARED
) -> None:
    """Every packet has the same fate at the same times.

    Args:
        ours: Shape (n,), dtype OUTCOME.
        theirs: Likewise.
        columns: What is compared.
    """
    differs = np.zeros(len(ours), bool)
    for column in columns:
        differs |= ours[column] != theirs[column]
    if differs.any():
        first = int(np.argmax(differs))
        raise AssertionError(
            f"{differs.sum()} of {len(ours)} packets differ, first packet {first}: "
            f"ours {describe(ours[first])}, Linux's {describe(theirs[first])}; drops "
            f"{ours['dropped'].sum()} and {theirs['dropped'].sum()}, marks "
            f"{ours['marked'].sum()} and {theirs['marked'].sum()}"
        )


def describe(outcome: NDArray[Any]) -> str:
    """One packet's fate."""
    fate = "dropped" if outcome["dropped"] else "marked" if outcome["marked"] else "sent"
    return f"{fate} (decided {outcome['decided_ns']}, left {outcome['departure_ns']})"
