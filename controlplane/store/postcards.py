"""Postcards and their sums in time bins: raw records of a lane -> batches -> Parquet tables.

Times in the batches are after t0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.errors import TargetError
from ..contract.records import (
    BIN,
    KIND_DEPARTED,
    KIND_DROPPED,
    MARK_CE,
    POSTCARD,
    POSTCARD_OF_QUEUES,
    POSTCARD_VERSION,
    POSTCARD_VERSION_QUEUES,
)
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
            ("marks", pa.uint8()),
            ("queue", pa.uint8()),
            ("own_queue_bytes", pa.uint32()),
        ]
    ),
    increasing=("enqueue_ns", "dequeue_ns", "seq", "tcp_seq", "queue_bytes", "own_queue_bytes"),
    marks=("marks",),
    queues=("queue", "own_queue_bytes"),
)
"""One row for each postcard, as written: departures by dequeue time, drops at their time."""
BIN_NUMBERS = 1 << 32
"""Records number bins modulo this."""
BINS = TableLayout(
    "bins",
    pa.schema(
        [
            ("bin_start_ns", pa.int64()),
            ("flow", pa.uint32()),
            ("departed_bytes", pa.uint64()),
            ("departed_packets", pa.uint32()),
            ("dropped_packets", pa.uint32()),
            ("dropped_bytes", pa.uint64()),
            ("occupancy_bytes_mean", pa.float64()),
            ("qdelay_mean_ns", pa.float64()),
            ("marked_packets", pa.uint32()),
            ("capable_packets", pa.uint32()),
        ]
    ),
    increasing=("bin_start_ns",),
    marks=("marked_packets", "capable_packets"),
)
"""One row for each flow and bin with any content; qdelay_mean_ns is null without departures."""


@dataclass(frozen=True)
class PostcardBatch:
    """Consecutive postcards as columns, all of the same length.

    Attributes:
        flow: The lane's own flow number, from 0.
        packet_bytes: Frame length without FCS.
        payload_bytes: TCP payload.
        tcp_seq: Sequence number, 32 bits.
        queue_bytes: Bytes in the queue, or in all queues, when the packet arrived.
        enqueue_ns: Arrival after t0.
        dequeue_ns: Departure after t0; of a dropped packet, when it was dropped.
        marks: Bits of records.MARK_CE and so on.
        queue: Index of the packet's queue; None: there is one queue.
        own_queue_bytes: Bytes in that queue when the packet arrived; likewise.
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
    marks: NDArray[np.uint8]
    queue: NDArray[np.uint8] | None = None
    own_queue_bytes: Ints | None = None

    @property
    def seen_ns(self) -> Ints:
        """When each packet reached the bottleneck, after t0."""
        return self.enqueue_ns

    @property
    def delay_ns(self) -> NDArray[np.float64]:
        """The queueing delay of each packet that left."""
        return (self.dequeue_ns - self.enqueue_ns).astype(np.float64)

    @property
    def marked(self) -> NDArray[np.bool_]:
        """In which packets the bottleneck set CE."""
        marked: NDArray[np.bool_] = (self.marks & MARK_CE) != 0
        return marked

    @property
    def departures(self) -> NDArray[Any]:
        """How many packets of each row left: one, or none where it was dropped."""
        return ~self.dropped

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns of the table."""
        columns = {name: column for name, column in vars(self).items() if column is not None}
        return {"kind": columns.pop("dropped").astype(np.uint8), **columns}

    @classmethod
    def joined(cls, batches: Sequence[PostcardBatch]) -> PostcardBatch:
        """Consecutive batches as one; an empty one without any."""
        names = (
            batches[0].names if batches else [f.name for f in fields(cls) if f.default is MISSING]
        )

        def column(name: str) -> NDArray[Any]:
            if not batches:
                return np.empty(0, np.bool_ if name == "dropped" else np.int64)
            return np.concatenate([getattr(batch, name) for batch in batches])

        return cls(**{name: column(name) for name in names})

    @property
    def names(self) -> list[str]:
        """Names of the columns that there are."""
        return [name for name, column in vars(self).items() if column is not None]


def read_postcards(
    path: Path, clock: LaneClock, batch: int = BATCH_RECORDS
) -> Iterator[PostcardBatch]:
    """Read a file of raw postcards in batches.

    Args:
        path: The data plane's file.
        batch: Records at once.

    Raises:
        TargetError: The file is cut off, or has records that are not this lane's.
    """
    several = say_queues(path)
    version = POSTCARD_VERSION_QUEUES if several else POSTCARD_VERSION
    for raw in read_telemetry(path, POSTCARD_OF_QUEUES if several else POSTCARD, batch):
        _check(path, raw, clock, version)
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
            marks=raw["marks"],
            queue=raw["queue"] if several else None,
            own_queue_bytes=raw["own_queue_bytes"].astype(np.int64) if several else None,
        )


def say_queues(path: Path) -> bool:
    """Whether a file of raw postcards is of a lane with several queues: its first byte says so."""
    try:
        with path.open("rb") as stream:
            return stream.read(1) == bytes([POSTCARD_VERSION_QUEUES])
    except FileNotFoundError:
        return False


def write_postcards(
    folder: Path, batches: Iterable[PostcardBatch], *, marks: bool, queues: bool = False
) -> int:
    """Write the table of a trial in `folder`; returns its number of rows.

    Args:
        marks: Whether packets can have been marked.
    """
    layout = POSTCARDS if marks else POSTCARDS.without_marks()
    layout = layout if queues else layout.without_queues()
    return write_table(folder, layout, (batch.columns() for batch in batches))


def _check(path: Path, raw: NDArray[Any], clock: LaneClock, version: int) -> None:
    known_kind = np.isin(raw["kind"], (KIND_DEPARTED, KIND_DROPPED))
    if not np.all(known_kind & (raw["version"] == version)):
        raise TargetError(f"{path}: a record is not a postcard of version {version}")
    if np.any(raw["lane"] != clock.lane):
        raise TargetError(f"{path}: has a postcard of another lane than {clock.lane}")


@dataclass(frozen=True)
class BinBatch:
    """Consecutive bins as columns, all of the same length.

    Attributes:
        bin_start_ns: Beginning of the bin after t0.
        flow: The lane's own flow number, from 0.
        departed_bytes: Bytes that left in the bin.
        departed_packets: Packets that left in the bin.
        occupancy_bytes_mean: Time average of the flow's bytes in the queue.
        qdelay_mean_ns: Mean queueing delay of the packets that left; undefined without any.
        marked_packets: Packets that left in the bin and were marked in the queue.
        capable_packets: ECN-capable packets that left in the bin.
    """

    bin_start_ns: Ints
    flow: Ints
    departed_bytes: NDArray[np.uint64]
    departed_packets: NDArray[np.uint32]
    dropped_packets: NDArray[np.uint32]
    dropped_bytes: NDArray[np.uint64]
    occupancy_bytes_mean: NDArray[np.float64]
    qdelay_mean_ns: NDArray[np.float64]
    marked_packets: NDArray[np.uint32]
    capable_packets: NDArray[np.uint32]

    @property
    def seen_ns(self) -> Ints:
        """When each bin begins, after t0."""
        return self.bin_start_ns

    @property
    def delay_ns(self) -> NDArray[np.float64]:
        """The mean queueing delay of each row's packets; undefined without any."""
        return self.qdelay_mean_ns

    @property
    def departures(self) -> NDArray[Any]:
        """How many packets of each row left."""
        return self.departed_packets

    def columns(self) -> dict[str, Any]:
        """The columns of the table."""
        delay = pa.array(self.qdelay_mean_ns, mask=self.departed_packets == 0)
        return vars(self) | {"qdelay_mean_ns": delay}


