"""Raw files of a trial -> Parquet tables, with times relative to t0."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..contract.errors import HostError
from ..contract.records import FLOW_SAMPLE, GOODPUT
from ..plan.flows import TrialFlow
from .raw_records import LaneClock, Piece, read_bins, read_pieces
from .table_writer import write_table

_NULL_WITHOUT_BBR = ("bbr_bw_bps", "bbr_min_rtt_us", "bbr_pacing_gain", "bbr_cwnd_gain")
_GAINS = ("bbr_pacing_gain", "bbr_cwnd_gain")
GAIN_UNIT = 256.0


def collect_postcards(
    raw: Path, folder: Path, clock: LaneClock, see: Callable[[Piece], None]
) -> int:
    """Raw postcards -> postcards.parquet; returns the number of rows.

    Args:
        raw: The data plane's file.
        folder: The trial's folder.
        clock: Lane, flows and time of the trial.
        see: Shown each piece on the way.
    """

    def batches() -> Iterator[dict[str, Any]]:
        for piece in read_pieces(raw, clock):
            see(piece)
            yield {
                "kind": piece.dropped.astype(np.uint8),
                "flow": piece.flow,
                "packet_bytes": piece.packet_bytes,
                "payload_bytes": piece.payload_bytes,
                "tcp_seq": piece.tcp_seq,
                "tcp_flags": piece.tcp_flags,
                "queue_bytes": piece.queue_bytes,
                "enqueue_ns": piece.enqueue_ns,
                "dequeue_ns": piece.dequeue_ns,
                "seq": piece.seq,
            }

    return write_table(folder, "postcards", batches())


def collect_bins(
    raw: Path,
    folder: Path,
    clock: LaneClock,
    bin_ns: int,
    see: Callable[[NDArray[Any]], None],
) -> int:
    """Raw bins -> bins.parquet; returns the number of rows. See collect_postcards."""

    def batches() -> Iterator[dict[str, Any]]:
        for bins in read_bins(raw, clock):
            see(bins)
            packets = bins["departed_packets"].astype(np.float64)
            with np.errstate(invalid="ignore", divide="ignore"):
                delay = bins["qdelay_sum_ns"] / packets
            yield {
                "bin_start_ns": bin_start_ns(bins, bin_ns, clock),
                "flow": bins["flow"],
                "departed_bytes": bins["departed_bytes"],
                "departed_packets": bins["departed_packets"],
                "dropped_packets": bins["dropped_packets"],
                "dropped_bytes": bins["dropped_bytes"],
                "occupancy_bytes_mean": bins["occupancy_byte_ns"] / float(bin_ns),
                "qdelay_mean_ns": pa.array(delay, mask=packets == 0),
            }

    return write_table(folder, "bins", batches())


def bin_start_ns(bins: NDArray[Any], bin_ns: int, clock: LaneClock) -> NDArray[np.int64]:
    """Beginning of each bin relative to t0."""
    return bins["bin"].astype(np.int64) * bin_ns - clock.t0_switch_ns


def collect_flow_samples(raw: Path, folder: Path, t0_ns: int) -> int:
    """flow_samples.bin -> flow_samples.parquet; returns the number of rows."""
    records = _records(raw, FLOW_SAMPLE)
    no_bbr = records["has_bbr"] == 0
    columns: dict[str, Any] = {name: records[name] for name in FLOW_SAMPLE.names or ()}
    columns["t_ns"] = records["t_ns"] - t0_ns
    for name in _NULL_WITHOUT_BBR:
        values = records[name] / GAIN_UNIT if name in _GAINS else records[name].copy()
        columns[name] = pa.array(values, mask=no_bbr)
    return write_table(folder, "flow_samples", [columns])


def collect_goodput(raw: Path, folder: Path, t0_ns: int) -> NDArray[Any]:
    """goodput.bin -> goodput.parquet; returns the records, with times relative to t0."""
    records = _records(raw, GOODPUT).copy()
    records["t_ns"] -= t0_ns
    columns = {name: records[name] for name in ("t_ns", "flow", "bytes")}
    write_table(folder, "goodput", [columns])
    return records


def collect_flows(
    folder: Path,
    flows: tuple[TrialFlow, ...],
    sender: dict[int, dict[str, Any]],
    sink: dict[int, dict[str, Any]],
) -> None:
    """What the generator said of each flow -> flows.parquet.

    Args:
        folder: The trial's folder.
        flows: The flows as planned.
        sender: The sender's report by flow.
        sink: The sink's report by flow.
    """
    columns = {
        "flow": [f.index for f in flows],
        "group": [f.group for f in flows],
        "group_name": [f.group_name for f in flows],
        "cc": [f.cc for f in flows],
        "base_rtt_ns": [f.base_rtt_ns for f in flows],
        "cc_applied": [sender[f.index]["cc_applied"] for f in flows],
        "sink_bytes": [sink[f.index]["bytes"] for f in flows],
    }
    for name in ("start_ns", "end_ns", "bytes_sent", "bytes_retrans", "total_retrans"):
        columns[name] = [sender[f.index][name] for f in flows]
    for name in ("first_byte_ns", "last_byte_ns"):
        columns[name] = [sink[f.index][name] for f in flows]
    write_table(folder, "flows", [{k: pa.array(v) for k, v in columns.items()}])


def collect_counters(folder: Path, registers: dict[str, list[int]]) -> None:
    """The registers of the lane's flows -> counters.parquet."""
    count = len(registers["arrived_packets"])
    columns: dict[str, Any] = {"flow": list(range(count))}
    columns |= {name: pa.array(values, pa.uint64()) for name, values in registers.items()}
    write_table(folder, "counters", [columns])


def _records(raw: Path, record: np.dtype[Any]) -> NDArray[Any]:
    try:
        size = raw.stat().st_size
    except OSError as error:
        raise HostError(f"{raw}: the flow generator wrote no such file") from error
    if size % record.itemsize:
        raise HostError(f"{raw}: ends in the middle of a record ({size} bytes)")
    return np.fromfile(raw, dtype=record)
