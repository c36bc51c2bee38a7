"""Binary records as numpy types: what the data plane and the flow generator write.

The C structs are hosts/dpdk's, hosts/flows' and hosts/probe's; golden files (for the probe: whole
exchanges) hold them together with these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

POSTCARD_VERSION = 1
KIND_DEPARTED = 0
KIND_DROPPED = 1

POSTCARD = np.dtype(
    [
        ("version", "u1"),
        ("kind", "u1"),
        ("lane", ">u2"),
        ("flow", ">u4"),
        ("packet_bytes", ">u4"),
        ("queue_bytes", ">u4"),
        ("enqueue_high", ">u2"),
        ("enqueue_low", ">u4"),
        ("dequeue_high", ">u2"),
        ("dequeue_low", ">u4"),
        ("tcp_seq", ">u4"),
        ("lane_seq", ">u4"),
        ("payload_bytes", ">u2"),
        ("tcp_flags", "u1"),
        ("reserved", "u1"),
    ]
)
"""One postcard, 40 bytes, big-endian as P4 lays it out. Times are ns on the switch clock."""

BIN = np.dtype(
    [
        ("bin", "<u4"),
        ("flow", "<u4"),
        ("departed_bytes", "<u8"),
        ("departed_packets", "<u4"),
        ("dropped_packets", "<u4"),
        ("dropped_bytes", "<u8"),
        ("occupancy_byte_ns", "<u8"),
        ("qdelay_sum_ns", "<u8"),
    ]
)
"""One flow in one time bin, 48 bytes. Bin n covers [n, n+1) bin lengths of the switch clock."""

FLOW_SAMPLE = np.dtype(
    [
        ("t_ns", "<i8"),
        ("flow", "<u4"),
        ("ca_state", "u1"),
        ("app_limited", "u1"),
        ("has_bbr", "u1"),
        ("backoff", "u1"),
        ("cwnd_pkts", "<u4"),
        ("ssthresh_pkts", "<u4"),
        ("mss", "<u4"),
        ("srtt_us", "<u4"),
        ("rttvar_us", "<u4"),
        ("min_rtt_us", "<u4"),
        ("unacked", "<u4"),
        ("sacked", "<u4"),
        ("lost", "<u4"),
        ("retrans", "<u4"),
        ("total_retrans", "<u4"),
        ("reordering", "<u4"),
        ("delivered_pkts", "<u4"),
        ("delivered_ce", "<u4"),
        ("notsent_bytes", "<u4"),
        ("inflight_bytes", "<u4"),
        ("bytes_acked", "<u8"),
        ("bytes_sent", "<u8"),
        ("bytes_retrans", "<u8"),
        ("delivery_rate_bps", "<u8"),
        ("pacing_rate_bps", "<u8"),
        ("bbr_bw_bps", "<u8"),
        ("bbr_min_rtt_us", "<u4"),
        ("bbr_pacing_gain", "<u4"),
        ("bbr_cwnd_gain", "<u4"),
        ("snd_wnd_bytes", "<u4"),
        ("rto_us", "<u4"),
        ("tick", "<u4"),
        ("busy_time_us", "<u8"),
        ("rwnd_limited_us", "<u8"),
        ("sndbuf_limited_us", "<u8"),
    ]
)
"""One TCP_INFO sample of one flow, 176 bytes (hosts/flows/README.md says what each field is).
BBR's gains are in 1/256; all bbr_ fields are zero where has_bbr is 0."""

GOODPUT = np.dtype([("t_ns", "<i8"), ("flow", "<u4"), ("pad", "<u4"), ("bytes", "<u8")])
"""Bytes that a sink read from one flow in the interval that ends at t_ns."""

PROBE_SCHEDULE = np.dtype(
    [("at_ns", "<i8"), ("socket", "<u2"), ("frame_bytes", "<u2"), ("flags", "<u4")]
)
"""One frame that nashbed-probe is to send, 16 bytes; at_ns counts from its start."""

PROBE_ECHO = 1
"""Flag of a scheduled frame: the reflector sends it back."""

PROBED = np.dtype(
    [("sent_ns", "<i8"), ("reflected_ns", "<i8"), ("returned_ns", "<i8"), ("received_ns", "<i8")]
)
"""What became of a scheduled frame, 32 bytes, 0 where it did not happen (CLOCK_MONOTONIC)."""

SEEN = np.dtype(
    [
        ("received_ns", "<i8"),
        ("sequence", "<u4"),
        ("source_port", "<u2"),
        ("socket", "<u2"),
        ("frame_bytes", "<u2"),
        ("reserved", "<u2", (3,)),
    ]
)
"""One datagram that a reflector received, 24 bytes."""


def join_u48(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.int64]:
    """Join the halves of a 48-bit big-endian number.

    Args:
        high: Upper 16 bits, any shape.
        low: Lower 32 bits, the same shape.
    """
    return (high.astype(np.int64) << 32) | low.astype(np.int64)
