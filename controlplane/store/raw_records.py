"""Raw postcards in pieces of bounded size, with times relative to t0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.errors import TargetError
from ..contract.records import (
    BIN,
    CLOCK_WRAP_NS,
    KIND_DEPARTED,
    KIND_DROPPED,
    POSTCARD,
    POSTCARD_VERSION,
    join_u48,
)

PIECE = 1 << 18
"""Records read at once: about 10 MB raw and 30 MB as columns."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LaneClock:
    """What turns a lane's raw records into those of a trial.

    Attributes:
        lane: The lane that all records must be of.
        first_flow: Flow table id of the lane's flow 0.
        flows: Number of the lane's flows.
        t0_switch_ns: The trial's t0 on the switch clock.
    """

    lane: int
    first_flow: int
    flows: int
    t0_switch_ns: int


@dataclass(frozen=True)
class Piece:
    """Consecutive postcards as columns, all of the same length.

    Attributes:
        dropped: Whether the packet was dropped.
        flow: The lane's own flow number, from 0.
        packet_bytes: Frame length without FCS.
        payload_bytes: TCP payload.
        tcp_seq: Sequence number, 32 bits.
        tcp_flags: TCP flags.
        queue_bytes: Bytes in the queue when the packet came.
        enqueue_ns: Arrival, relative to t0.
        dequeue_ns: Departure, relative to t0; a dropped packet's arrival.
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


def read_pieces(path: Path, clock: LaneClock, piece: int = PIECE) -> Iterator[Piece]:
    """Read a file of raw postcards piece by piece.

    Args:
        path: The file.
        clock: Lane, flows and time of the trial.
        piece: Records at once.

    Raises:
        TargetError: The file is cut off, or holds records that are not this lane's.
    """
    for raw in _read_records(path, POSTCARD, piece):
        _check(path, raw, clock)
        yield Piece(
            dropped=raw["kind"] == KIND_DROPPED,
            flow=raw["flow"].astype(np.int64) - clock.first_flow,
            packet_bytes=raw["packet_bytes"].astype(np.int64),
            payload_bytes=raw["payload_bytes"].astype(np.int64),
            tcp_seq=raw["tcp_seq"].astype(np.int64),
            tcp_flags=raw["tcp_flags"].astype(np.uint8),
            queue_bytes=raw["queue_bytes"].astype(np.int64),
            enqueue_ns=relative_u48(raw["enqueue_high"], raw["enqueue_low"], clock.t0_switch_ns),
            dequeue_ns=relative_u48(raw["dequeue_high"], raw["dequeue_low"], clock.t0_switch_ns),
            seq=raw["lane_seq"].astype(np.int64),
        )


def read_bins(path: Path, clock: LaneClock, piece: int = PIECE) -> Iterator[NDArray[Any]]:
    """Read a file of raw bins piece by piece, with flow numbers made the lane's own."""
    for raw in _read_records(path, BIN, piece):
        flow = raw["flow"].astype(np.int64) - clock.first_flow
        if np.any((flow < 0) | (flow >= clock.flows)):
            raise TargetError(f"{path}: a bin is of a flow that is not this lane's")
        own = raw.copy()
        own["flow"] = flow
        yield own


def relative_u48(high: NDArray[Any], low: NDArray[Any], origin_ns: int) -> Ints:
    """48-bit times relative to an origin, right across the clock's wrap (78 hours).

    Args:
        high: Upper 16 bits.
        low: Lower 32 bits.
        origin_ns: The origin on the same clock.
    """
    mask = CLOCK_WRAP_NS - 1
    distance = (join_u48(high, low) - (origin_ns & mask)) & mask
    return np.where(distance >= CLOCK_WRAP_NS // 2, distance - CLOCK_WRAP_NS, distance)


def _read_records(path: Path, record: np.dtype[Any], piece: int) -> Iterator[NDArray[Any]]:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise TargetError(f"{path}: the data plane wrote no telemetry") from error
    if size % record.itemsize:
        raise TargetError(f"{path}: ends in the middle of a record ({size} bytes)")
    with path.open("rb") as stream:
        while chunk := stream.read(piece * record.itemsize):
            yield np.frombuffer(chunk, dtype=record)


def _check(path: Path, raw: NDArray[Any], clock: LaneClock) -> None:
    if np.any(raw["version"] != POSTCARD_VERSION) or np.any(
        ~np.isin(raw["kind"], (KIND_DEPARTED, KIND_DROPPED))
    ):
        raise TargetError(f"{path}: holds something that is no postcard of this version")
    if np.any(raw["lane"] != clock.lane):
        raise TargetError(f"{path}: holds a postcard of another lane than {clock.lane}")
    flow = raw["flow"].astype(np.int64) - clock.first_flow
    if np.any((flow < 0) | (flow >= clock.flows)):
        raise TargetError(f"{path}: holds a postcard of a flow that is not this lane's")
