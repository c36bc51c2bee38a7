"""The TCP segments of a capture, one after another, with their time-stamp options."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.contract.units import NS_PER_S

from .frames import ETHERNET, Frames, map_capture
from .source import read_frames

REMEDY = "capture again, e.g. `tcpdump -i nbs0 -s 128 -w FILE tcp` beside the senders"
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
        path: A pcap, pcapng or ERF file. Its own times count, not those of a trailer.

    Yields:
        IPv4 TCP segments in the file's order. Fragments and broken headers are passed over.

    Raises:
        RunError: The file is missing, not a capture of Ethernet, or ends within a packet.
    """
    for frames in read_frames(map_capture(path)):
        if frames.link != ETHERNET:
            raise frames.capture.damaged(f"has link type {frames.link}, not Ethernet", REMEDY)
        yield from _segments(frames)


def _segments(frames: Frames) -> Iterator[Segment]:
    capture, times = frames.capture.file, frames.times
    starts, ends = frames.start.tolist(), (frames.start + frames.captured).tolist()
    stamps = zip(times.seconds.tolist(), times.fraction.tolist(), strict=True)
    for start, end, (seconds, fraction) in zip(starts, ends, stamps, strict=True):
        t_ns = seconds * NS_PER_S + fraction * NS_PER_S // times.per_second
        segment = parse_frame(capture[start:end], t_ns)
        if segment is not None:
            yield segment


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
