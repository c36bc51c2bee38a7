"""What a postcard's `marks` say: whether CE was set, ECN in the header, and why it was dropped."""

import numpy as np
from nashbed.controlplane.contract.records import (
    KIND_DROPPED,
    MARK_CAPABLE,
    MARK_CE,
    MARK_REASON,
)
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

NOT_ECT, ECT_0, CE = 0, 2, 3
"""The ECN field of an IP header (RFC 3168)."""


def whole_marks(cards: Arrays) -> Arrays:
    """The postcards with marks as whole numbers: 0 of a trial in which nothing can be marked."""
    if "marks" not in cards:
        return cards
    return cards | {"marks": np.nan_to_num(cards["marks"]).astype(np.uint8)}


def is_marked(cards: Arrays) -> NDArray[np.bool_]:
    """Which packets left with CE that the bottleneck set."""
    marked: NDArray[np.bool_] = (cards["marks"] & MARK_CE) != 0
    departed: NDArray[np.bool_] = cards["kind"] != KIND_DROPPED
    return marked & departed


def is_capable(cards: Arrays) -> NDArray[np.bool_]:
    """Which packets were ECN-capable when they arrived."""
    capable: NDArray[np.bool_] = (cards["marks"] & MARK_CAPABLE) != 0
    return capable


def ecn_field(cards: Arrays) -> NDArray[np.uint8]:
    """ECN as each packet left: ECT(0) stands for either, as postcards do not tell them apart."""
    field = np.where(is_capable(cards), ECT_0, NOT_ECT)
    return np.where(is_marked(cards), CE, field).astype(np.uint8)


def reason_of(marks: int) -> str:
    """Why a packet was dropped, of its marks."""
    number = marks & MARK_REASON
    return DROP_REASONS[number] if number < len(DROP_REASONS) else f"reason {number}"
