"""Read a packet capture (pcap) as a stream of TCP segments; memory is that of one packet."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nashbed.controlplane.store.errors import RunError, damaged

REMEDY = "capture again, e.g. `tcpdump -i nbs0 -s 128 -w FILE tcp` beside the senders"
MAGIC = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""File's magic number -> nanoseconds of one unit of the fraction of a second."""
ETHERNET = 1
MAX_RECORD = 1 << 18
IPV4, TCP = 0x0800, 6
OPTION_END, OPTION_NOP, OPTION_TIMESTAMP = 0, 1, 8

Endpoint = tuple[bytes, int]
"""IPv4 address and TCP port."""


@dataclass(frozen=True)
class Segment:
    """One TCP segment as captured.

    Attributes:
        t_ns: When, in ns of the capture's clock.
        src: Where from.
        dst: Where to.
        seq: Sequence number.
        ack: Acknowledgement number (None: no ACK flag).
        payload: Bytes of payload, by the IP header's length.
        ts_value: The time-stamp option's value (None: no such option).
        ts_echo: The value that it echoes.
    """

    t_ns: int
    src: Endpoint
    dst: Endpoint
    seq: int
    ack: int | None
    payload: int
    ts_value: int | None
    ts_echo: int | None


def read_segments(path: Path) -> Iterator[Segment]:
    """Stream the TCP segments of an Ethernet capture; everything else is passed over.

    Args:
        path: A pcap file (not pcapng), microseconds or nanoseconds, either byte order.

    Yields:
        IPv4 TCP segments in the file's order. Fragments and broken headers are passed over.

    Raises:
        RunError: The file is missing, no such capture, or ends within a packet.
    """
    try:
        with path.open("rb") as file:
            order, unit_ns = _header(path, file)
            yield from _segments(path, file, order, unit_ns)
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})", REMEDY) from error


def _header(path: Path, file: BinaryIO) -> tuple[str, int]:
    """Byte order and ns of a time unit, from the file's header."""
    head = file.read(24)
    for order in "<>":
        if len(head) == 24:
            magic, link = struct.unpack(f"{order}I16xI", head)
            if magic in MAGIC:
                if link & 0xFFFF != ETHERNET:
                    raise damaged(path, f"has link type {link}, not Ethernet", REMEDY)
                return order, MAGIC[magic]
    raise damaged(path, "is no pcap capture", REMEDY)


def _segments(path: Path, file: BinaryIO, order: str, unit_ns: int) -> Iterator[Segment]:
    record = struct.Struct(f"{order}IIII")
    while head := file.read(record.size):
        if len(head) < record.size:
            raise _cut(path)
        seconds, fraction, kept, _ = record.unpack(head)
        frame = file.read(kept) if kept <= MAX_RECORD else b""
        if len(frame) < kept:
            raise _cut(path)
        segment = parse_frame(frame, seconds * 10**9 + fraction * unit_ns)
        if segment is not None:
            yield segment


def _cut(path: Path) -> RunError:
    return damaged(path, "ends within a packet", REMEDY)


def parse_frame(frame: bytes, t_ns: int) -> Segment | None:
    """Read an Ethernet frame as a TCP segment; None if it is not one, or a fragment.

    Args:
        frame: The frame, possibly cut off behind the TCP header.
        t_ns: When it was captured.
    """
    if len(frame) < 34 or int.from_bytes(frame[12:14], "big") != IPV4:
        return None
    header = (frame[14] & 0x0F) * 4
    total, fragment = int.from_bytes(frame[16:18], "big"), int.from_bytes(frame[20:22], "big")
    tcp = 14 + header
    if header < 20 or frame[23] != TCP or fragment & 0x3FFF or len(frame) < tcp + 20:
        return None
    sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", frame, tcp)
    length = (offset >> 4) * 4
    payload = total - header - length
    if length < 20 or payload < 0:
        return None
    value, echo = _timestamps(frame[tcp + 20 : tcp + length])
    return Segment(
        t_ns=t_ns,
        src=(frame[26:30], sport),
        dst=(frame[30:34], dport),
        seq=seq,
        ack=ack if flags & 0x10 else None,
        payload=payload,
        ts_value=value,
        ts_echo=echo,
    )


def _timestamps(options: bytes) -> tuple[int | None, int | None]:
    """Value and echo of the time-stamp option (RFC 7323)."""
    at = 0
    while at < len(options) and options[at] != OPTION_END:
        if options[at] == OPTION_NOP:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2 or at + length > len(options):
            break
        if options[at] == OPTION_TIMESTAMP and length == 10:
            value, echo = struct.unpack_from(">II", options, at + 2)
            return value, echo
        at += length
    return None, None
