"""What became of each flow, as the generators reported it: flows.parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..contract.messages import SenderFlowReport, SinkFlowReport
from ..plan.flows import TrialFlow
from .parquet import TableLayout, write_table

FLOWS = TableLayout(
    "flows",
    pa.schema(
        [
            ("flow", pa.uint32()),
            ("group", pa.uint32()),
            ("group_name", pa.string()),
            ("cc", pa.string()),
            ("cc_applied", pa.string()),
            ("base_rtt_ns", pa.int64()),
            ("start_ns", pa.int64()),
            ("end_ns", pa.int64()),
            ("sink_bytes", pa.uint64()),
            ("bytes_sent", pa.uint64()),
            ("bytes_retrans", pa.uint64()),
            ("total_retrans", pa.uint64()),
            ("first_byte_ns", pa.int64()),
            ("last_byte_ns", pa.int64()),
        ]
    ),
)
"""One row for each flow; first and last byte are the sink's, null where nothing arrived."""


def write_flows(
    folder: Path,
    flows: tuple[TrialFlow, ...],
    sender: Sequence[SenderFlowReport],
    sink: Sequence[SinkFlowReport],
) -> int:
    """Write the table of a trial; returns its number of rows.

    Args:
        folder: The trial's folder.
        flows: The flows as planned.
        sender: The sender's report of each flow.
        sink: The sink's report of each flow.
    """
    columns: dict[str, list[Any]] = {
        "flow": [f.index for f in flows],
        "group": [f.group for f in flows],
        "group_name": [f.group_name for f in flows],
        "cc": [f.cc for f in flows],
        "base_rtt_ns": [f.base_rtt_ns for f in flows],
        "cc_applied": [sender[f.index].cc_applied for f in flows],
        "sink_bytes": [sink[f.index].bytes for f in flows],
    }
    for name in ("start_ns", "end_ns", "bytes_sent", "bytes_retrans", "total_retrans"):
        columns[name] = [getattr(sender[f.index], name) for f in flows]
    for name in ("first_byte_ns", "last_byte_ns"):
        columns[name] = [getattr(sink[f.index], name) for f in flows]
    return write_table(folder, FLOWS, [columns])
