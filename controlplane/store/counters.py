"""The P4 registers of each flow after the lane has drained: counters.parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from ..contract.messages import FlowRegisters
from ..contract.shared import FLOW_REGISTERS
from .parquet import TableLayout, write_table

COUNTERS = TableLayout(
    "counters",
    pa.schema([("flow", pa.uint32()), *((name, pa.uint64()) for name in FLOW_REGISTERS)]),
)
"""One row for each flow."""


def write_counters(folder: Path, registers: FlowRegisters) -> int:
    """Write the table of a trial; returns its number of rows.

    Args:
        folder: The trial's folder.
        registers: The registers of the lane's flows.
    """
    columns = {n: pa.array(getattr(registers, n), pa.uint64()) for n in FLOW_REGISTERS}
    flow = pa.array(range(registers.count), pa.uint32())
    return write_table(folder, COUNTERS, [{"flow": flow, **columns}])