def read_bins(
    path: Path, clock: LaneClock, bin_ns: int, batch: int = BATCH_RECORDS
) -> Iterator[BinBatch]:
    """Read a file of raw bins in batches.

    Raises:
        TargetError: The file is cut off, or has bins of another lane's flows.
    """
    for raw in read_telemetry(path, BIN, batch):
        with np.errstate(invalid="ignore", divide="ignore"):
            delay = raw["qdelay_sum_ns"] / raw["departed_packets"].astype(np.float64)
        yield BinBatch(
            bin_start_ns=_starts_ns(raw["bin"], clock.t0_switch_ns, bin_ns),
            flow=lane_flows(path, raw, clock),
            departed_bytes=raw["departed_bytes"],
            departed_packets=raw["departed_packets"],
            dropped_packets=raw["dropped_packets"],
            dropped_bytes=raw["dropped_bytes"],
            occupancy_bytes_mean=raw["occupancy_byte_ns"] / float(bin_ns),
            qdelay_mean_ns=delay,
            marked_packets=raw["marked_packets"],
            capable_packets=raw["capable_packets"],
        )


def _starts_ns(number: NDArray[np.uint32], t0_switch_ns: int, bin_ns: int) -> Ints:
    """When bins begin, after t0, of the lowest 32 bits of their numbers: those nearest to t0's.

    Half of 2^32 bins of 1 ms, the shortest, are 24 days: longer than any trial.
    """
    t0_bin, into_bin_ns = divmod(t0_switch_ns, bin_ns)
    ahead = (number.astype(np.int64) - t0_bin % BIN_NUMBERS) % BIN_NUMBERS
    distance = np.where(ahead >= BIN_NUMBERS // 2, ahead - BIN_NUMBERS, ahead)
    starts: Ints = distance * bin_ns - into_bin_ns
    return starts


def write_bins(folder: Path, batches: Iterable[BinBatch], *, marks: bool) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    layout = BINS if marks else BINS.without_marks()
    return write_table(folder, layout, (batch.columns() for batch in batches))
