"""Time bins: raw sums of a lane -> batches with times after t0 -> bins.parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.records import BIN
from .parquet import TableLayout, write_table
from .raw_files import BATCH_RECORDS, Ints, LaneClock, lane_flows, read_telemetry

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
        ]
    ),
    increasing=("bin_start_ns",),
)
"""One row for each flow and bin with any content; qdelay_mean_ns is null without departures."""


@dataclass(frozen=True)
class BinBatch:
    """Consecutive bins as columns, all of the same length.

    Attributes:
        bin_start_ns: Beginning of the bin after t0.
        flow: The lane's own flow number, from 0.
        departed_bytes: Bytes that left in the bin.
        departed_packets: Packets that left in the bin.
        dropped_packets: Packets that were dropped in the bin.
        dropped_bytes: Bytes that were dropped in the bin.
        occupancy_bytes_mean: Time average of the flow's bytes in the queue.
        qdelay_mean_ns: Mean queueing delay of the packets that left; undefined without any.
    """

    bin_start_ns: Ints
    flow: Ints
    departed_bytes: NDArray[np.uint64]
    departed_packets: NDArray[np.uint32]
    dropped_packets: NDArray[np.uint32]
    dropped_bytes: NDArray[np.uint64]
    occupancy_bytes_mean: NDArray[np.float64]
    qdelay_mean_ns: NDArray[np.float64]

    def columns(self) -> dict[str, Any]:
        """The columns of the table."""
        delay = pa.array(self.qdelay_mean_ns, mask=self.departed_packets == 0)
        return vars(self) | {"qdelay_mean_ns": delay}


def read_bins(
    path: Path, clock: LaneClock, bin_ns: int, batch: int = BATCH_RECORDS
) -> Iterator[BinBatch]:
    """Read a file of raw bins in batches.

    Args:
        path: The data plane's file.
        clock: Lane, flows and time of the trial.
        bin_ns: Length of a bin.
        batch: Records at once.

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


def write_bins(folder: Path, batches: Iterable[BinBatch]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return write_table(folder, BINS, (batch.columns() for batch in batches))
