"""Postcards: raw records of a lane -> batches with times after t0 -> postcards.parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.errors import TargetError
from ..contract.records import KIND_DEPARTED, KIND_DROPPED, POSTCARD, POSTCARD_VERSION
from .parquet import TableLayout, write_table
from .raw_files import BATCH_RECORDS, Ints, LaneClock, lane_flows, read_telemetry

POSTCARDS = TableLayout(
    "postcards",
    pa.schema(
        [
            ("kind", pa.uint8()),
            ("flow", pa.uint32()),
            ("packet_bytes", pa.uint32()),
            ("payload_bytes", pa.uint16()),
            ("tcp_seq", pa.uint32()),
            ("tcp_flags", pa.uint8()),
            ("queue_bytes", pa.uint32()),
            ("enqueue_ns", pa.int64()),
            ("dequeue_ns", pa.int64()),
            ("seq", pa.uint32()),
        ]
    ),
    increasing=("enqueue_ns", "dequeue_ns", "seq", "tcp_seq", "queue_bytes"),
)
"""One row for each postcard, as written: departures by dequeue time, drops at their time."""


@dataclass(frozen=True)
class PostcardBatch:
    """Consecutive postcards as columns, all of the same length.

    Attributes:
        dropped: Whether the packet was dropped.
        flow: The lane's own flow number, from 0.
        packet_bytes: Frame length without FCS.
        payload_bytes: TCP payload.
        tcp_seq: Sequence number, 32 bits.
        tcp_flags: TCP flags.
        queue_bytes: Bytes in the queue when the packet arrived.
        enqueue_ns: Arrival after t0.
        dequeue_ns: Departure after t0; a dropped packet's arrival.
        seq: Number of the postcard.
    """

    dropped: NDArray[np.bool_]
    flow: Ints
    packet_bytes: Ints
    payload_bytes: Ints
    tcp_seq: Ints
    tcp_flags: NDArray[np.uint8]
    queue_bytes: Ints
    enqueue_ns: Ints
    dequeue_ns: Ints
    seq: Ints

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns of the table."""
        columns = vars(self).copy()
        return {"kind": columns.pop("dropped").astype(np.uint8), **columns}

    @classmethod
    def joined(cls, batches: Sequence[PostcardBatch]) -> PostcardBatch:
        """Consecutive batches as one; an empty one without any."""

        def column(name: str) -> NDArray[Any]:
            if not batches:
                return np.empty(0, np.bool_ if name == "dropped" else np.int64)
            return np.concatenate([getattr(batch, name) for batch in batches])

        return cls(**{field.name: column(field.name) for field in fields(cls)})


def read_postcards(
    path: Path, clock: LaneClock, batch: int = BATCH_RECORDS
) -> Iterator[PostcardBatch]:
    """Read a file of raw postcards in batches.

    Args:
        path: The data plane's file.
        clock: Lane, flows and time of the trial.
        batch: Records at once.

    Raises:
        TargetError: The file is cut off, or has records that are not this lane's.
    """
    for raw in read_telemetry(path, POSTCARD, batch):
        _check(path, raw, clock)
        yield PostcardBatch(
            dropped=raw["kind"] == KIND_DROPPED,
            flow=lane_flows(path, raw, clock),
            packet_bytes=raw["packet_bytes"].astype(np.int64),
            payload_bytes=raw["payload_bytes"].astype(np.int64),
            tcp_seq=raw["tcp_seq"].astype(np.int64),
            tcp_flags=raw["tcp_flags"].astype(np.uint8),
            queue_bytes=raw["queue_bytes"].astype(np.int64),
            enqueue_ns=clock.relative_ns(raw["enqueue_high"], raw["enqueue_low"]),
            dequeue_ns=clock.relative_ns(raw["dequeue_high"], raw["dequeue_low"]),
            seq=raw["lane_seq"].astype(np.int64),
        )


def write_postcards(folder: Path, batches: Iterable[PostcardBatch]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return write_table(folder, POSTCARDS, (batch.columns() for batch in batches))


def _check(path: Path, raw: NDArray[Any], clock: LaneClock) -> None:
    known_kind = np.isin(raw["kind"], (KIND_DEPARTED, KIND_DROPPED))
    if not np.all(known_kind & (raw["version"] == POSTCARD_VERSION)):
        raise TargetError(f"{path}: a record is not a postcard of version {POSTCARD_VERSION}")
    if np.any(raw["lane"] != clock.lane):
        raise TargetError(f"{path}: has a postcard of another lane than {clock.lane}")
