"""Ethernet, IPv4 and TCP headers made from postcards, and the checksum of IPv4.

A postcard has a packet's length, payload, TCP sequence number and flags, its flow, and whether it
was ECN-capable and marked. All else is made up: MAC addresses, IP addresses and ports by the flow's
number, TTL, window, an acknowledgement number of 0, and TCP options of the right length that are
zero, so empty. There is no payload.
"""

from __future__ import annotations

from ipaddress import IPv4Address

import numpy as np
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from .marks import ecn_field

ETHERNET, IPV4, TCP, UDP = 14, 20, 20, 8
LARGEST_TCP = 60
LARGEST = ETHERNET + IPV4 + LARGEST_TCP
"""Bytes of the longest headers; frames are captured up to there."""
SENDERS, RECEIVERS = int(IPv4Address("10.1.0.1")), int(IPv4Address("10.2.0.1"))
FIRST_PORT, PORTS = 10_000, 50_000
SINK_PORT = 5201
DONT_FRAGMENT = 0x4000
TTL = 64
PROTOCOL_TCP, PROTOCOL_UDP = 6, 17
WINDOW = 65_535
MAC_SENDER, MAC_RECEIVER = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
_IPV4 = np.dtype(
    [
        ("version", "u1"), ("tos", "u1"), ("length", ">u2"), ("id", ">u2"), ("fragment", ">u2"),
        ("ttl", "u1"), ("protocol", "u1"), ("checksum", ">u2"), ("source", ">u4"),
        ("destination", ">u4"),
    ]
)  # fmt: skip
_TCP = np.dtype(
    [
        ("source", ">u2"), ("destination", ">u2"), ("seq", ">u4"), ("ack", ">u4"),
        ("offset", "u1"), ("flags", "u1"), ("window", ">u2"), ("checksum", ">u2"),
        ("urgent", ">u2"), ("options", "u1", (LARGEST_TCP - TCP,)),
    ]
)  # fmt: skip
_FRAME = np.dtype([("mac", "u1", (ETHERNET,)), ("ip", _IPV4), ("tcp", _TCP)])


class Frames:
    """The headers of a batch of packets.

    Args:
        cards: Postcards: `flow`, `packet_bytes`, `payload_bytes`, `tcp_seq`, `tcp_flags`, `kind`,
            `marks`.

    Attributes:
        length: Bytes of each frame's headers.
    """

    def __init__(self, cards: Arrays) -> None:
        tcp_bytes = _tcp_bytes(cards)
        frames = np.zeros(len(tcp_bytes), _FRAME)
        frames["mac"] = np.frombuffer(MAC_RECEIVER + MAC_SENDER + b"\x08\x00", np.uint8)
        _fill_ip(frames["ip"], cards, tcp_bytes)
        _fill_tcp(frames["tcp"], cards, tcp_bytes)
        self.length: list[int] = (ETHERNET + IPV4 + tcp_bytes).tolist()
        self._bytes = frames.tobytes()

    def frame(self, n: int) -> bytes:
        """The headers of packet n, from Ethernet's on."""
        at = n * LARGEST
        return self._bytes[at : at + self.length[n]]

    def packet(self, n: int) -> bytes:
        """The headers of packet n, from IPv4's on."""
        at = n * LARGEST
        return self._bytes[at + ETHERNET : at + self.length[n]]


def ip_checksum(header: NDArray[np.void]) -> NDArray[np.uint16]:
    """The checksum of IPv4 headers without options whose checksum is 0 (RFC 1071).

    Args:
        header: Shape (n,), 20 bytes each.
    """
    words = np.ascontiguousarray(header).view(">u2").reshape(len(header), -1)
    total = words.astype(np.int64).sum(axis=1)
    for _ in range(2):
        total = (total & 0xFFFF) + (total >> 16)
    checksum: NDArray[np.uint16] = (~total & 0xFFFF).astype(np.uint16)
    return checksum


def ipv4(length: int, protocol: int, source: int, destination: int) -> bytes:
    """One IPv4 header with its checksum.

    Args:
        length: Bytes of the packet.
        protocol: Number of what it carries.
        source: Address.
        destination: Address.
    """
    header = np.zeros(1, _IPV4)
    header["version"], header["ttl"], header["fragment"] = 0x45, TTL, DONT_FRAGMENT
    header["length"], header["protocol"] = length, protocol
    header["source"], header["destination"] = source, destination
    header["checksum"] = ip_checksum(header)
    return header.tobytes()


def _tcp_bytes(cards: Arrays) -> NDArray[np.int64]:
    """The length of each TCP header: what the frame has besides payload; padded, the least."""
    left = cards["packet_bytes"].astype(np.int64) - ETHERNET - IPV4 - cards["payload_bytes"]
    whole = (left % 4 == 0) & (left >= TCP) & (left <= LARGEST_TCP)
    return np.where(whole, left, TCP)


def _fill_ip(ip: NDArray[np.void], cards: Arrays, tcp_bytes: NDArray[np.int64]) -> None:
    flow = cards["flow"].astype(np.int64)
    ip["version"], ip["ttl"], ip["protocol"] = 0x45, TTL, PROTOCOL_TCP
    ip["fragment"], ip["tos"] = DONT_FRAGMENT, ecn_field(cards)
    ip["length"] = IPV4 + tcp_bytes + cards["payload_bytes"]
    ip["source"], ip["destination"] = SENDERS + flow, RECEIVERS + flow
    ip["checksum"] = ip_checksum(ip)


def _fill_tcp(tcp: NDArray[np.void], cards: Arrays, tcp_bytes: NDArray[np.int64]) -> None:
    tcp["source"] = FIRST_PORT + cards["flow"].astype(np.int64) % PORTS
    tcp["destination"] = SINK_PORT
    tcp["seq"], tcp["flags"] = cards["tcp_seq"], cards["tcp_flags"]
    tcp["offset"], tcp["window"] = (tcp_bytes // 4) << 4, WINDOW
