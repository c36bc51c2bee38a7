"""Postcards made of plain numbers."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import POSTCARD, POSTCARD_VERSION
from numpy.typing import NDArray


@dataclass(frozen=True)
class Card:
    """The fields that a test is about; times in ns on the switch clock, as if it did not wrap."""

    flow: int = 0
    size: int = 1000
    enqueue_ns: int = 0
    dequeue_ns: int = 0
    dropped: bool = False
    lane_seq: int = 0
    marks: int = 0


def postcards(cards: Iterable[Card]) -> NDArray[Any]:
    """The records of these cards, shape (n,), dtype records.POSTCARD."""
    cards = list(cards)
    records = np.zeros(len(cards), POSTCARD)
    records["version"] = POSTCARD_VERSION
    for record, card in zip(records, cards, strict=True):
        record["kind"] = card.dropped
        record["flow"] = card.flow
        record["packet_bytes"] = card.size
        record["lane_seq"] = card.lane_seq
        record["marks"] = card.marks
        for name, time_ns in (("enqueue", card.enqueue_ns), ("dequeue", card.dequeue_ns)):
            record[f"{name}_high"], record[f"{name}_low"] = divmod(time_ns % 2**48, 2**32)
    return records
