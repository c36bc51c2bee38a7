"""The TCP segments of a capture, one after another, with their time-stamp options."""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S

from .extent import IPV4, IPV6, TAGS
from .frames import ETHERNET, Frames, map_capture
from .source import read_frames

REMEDY = "capture again, e.g. `tcpdump -i nbs0 -s 128 -w FILE tcp` beside the senders"
TCP, IPV6_FRAGMENT = 6, 44
IPV6_OPTIONS = (0, 43, 60)
"""Extension headers that say their length in the same way: hop by hop, routing, destination."""
NOT_IP, NOT_TCP, FRAGMENT, BROKEN = (
    "are not IP", "are not TCP", "are fragments", "have broken headers or are cut within them"
)  # fmt: skip
SEEN = "TCP segments"
OPTION_END, OPTION_NOP, OPTION_TIMESTAMP = 0, 1, 8

Endpoint = tuple[bytes, int]
"""IP address and TCP port."""


@dataclass(frozen=True)
class Segment:
    """One TCP segment as captured.

    Attributes:
        t_ns: When, in ns of the capture's clock.
        ack: Acknowledgement number (None: no ACK flag).
        payload: Bytes of payload, by the IP header's length.
        ts_value: The time-stamp option's value (None: no such option).
    """

    t_ns: int
    src: Endpoint
    dst: Endpoint
    seq: int
    ack: int | None
    payload: int
    ts_value: int | None
    ts_echo: int | None
    syn: bool = False


def read_segments(path: Path, passed_over: Counter[str] | None = None) -> Iterator[Segment]:
    """Stream the TCP segments of an Ethernet capture, IPv4 and IPv6, VLAN tags or none.

    Args:
        path: A pcap, pcapng or ERF file. Its own times count, not those of a trailer.
        passed_over: Takes why packets were not looked at, and how many; a segment counts as SEEN.

    Yields:
        TCP segments in the file's order.

    Raises:
        RunError: The file is missing, not a capture of Ethernet, or ends within a packet.
    """
    counts = Counter[str]() if passed_over is None else passed_over
    ethernet, other = False, None
    capture = map_capture(path)
    for frames in read_frames(capture):
        links = frames.links()
        strange = np.flatnonzero(links != ETHERNET)
        if len(strange):
            other = int(links[strange[0]])
            counts[f"have link type {other}, not Ethernet"] += len(strange)
            frames = frames.take(links == ETHERNET)  # noqa: PLW2901 - the rest is counted
        ethernet = ethernet or len(frames) > 0
        yield from _segments(frames, counts)
    if other is not None and not ethernet:
        raise capture.damaged(f"has link type {other}, not Ethernet", REMEDY)


def passed_over_text(passed_over: Counter[str]) -> str | None:
    """One line on the packets that were not looked at; None: all were."""
    left = [(why, n) for why, n in passed_over.most_common() if why != SEEN]
    if not left:
        return None
    reasons = ", ".join(f"{n} {why}" for why, n in left)
    missing = sum(n for _, n in left)
    return f"{missing} of {passed_over.total()} packets were not looked at, because {reasons}"


def _segments(frames: Frames, counts: Counter[str]) -> Iterator[Segment]:
    capture, times = frames.capture.file, frames.times
    starts, ends = frames.start.tolist(), (frames.start + frames.captured).tolist()
    stamps = zip(times.seconds.tolist(), times.fraction.tolist(), strict=True)
    for start, end, (seconds, fraction) in zip(starts, ends, stamps, strict=True):
        t_ns = seconds * NS_PER_S + fraction * NS_PER_S // times.per_second
        found = parse_frame(capture[start:end], t_ns)
        if isinstance(found, Segment):
            counts[SEEN] += 1
            yield found
        else:
            counts[found] += 1


def parse_frame(frame: bytes, t_ns: int) -> Segment | str:
    """Read an Ethernet frame as a TCP segment; why not, if it cannot be read as one.

    Args:
        frame: The frame, possibly cut off behind the TCP header.
    """
    at = 12
    while int.from_bytes(frame[at : at + 2], "big") in TAGS:
        at += 4
    kind, ip = int.from_bytes(frame[at : at + 2], "big"), frame[at + 2 :]
    if kind == IPV4:
        found = _ipv4(ip)
    elif kind == IPV6:
        found = _ipv6(ip)
    else:
        return NOT_IP
    return found if isinstance(found, str) else _segment(ip, found, t_ns)


@dataclass(frozen=True)
class _Packet:
    """An IP packet that holds TCP: where its header is, how long TCP's part, and who."""

    tcp: int
    tcp_bytes: int
    src: bytes
    dst: bytes


def _ipv4(ip: bytes) -> _Packet | str:
    if len(ip) < 20 or (ip[0] & 0x0F) < 5:
        return BROKEN
    header = (ip[0] & 0x0F) * 4
    total, fragment = struct.unpack_from(">H2xH", ip, 2)
    if ip[9] != TCP:
        return NOT_TCP
    if fragment & 0x3FFF:
        return FRAGMENT
    return _Packet(header, total - header, ip[12:16], ip[16:20])


def _ipv6(ip: bytes) -> _Packet | str:
    if len(ip) < 40:
        return BROKEN
    following, at = ip[6], 40
    while following in IPV6_OPTIONS and at + 2 <= len(ip):
        following, at = ip[at], at + 8 * (ip[at + 1] + 1)
    if following == IPV6_FRAGMENT:
        return FRAGMENT
    if following != TCP:
        return NOT_TCP
    return _Packet(at, 40 + int.from_bytes(ip[4:6], "big") - at, ip[8:24], ip[24:40])


def _segment(ip: bytes, packet: _Packet, t_ns: int) -> Segment | str:
    tcp = packet.tcp
    if len(ip) < tcp + 20:
        return BROKEN
    sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", ip, tcp)
    length = (offset >> 4) * 4
    payload = packet.tcp_bytes - length
    if length < 20 or payload < 0:
        return BROKEN
    value, echo = _timestamps(ip[tcp + 20 : tcp + length])
    return Segment(
        t_ns=t_ns,
        src=(packet.src, sport),
        dst=(packet.dst, dport),
        seq=seq,
        ack=ack if flags & 0x10 else None,
        payload=payload,
        ts_value=value,
        ts_echo=echo,
        syn=bool(flags & 0x02),
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
