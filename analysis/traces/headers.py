"""Ethernet, IPv4, TCP and UDP headers made from postcards, and the checksum of IPv4.

A postcard has a packet's length, payload, TCP sequence number and flags, its flow, and whether it
was ECN-capable and marked. All else is made up: MAC addresses, IP addresses and ports by the flow's
number, TTL, window, an acknowledgement number of 0, and TCP options of the right length that are
zero, so empty. UDP has no checksum, which IPv4 permits. There is no payload.
"""

from collections.abc import Collection
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
_UDP = np.dtype([("source", ">u2"), ("destination", ">u2"), ("length", ">u2"), ("checksum", ">u2")])
_FRAME = np.dtype(
    {
        "names": ["mac", "ip", "tcp", "udp"],
        "formats": [("u1", (ETHERNET,)), _IPV4, _TCP, _UDP],
        "offsets": [0, ETHERNET, ETHERNET + IPV4, ETHERNET + IPV4],
    }
)

_USED = ("flow", "payload_bytes", "tcp_seq", "tcp_flags")


class Frames:
    """The headers of a batch of packets.

    Args:
        cards: Postcards: `flow`, `packet_bytes`, `payload_bytes`, `tcp_seq`, `tcp_flags`, `kind`,
            `marks`.
        datagrams: Flows that are UDP; all others are TCP.

    Attributes:
        length: Bytes of each frame's headers.
    """

    def __init__(self, cards: Arrays, datagrams: Collection[int] = ()) -> None:
        is_udp = np.isin(cards["flow"], list(datagrams))
        above_ip = np.where(is_udp, UDP, _tcp_bytes(cards))
        frames = np.zeros(len(above_ip), _FRAME)
        frames["mac"] = np.frombuffer(MAC_RECEIVER + MAC_SENDER + b"\x08\x00", np.uint8)
        _fill_ip(frames["ip"], cards, above_ip, np.where(is_udp, PROTOCOL_UDP, PROTOCOL_TCP))
        for name, fill, which in (("tcp", _fill_tcp, ~is_udp), ("udp", _fill_udp, is_udp)):
            headers = frames[name][which]
            fill(headers, {column: cards[column][which] for column in _USED}, above_ip[which])
            frames[name][which] = headers
        self.length: list[int] = (ETHERNET + IPV4 + above_ip).tolist()
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


def _fill_ip(
    ip: NDArray[np.void],
    cards: Arrays,
    above_ip: NDArray[np.int64],
    protocol: NDArray[np.int64],
) -> None:
    flow = cards["flow"].astype(np.int64)
    ip["version"], ip["ttl"], ip["protocol"] = 0x45, TTL, protocol
    ip["fragment"], ip["tos"] = DONT_FRAGMENT, ecn_field(cards)
    ip["length"] = IPV4 + above_ip + cards["payload_bytes"]
    ip["source"], ip["destination"] = SENDERS + flow, RECEIVERS + flow
    ip["checksum"] = ip_checksum(ip)


def _fill_ports(header: NDArray[np.void], cards: Arrays) -> None:
    header["source"] = FIRST_PORT + cards["flow"].astype(np.int64) % PORTS
    header["destination"] = SINK_PORT


def _fill_tcp(tcp: NDArray[np.void], cards: Arrays, tcp_bytes: NDArray[np.int64]) -> None:
    _fill_ports(tcp, cards)
    tcp["seq"], tcp["flags"] = cards["tcp_seq"], cards["tcp_flags"]
    tcp["offset"], tcp["window"] = (tcp_bytes // 4) << 4, WINDOW


def _fill_udp(udp: NDArray[np.void], cards: Arrays, udp_bytes: NDArray[np.int64]) -> None:
    _fill_ports(udp, cards)
    udp["length"] = udp_bytes + cards["payload_bytes"]
