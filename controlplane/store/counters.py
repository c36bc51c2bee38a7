"""The P4 registers of each flow after the lane has drained: counters.parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from ..contract.shared import FLOW_REGISTERS
from .parquet import TableLayout, write_table

COUNTERS = TableLayout(
    "counters",
    pa.schema([("flow", pa.uint32()), *((name, pa.uint64()) for name in FLOW_REGISTERS)]),
)
"""One row for each flow."""


def write_counters(folder: Path, registers: dict[str, list[int]]) -> int:
    """Write the table of a trial; returns its number of rows.

    Args:
        folder: The trial's folder.
        registers: Values of each register, one for each of the lane's flows.
    """
    columns: dict[str, Any] = {n: pa.array(registers[n], pa.uint64()) for n in FLOW_REGISTERS}
    columns["flow"] = list(range(len(registers[FLOW_REGISTERS[0]])))
    return write_table(folder, COUNTERS, [columns])
