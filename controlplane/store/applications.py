"""The tables of applications, which only trials have that use them: `segments` and `datagrams`.

Every time in them is int64 nanoseconds after the trial's t0.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.records import ARRIVED_DATAGRAM, SEGMENT, SENT_DATAGRAM
from ..contract.shared import CONSTANTS
from .parquet import TableLayout, write_table
from .raw_files import read_generator_file

SEGMENTS = TableLayout(
    "segments",
    pa.schema(
        [
            ("flow", pa.uint32()),
            ("segment", pa.uint32()),
            ("bitrate_bps", pa.uint64()),
            ("size_bytes", pa.uint64()),
            ("requested_ns", pa.int64()),
            ("completed_ns", pa.int64()),
            ("buffer_ns", pa.int64()),
            ("stalled_ns", pa.int64()),
        ]
    ),
)
"""One row for each segment that a player asked for, in the order of flows and segments."""
DATAGRAMS = TableLayout(
    "datagrams",
    pa.schema(
        [
            ("flow", pa.uint32()),
            ("seq", pa.uint32()),
            ("bytes", pa.uint32()),
            ("sent_ns", pa.int64()),
            ("arrived_ns", pa.int64()),
        ]
    ),
    increasing=("seq", "sent_ns", "arrived_ns"),
)
"""One row for each datagram, in the order of flows and sequence numbers."""
ARRIVED = np.dtype(
    [(name, SENT_DATAGRAM[name]) for name in ("flow", "seq", "bytes", "sent_ns")]
    + [("arrived_ns", np.int64), ("copies", np.int64)]
)
"""A datagram that was sent, and how often it arrived; arrived_ns is the first time, where any."""


def read_segments(folder: Path, t0_ns: int) -> NDArray[Any]:
    """Read a sender's segments as records of SEGMENT, sorted, with times after t0.

    `completed_ns` of one that never came is the smallest number.

    Args:
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        HostError: The file is cut off.
    """
    records = read_generator_file(folder / CONSTANTS.segments_file, SEGMENT)
    missing = records["completed_ns"] == 0
    for name in ("requested_ns", "completed_ns"):
        records[name] -= t0_ns
    records["completed_ns"][missing] = np.iinfo(np.int64).min
    return records[np.lexsort((records["segment"], records["flow"]))]


def write_segments(folder: Path, batches: Iterable[NDArray[Any]]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return write_table(folder, SEGMENTS, map(_segment_columns, batches))


def _segment_columns(records: NDArray[Any]) -> dict[str, Any]:
    missing = records["completed_ns"] == np.iinfo(np.int64).min
    columns: dict[str, Any] = {name: records[name] for name in SEGMENTS.schema.names}
    for name in ("completed_ns", "buffer_ns"):
        columns[name] = pa.array(records[name], pa.int64(), mask=missing)
    return columns


def read_datagrams(folder: Path, t0_ns: int) -> NDArray[Any]:
    """Join what a sender sent and what the sink received; records of ARRIVED, with times after t0.

    Args:
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        HostError: A file is missing or cut off.
    """
    sent = read_generator_file(folder / CONSTANTS.sent_file, SENT_DATAGRAM)
    arrived = read_generator_file(folder / CONSTANTS.arrived_file, ARRIVED_DATAGRAM)
    joined = np.zeros(len(sent), ARRIVED)
    for name in ("flow", "seq", "bytes"):
        joined[name] = sent[name]
    joined["sent_ns"] = sent["sent_ns"] - t0_ns
    joined = joined[np.lexsort((joined["seq"], joined["flow"]))]
    arrived = arrived[np.argsort(arrived["arrived_ns"], kind="stable")]
    keys, first, copies = np.unique(_keys(arrived), return_index=True, return_counts=True)
    place = np.searchsorted(_keys(joined), keys)
    joined["arrived_ns"][place] = arrived["arrived_ns"][first] - t0_ns
    joined["copies"][place] = copies
    return joined


def _keys(records: NDArray[Any]) -> NDArray[np.uint64]:
    flows = records["flow"].astype(np.uint64) << np.uint64(32)
    keys: NDArray[np.uint64] = flows | records["seq"]
    return keys


def write_datagrams(folder: Path, batches: Iterable[NDArray[Any]]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return write_table(folder, DATAGRAMS, map(_datagram_columns, batches))


def _datagram_columns(records: NDArray[Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: records[name] for name in DATAGRAMS.schema.names}
    columns["arrived_ns"] = pa.array(records["arrived_ns"], pa.int64(), mask=records["copies"] == 0)
    return columns
