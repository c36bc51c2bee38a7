"""What held frames up: disturbances.bin and pauses.bin -> the tables of the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.records import DISTURBANCE, PAUSE
from .parquet import TableLayout, write_table
from .raw_files import read_telemetry

DISTURBANCES = TableLayout(
    "disturbances",
    pa.schema(
        [
            ("t_ns", pa.int64()),
            ("departures", pa.uint32()),
            ("returns", pa.uint32()),
            ("late_sum_ns", pa.uint64()),
            ("late_max_ns", pa.uint64()),
            ("error_sum_ns", pa.uint64()),
            ("error_max_ns", pa.uint64()),
            ("response_sum_ns", pa.uint64()),
            ("response_max_ns", pa.uint64()),
            ("responses", pa.uint32()),
        ]
    ),
    increasing=("t_ns",),
)
"""One row for each bin of 100 ms, which begins at t_ns, with any frame of the lane."""

PAUSES = TableLayout(
    "pauses", pa.schema([("t_ns", pa.int64()), ("length_ns", pa.uint64())]), increasing=("t_ns",)
)
"""One row for each time, from t_ns on, in which the data plane's loop did not run."""


def read_disturbances(path: Path, t0_ns: int) -> NDArray[Any]:
    """Read the bins of a lane as records, with times after t0.

    Args:
        path: The data plane's file.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        TargetError: The file is missing or cut off.
    """
    return _read(path, DISTURBANCE, t0_ns)


def read_pauses(path: Path, t0_ns: int) -> NDArray[Any]:
    """Read the pauses of the packet loop as records, with times after t0.

    Args:
        path: The data plane's file.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        TargetError: The file is missing or cut off.
    """
    return _read(path, PAUSE, t0_ns)


def write_disturbances(folder: Path, records: NDArray[Any]) -> int:
    """Write the bins' table of a trial in `folder`; returns its number of rows."""
    return _write(folder, DISTURBANCES, records)


def write_pauses(folder: Path, records: NDArray[Any]) -> int:
    """Write the pauses' table of a trial in `folder`; returns its number of rows."""
    return _write(folder, PAUSES, records)


def _read(path: Path, record: np.dtype[Any], t0_ns: int) -> NDArray[Any]:
    batches = [np.empty(0, record), *read_telemetry(path, record)]
    records = np.concatenate(batches)
    records["t_ns"] -= t0_ns
    return records


def _write(folder: Path, table: TableLayout, records: NDArray[Any]) -> int:
    return write_table(folder, table, [{name: records[name] for name in table.schema.names}])
