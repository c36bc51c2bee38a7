"""The tables of a sealed trial but for its postcards: layouts, raw records, and writers.

Every time in them is int64 nanoseconds after the trial's t0.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.messages.dataplane import FlowRegisters
from ..contract.messages.flows import SenderFlowReport, SinkFlowReport
from ..contract.records import DISTURBANCE, FLOW_SAMPLE, PAUSE
from ..contract.records import GOODPUT as GOODPUT_RECORD
from ..contract.records import RETURN_QUEUE as RETURN_RECORD
from ..contract.shared import CONSTANTS, FLOW_REGISTERS
from ..plan.attempt import TrialFlow
from .applications import DATAGRAMS, SEGMENTS
from .parquet import TableLayout, write_table
from .postcards import BINS, POSTCARDS
from .raw_files import read_generator_file, read_telemetry
from .transfers import TRANSFERS

BBR_GAIN_UNIT = 256.0
"""What BBR's gains are counted in, in the kernel and in the raw records."""
_BBR_GAINS = ("bbr_pacing_gain", "bbr_cwnd_gain")
_BBR_COLUMNS = {
    "bbr_bw_bps": pa.uint64(),
    "bbr_min_rtt_us": pa.uint32(),
    **dict.fromkeys(_BBR_GAINS, pa.float64()),
    "bbr_mode": pa.uint32(),
}
FLOW_SAMPLES = TableLayout(
    "flow_samples",
    pa.schema(
        [
            (name, _BBR_COLUMNS.get(name, pa.from_numpy_dtype(FLOW_SAMPLE[name])))
            for name in FLOW_SAMPLE.names or ()
        ]
    ),
)
"""One TCP_INFO sample; the bbr_ columns are null where has_bbr is 0, and bbr_mode is null where it
is not told, as by the kernel's BBR."""
GOODPUT = TableLayout(
    "goodput", pa.schema([("t_ns", pa.int64()), ("flow", pa.uint32()), ("bytes", pa.uint64())])
)
"""Bytes that a sink read from a flow in the interval that ends at t_ns."""
COUNTERS = TableLayout(
    "counters",
    pa.schema([("flow", pa.uint32()), *((name, pa.uint64()) for name in FLOW_REGISTERS)]),
    marks=("marked_packets", "marked_bytes"),
)
"""One row for each flow."""
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
RETURN_QUEUE = TableLayout(
    "return_queue",
    pa.schema(
        [
            ("t_ns", pa.int64()),
            ("arrived_packets", pa.uint32()),
            ("dropped_packets", pa.uint32()),
            ("departed_packets", pa.uint32()),
            ("departed_bytes", pa.uint64()),
            ("queue_bytes_max", pa.uint64()),
            ("qdelay_sum_ns", pa.uint64()),
            ("qdelay_max_ns", pa.uint64()),
        ]
    ),
    increasing=("t_ns",),
)
"""One row for each bin of 10 ms, which begins at t_ns, in which a packet came to the queue of the
way back or left it; only where there is such a queue."""
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
_LAYOUTS = (
    POSTCARDS,
    BINS,
    FLOW_SAMPLES,
    GOODPUT,
    FLOWS,
    COUNTERS,
    DISTURBANCES,
    PAUSES,
    TRANSFERS,
    SEGMENTS,
    DATAGRAMS,
    RETURN_QUEUE,
)
TABLES = {table.name: table.schema for table in _LAYOUTS}
"""Table name -> schema; the file of a table is `<name>.parquet`."""
OPTIONAL = {table.name: table.marks + table.queues for table in _LAYOUTS}
"""Table name -> columns that trials lack in which nothing can be marked, or of one queue; who reads
them gets nulls."""


def write_flows(
    folder: Path,
    flows: tuple[TrialFlow, ...],
    sender: Sequence[SenderFlowReport],
    sink: Sequence[SinkFlowReport],
) -> int:
    """Write the table of a trial; returns its number of rows."""
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


def read_flow_samples(path: Path, t0_ns: int) -> NDArray[Any]:
    """Read the sender's samples as records, with times after t0.

    Args:
        path: The flow generator's file.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        HostError: The file is missing or cut off.
    """
    records = read_generator_file(path, FLOW_SAMPLE)
    records["t_ns"] -= t0_ns
    return records


def write_flow_samples(folder: Path, batches: Iterable[NDArray[Any]]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return write_table(folder, FLOW_SAMPLES, map(_sample_columns, batches))


def _sample_columns(records: NDArray[Any]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: records[name] for name in FLOW_SAMPLES.schema.names}
    for name, kind in _BBR_COLUMNS.items():
        values = records[name] / BBR_GAIN_UNIT if name in _BBR_GAINS else records[name].copy()
        missing = records["has_bbr"] == 0
        if name == "bbr_mode":
            missing |= records[name] == 0
        columns[name] = pa.array(values, kind, mask=missing)
    return columns


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


def write_goodput(folder: Path, batches: Iterable[NDArray[Any]]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    return _write(folder, GOODPUT, batches)


def write_counters(folder: Path, registers: FlowRegisters, *, marks: bool) -> int:
    """Write the table of a trial; returns its number of rows."""
    layout = COUNTERS if marks else COUNTERS.without_marks()
    columns = {n: pa.array(getattr(registers, n), pa.uint64()) for n in FLOW_REGISTERS}
    flow = pa.array(range(registers.count), pa.uint32())
    return write_table(folder, layout, [{"flow": flow, **columns}])


class Disturbances(NamedTuple):
    """What held the frames of a lane up, with times after t0.

    Attributes:
        bins: Records of DISTURBANCE: lateness, errors of round trips, and responses.
        pauses: Records of PAUSE: when the packet loop did not run.
    """

    bins: NDArray[Any]
    pauses: NDArray[Any]


def read_disturbances(folder: Path, t0_ns: int) -> Disturbances:
    """Read the data plane's two files of a lane.

    Args:
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        TargetError: A file is missing or cut off.
    """
    return Disturbances(
        _read(folder / CONSTANTS.disturbances_file, DISTURBANCE, t0_ns),
        _read(folder / CONSTANTS.pauses_file, PAUSE, t0_ns),
    )


def write_disturbances(folder: Path, batches: Iterable[Disturbances]) -> int:
    """Write both tables of a trial in `folder`; returns their number of rows."""
    found = list(batches)
    rows = _write(folder, DISTURBANCES, [each.bins for each in found])
    return rows + _write(folder, PAUSES, [each.pauses for each in found])


def write_return_queue(folder: Path, t0_ns: int) -> int:
    """Write the table of a trial whose way back had a queue; returns its number of rows.

    Args:
        folder: The trial's folder, with the data plane's file.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        TargetError: The file is missing or cut off.
    """
    records = _read(folder / CONSTANTS.return_queue_file, RETURN_RECORD, t0_ns)
    return _write(folder, RETURN_QUEUE, [records])


def _read(path: Path, record: np.dtype[Any], t0_ns: int) -> NDArray[Any]:
    batches = [np.empty(0, record), *read_telemetry(path, record)]
    records = np.concatenate(batches)
    records["t_ns"] -= t0_ns
    return records


def _write(folder: Path, table: TableLayout, batches: Iterable[NDArray[Any]]) -> int:
    names = table.schema.names
    return write_table(folder, table, ({name: each[name] for name in names} for each in batches))
