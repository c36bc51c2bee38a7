"""Schemas of the Parquet tables of a sealed trial: the single source for writer and reader.

Every time is int64 nanoseconds relative to the trial's common start t0.
"""

from __future__ import annotations

import pyarrow as pa

from ..contract.records import FLOW_SAMPLE
from ..contract.shared import FLOW_REGISTERS

POSTCARDS = pa.schema(
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
    ]
)
"""One row for each postcard, as written: departures by dequeue time, drops at their time."""

BINS = pa.schema(
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
)
"""One row for each flow and bin with any content; qdelay_mean_ns is null without departures."""

_SAMPLE_OVERRIDES = {
    "bbr_bw_bps": pa.uint64(),
    "bbr_min_rtt_us": pa.uint32(),
    "bbr_pacing_gain": pa.float64(),
    "bbr_cwnd_gain": pa.float64(),
}

FLOW_SAMPLES = pa.schema(
    [
        (name, _SAMPLE_OVERRIDES.get(name, pa.from_numpy_dtype(FLOW_SAMPLE[name])))
        for name in FLOW_SAMPLE.names or ()
    ]
)
"""One TCP_INFO sample; the bbr_ columns are null where has_bbr is 0."""

GOODPUT = pa.schema([("t_ns", pa.int64()), ("flow", pa.uint32()), ("bytes", pa.uint64())])
"""Bytes that a sink read from a flow in the interval that ends at t_ns."""

FLOWS = pa.schema(
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
)
"""One row for each flow; first and last byte are the sink's, null where nothing arrived."""

COUNTERS = pa.schema([("flow", pa.uint32()), *((name, pa.uint64()) for name in FLOW_REGISTERS)])
"""The P4 registers of each flow, read after the lane has drained."""

TABLES = {
    "postcards": POSTCARDS,
    "bins": BINS,
    "flow_samples": FLOW_SAMPLES,
    "goodput": GOODPUT,
    "flows": FLOWS,
    "counters": COUNTERS,
}
"""Table name -> schema; the file of a table is `<name>.parquet`."""
