"""The end of a packet's time on the link, where the next packet cut it short.

simple_switch's threads are late by turns: a packet let go late, and the next on time, are less
than a slot apart. P4 then has the first off the link when the second is let go, but its postcard
was written before. Only the next postcard shows it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contract.records import CLOCK_WRAP_NS, KIND_DEPARTED, POSTCARD, join_u48


def settle_departures(path: Path, slot_ns: int) -> int:
    """Correct the departures in a file of raw postcards, all of one lane.

    Args:
        path: The file; a record that is cut off at its end is left for its reader to refuse.
        slot_ns: A packet's time on the link.

    Returns:
        How many were corrected.
    """
    count = path.stat().st_size // POSTCARD.itemsize
    if count == 0:
        return 0
    cards = np.memmap(path, dtype=POSTCARD, mode="r+", shape=(count,))
    departed = np.flatnonzero(cards["kind"] == KIND_DEPARTED)
    ends = join_u48(cards["dequeue_high"][departed], cards["dequeue_low"][departed])
    short = (ends[:-1] + slot_ns - ends[1:]) % CLOCK_WRAP_NS
    cut = np.flatnonzero((short > 0) & (short <= slot_ns))
    settled = (ends[cut] - short[cut]) % CLOCK_WRAP_NS
    cards["dequeue_high"][departed[cut]] = settled >> 32
    cards["dequeue_low"][departed[cut]] = settled & 0xFFFFFFFF
    cards.flush()
    return len(cut)
