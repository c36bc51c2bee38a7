"""The table of transfers: made of what was planned, and of what senders and sinks saw."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.messages.flows import SinkFlowReport
from ..contract.records import GOODPUT, TRANSFER
from ..contract.shared import CONSTANTS
from ..plan.attempt import TrialFlow
from .parquet import TableLayout, write_table
from .raw_files import read_generator_file

TRANSFERS = TableLayout(
    "transfers",
    pa.schema(
        [
            ("transfer", pa.uint32()),
            ("flow", pa.uint32()),
            ("group", pa.uint32()),
            ("arrival_ns", pa.int64()),
            ("start_ns", pa.int64()),
            ("size_bytes", pa.uint64()),
            ("first_byte_ns", pa.int64()),
            ("completed_ns", pa.int64()),
            ("acked_ns", pa.int64()),
        ]
    ),
    increasing=("arrival_ns",),
)
"""One row for each transfer that was to come; nulls are what did not happen before the end."""

Times = tuple[int | None, int | None]
"""First byte and last byte of a transfer at the sink, after t0."""


def write_transfers(
    folder: Path, flows: Sequence[TrialFlow], sink: Sequence[SinkFlowReport], t0_ns: int
) -> int:
    """Write the table of a trial that has transfers; returns its number of rows.

    Args:
        folder: The trial's folder, with the generators' files.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        HostError: A file is missing or cut off.
    """
    planned = [flow for flow in flows if flow.is_transfer]
    if not planned:
        return 0
    came = {
        int(each["transfer"]): each
        for each in read_generator_file(folder / CONSTANTS.transfers_file, TRANSFER)
    }
    arrived = _arrived(folder, flows, sink, came, t0_ns)
    rows = []
    for number, flow in enumerate(sorted(planned, key=lambda each: each.start_ns)):
        seen = came.get(flow.index)
        first_ns, last_ns = arrived.get(flow.index, (None, None))
        rows.append(
            {
                "transfer": number,
                "flow": flow.index if seen is None else int(seen["flow"]),
                "group": flow.group,
                "arrival_ns": flow.start_ns,
                "start_ns": None if seen is None else int(seen["start_ns"]) - t0_ns,
                "size_bytes": flow.size_bytes,
                "first_byte_ns": first_ns,
                "completed_ns": last_ns,
                "acked_ns": _moment(seen, t0_ns),
            }
        )
    columns = {name: [row[name] for row in rows] for name in TRANSFERS.schema.names}
    return write_table(folder, TRANSFERS, [columns])


def _moment(seen: NDArray[Any] | None, t0_ns: int) -> int | None:
    return None if seen is None or not seen["acked_ns"] else int(seen["acked_ns"]) - t0_ns


def _arrived(
    folder: Path,
    flows: Sequence[TrialFlow],
    sink: Sequence[SinkFlowReport],
    came: dict[int, NDArray[Any]],
    t0_ns: int,
) -> dict[int, Times]:
    """When the first and the last byte of each transfer arrived, by its planned flow."""
    arrived: dict[int, Times] = {}
    carried: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for planned, record in came.items():
        flow, report = int(record["flow"]), sink[planned]
        if flows[flow].kept:
            carried[flow].append((int(record["start_ns"]), planned))
        else:
            whole = report.bytes == flows[planned].size_bytes
            arrived[planned] = (report.first_byte_ns, report.last_byte_ns if whole else None)
    if carried:
        reads = read_generator_file(folder / CONSTANTS.reads_file, GOODPUT)
        order = np.argsort(reads["flow"], kind="stable")
        reads = reads[order]
        for flow, transfers in carried.items():
            low, high = np.searchsorted(reads["flow"], [flow, flow + 1])
            sizes = [flows[planned].size_bytes for _, planned in sorted(transfers)]
            times = split_reads(reads["t_ns"][low:high] - t0_ns, reads["bytes"][low:high], sizes)
            arrived |= zip((planned for _, planned in sorted(transfers)), times, strict=True)
    return arrived


def split_reads(
    t_ns: NDArray[np.int64], read_bytes: NDArray[np.uint64], sizes: Sequence[int]
) -> list[Times]:
    """What a connection carried one after the other, from how it was read.

    Args:
        t_ns: When something was read, increasing, shape (n,).
        read_bytes: How much, shape (n,).
        sizes: Of the transfers, in their order.
    """
    total = np.cumsum(read_bytes.astype(np.int64))
    ends = np.cumsum(np.array(sizes, np.int64))
    firsts = np.searchsorted(total, ends - np.array(sizes), side="right")
    lasts = np.searchsorted(total, ends, side="left")

    def moment(row: int) -> int | None:
        return int(t_ns[row]) if row < len(t_ns) else None

    return [(moment(first), moment(last)) for first, last in zip(firsts, lasts, strict=True)]
