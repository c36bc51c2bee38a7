"""Matches the packets of two captures by what no switch and no network card changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..captures import Frames, Stamps, Times, TimestampSource
from ..captures.extent import IPV4, network_headers
from ..captures.trailer import ETHERNET_HEADER
from .timebase import Instants, TimeBase

IP = np.dtype(
    [
        ("version_ihl", "u1"),
        ("tos", "u1"),
        ("total", ">u2"),
        ("id", ">u2"),
        ("fragment", ">u2"),
        ("ttl", "u1"),
        ("protocol", "u1"),
        ("checksum", ">u2"),
        ("src", ">u4"),
        ("dst", ">u4"),
    ]
)
TCP_HEADER = np.dtype(
    [
        ("sport", ">u2"),
        ("dport", ">u2"),
        ("seq", ">u4"),
        ("ack", ">u4"),
        ("offset_flags", ">u2"),
        ("window", ">u2"),
    ]
)
"""TCP up to its window."""
KEY = ("total", "id", "src", "dst", "sport", "dport", "seq", "ack", "offset_flags", "window")
"""Not the checksums (they may be left to a card), not what routers change (TTL, ToS)."""
HEADERS = np.dtype(IP.descr + TCP_HEADER.descr)
TCP, FRAGMENTED = 6, 0x3FFF
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class CapturedPackets:
    """TCP packets of one capture.

    Attributes:
        times: When, by the capture's clock.
        number: Number of each in the file, from 0, shape (n,).
        key: The same for the same packet everywhere, shape (n,).
        src: Sender's IPv4 address, shape (n,).
        sport: Sender's port, shape (n,).
        dst: Receiver's IPv4 address, shape (n,).
        seq: TCP sequence number, shape (n,).
        payload: Bytes of TCP payload, shape (n,).
        frame_bytes: Bytes of the Ethernet frame without FCS, shape (n,).
    """

    times: Instants
    number: NDArray[np.int64]
    key: NDArray[np.uint64]
    src: NDArray[np.uint32]
    sport: NDArray[np.uint16]
    dst: NDArray[np.uint32]
    seq: NDArray[np.uint32]
    payload: NDArray[np.int64]
    frame_bytes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.key)

    def take(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> CapturedPackets:
        """Some of them."""
        return CapturedPackets(
            self.times.take(which),
            **{n: getattr(self, n)[which] for n in self.__dataclass_fields__ if n != "times"},
        )


def read_seen(source: TimestampSource, clock: TimeBase | None = None) -> CapturedPackets:
    """Read the IPv4 TCP packets of a capture; the rest is skipped. Each takes 60 bytes of memory.

    Args:
        clock: Whose clock its times are of; None: one of its own.
    """
    parts = [_of_chunk(frames, stamps) for frames, stamps in source.chunks()]
    number = np.concatenate([n for _, n, _ in parts])
    head = np.concatenate([h for _, _, h in parts])
    total = head["total"].astype(np.int64)
    headers = (head["version_ihl"] & 0x0F).astype(np.int64) * 4 + (
        head["offset_flags"] >> 12
    ).astype(np.int64) * 4
    return CapturedPackets(
        times=Instants.of(clock or TimeBase(str(source.path)), *(times for times, _, _ in parts)),
        number=number,
        key=_keys(head),
        src=head["src"].astype(np.uint32),
        sport=head["sport"].astype(np.uint16),
        dst=head["dst"].astype(np.uint32),
        seq=head["seq"].astype(np.uint32),
        payload=total - headers,
        frame_bytes=total + ETHERNET_HEADER,
    )


def common(
    one: CapturedPackets, other: CapturedPackets
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the packets that both saw are in each, in the order of the first.

    A packet that a capture holds twice is left out: which of the two it is cannot be decided.
    """
    mine, theirs = _unique(one.key), _unique(other.key)
    _, at_one, at_other = np.intersect1d(
        one.key[mine], other.key[theirs], assume_unique=True, return_indices=True
    )
    order = np.argsort(mine[at_one])
    return mine[at_one][order], theirs[at_other][order]


def _of_chunk(frames: Frames, stamps: Stamps) -> tuple[Times, NDArray[np.int64], NDArray[np.void]]:
    """Times, numbers and headers of the IPv4 TCP packets, behind VLAN tags and IP options."""
    kind, offset = network_headers(frames)
    own = frames.captured - stamps.trailer_bytes
    which = np.flatnonzero((kind == IPV4) & (own >= offset + IP.itemsize))
    ip = frames.capture.at((frames.start + offset)[which], IP)
    behind = offset[which] + (ip["version_ihl"] & 0x0F).astype(np.int64) * 4
    whole = (own[which] >= behind + TCP_HEADER.itemsize) & (ip["fragment"] & FRAGMENTED == 0)
    tcp = (ip["version_ihl"] >= 0x45) & (ip["version_ihl"] < 0x50) & (ip["protocol"] == TCP) & whole
    which, ip, behind = which[tcp], ip[tcp], behind[tcp]
    head = np.empty(len(which), HEADERS)
    for part in (ip, frames.capture.at(frames.start[which] + behind, TCP_HEADER)):
        for name in part.dtype.names or ():
            head[name] = part[name]
    return stamps.times.take(which), frames.number[which], head


def _keys(head: NDArray[np.void]) -> NDArray[np.uint64]:
    """64 well-mixed bits of the key fields."""
    key = np.zeros(len(head), np.uint64)
    for name in KEY:
        key = (key ^ head[name].astype(np.uint64)) * MULTIPLIER
        key ^= key >> np.uint64(29)
    return key


def _unique(key: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Where the keys are that occur once."""
    _, at, count = np.unique(key, return_index=True, return_counts=True)
    once: NDArray[np.intp] = at[count == 1]
    return once
