"""The end of a packet's serialisation, which P4 does not see: it sees the packet leave its queue.

The shaper lets a packet go when the one before it would have been serialised at the shaper's
rate; its own end is its own length at that rate later. Length and rate are known afterwards.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contract.records import CLOCK_WRAP_NS, KIND_DEPARTED, POSTCARD, join_u48
from ...contract.target import Applied

NS = 10**9


def add_serialisation(path: Path, applied: Applied) -> None:
    """Move the departures in a file of raw postcards, all of one lane, to the ends of packets.

    Args:
        path: The file; a record that is cut off at its end is left for its reader to refuse.
        applied: The lane's rate and what it counts.
    """
    count = path.stat().st_size // POSTCARD.itemsize
    if count == 0:
        return
    cards = np.memmap(path, dtype=POSTCARD, mode="r+", shape=(count,))
    departed = np.flatnonzero(cards["kind"] == KIND_DEPARTED)
    if len(departed) == 0:
        return
    left = join_u48(cards["dequeue_high"][departed], cards["dequeue_low"][departed])
    counted = cards["packet_bytes"][departed].astype(np.int64) + applied.overhead_bytes
    taken = counted * 8 * NS // applied.rate_bps
    # After a burst a short packet may follow a long one at once: a link keeps their order.
    since_first = np.maximum.accumulate((left - left[0]) % CLOCK_WRAP_NS + taken)
    ends = (left[0] + since_first) % CLOCK_WRAP_NS
    cards["dequeue_high"][departed] = ends >> 32
    cards["dequeue_low"][departed] = ends & 0xFFFFFFFF
    cards.flush()
