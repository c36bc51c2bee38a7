"""Bytes that the sinks read over time: goodput.bin -> goodput.parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from ..contract.records import GOODPUT as GOODPUT_RECORD
from .parquet import TableLayout, write_table
from .raw_files import read_generator_file

GOODPUT = TableLayout(
    "goodput", pa.schema([("t_ns", pa.int64()), ("flow", pa.uint32()), ("bytes", pa.uint64())])
)
"""Bytes that a sink read from a flow in the interval that ends at t_ns."""


def read_goodput(path: Path, t0_ns: int) -> NDArray[Any]:
    """Read the sink's intervals as records, with times after t0.

    Args:
        path: The flow generator's file.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        HostError: The file is missing or cut off.
    """
    records = read_generator_file(path, GOODPUT_RECORD)
    records["t_ns"] -= t0_ns
    return records


def write_goodput(folder: Path, records: NDArray[Any]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return write_table(folder, GOODPUT, [{n: records[n] for n in GOODPUT.schema.names}])
