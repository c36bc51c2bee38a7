"""Captures made of arrays: a million packets in a second."""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

GLOBAL_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
"""Classic pcap, nanoseconds, Ethernet."""

RECORD_HEADER_BYTES = 16
HEADERS_BYTES = 54
"""Ethernet, IPv4 and TCP without options: what is captured of each packet."""

TCP_FRAME = np.dtype(
    [
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("captured", "<u4"),
        ("length", "<u4"),
        ("dst_mac", "S6"),
        ("src_mac", "S6"),
        ("ether_type", ">u2"),
        ("version_ihl", "u1"),
        ("tos", "u1"),
        ("total_bytes", ">u2"),
        ("identification", ">u2"),
        ("fragment", ">u2"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("checksum", ">u2"),
        ("src", ">u4"),
        ("dst", ">u4"),
        ("sport", ">u2"),
        ("dport", ">u2"),
        ("seq", ">u4"),
        ("ack", ">u4"),
        ("data_offset", "u1"),
        ("flags", "u1"),
        ("window", ">u2"),
        ("tcp_checksum", ">u2"),
        ("urgent", ">u2"),
    ]
)
"""A pcap record of a TCP packet cut after its headers."""


def tcp_records(
    times_ns: NDArray[np.int64], sizes: NDArray[np.int64], flows: NDArray[np.int64]
) -> NDArray[Any]:
    """TCP packets, each cut after its headers.

    Args:
        times_ns: Shape (n,), not falling.
        sizes: Shape (n,), Ethernet frame bytes without FCS, at least 54.
        flows: Shape (n,), the flow of each packet: source port 10000 + flow.

    Returns:
        Shape (n,), dtype TCP_FRAME. The TCP sequence number is the packet's index.
    """
    records = np.zeros(len(times_ns), TCP_FRAME)
    records["seconds"] = times_ns // 10**9
    records["nanoseconds"] = times_ns % 10**9
    records["captured"] = HEADERS_BYTES
    records["length"] = sizes
    records["dst_mac"] = b"\x02\x00\x00\x00\x00\x02"
    records["src_mac"] = b"\x02\x00\x00\x00\x00\x01"
    records["ether_type"] = 0x0800
    records["version_ihl"] = 0x45
    records["total_bytes"] = sizes - 14
    records["ttl"] = 64
    records["protocol"] = 6
    records["src"] = 0x0A400001
    records["dst"] = 0x0A410001
    records["sport"] = 10000 + flows
    records["dport"] = 5001
    records["seq"] = np.arange(len(times_ns))
    records["data_offset"] = 0x50
    records["flags"] = 0x10
    return records


def tcp_capture(
    times_ns: NDArray[np.int64], sizes: NDArray[np.int64], flows: NDArray[np.int64]
) -> bytes:
    """A pcap of `tcp_records`."""
    return records_capture(tcp_records(times_ns, sizes, flows))


def records_capture(records: NDArray[Any]) -> bytes:
    """A pcap of records of dtype TCP_FRAME."""
    return GLOBAL_HEADER + records.tobytes()


def times_of(records: NDArray[Any]) -> NDArray[np.int64]:
    """Their times in ns, shape (n,)."""
    times: NDArray[np.int64] = records["seconds"].astype(np.int64) * 10**9 + records["nanoseconds"]
    return times


def raw_capture(packets: list[tuple[int, bytes]]) -> bytes:
    """A pcap of whole frames: (time in ns, frame) each."""
    parts = [GLOBAL_HEADER]
    for time_ns, frame in packets:
        seconds, nanoseconds = divmod(time_ns, 10**9)
        parts.append(struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)))
        parts.append(frame)
    return b"".join(parts)


def read_capture(data: bytes) -> list[tuple[int, bytes]]:
    """The packets of a little-endian nanosecond pcap: (time in ns, frame) each."""
    assert data[:4] == GLOBAL_HEADER[:4], "not a nanosecond pcap"
    packets = []
    at = len(GLOBAL_HEADER)
    while at < len(data):
        seconds, nanoseconds, captured, _ = struct.unpack_from("<IIII", data, at)
        at += 16
        packets.append((seconds * 10**9 + nanoseconds, data[at : at + captured]))
        at += captured
    return packets
