"""Frames of the vectors, built by Scapy; what few fields make different is patched into a frame."""

import random
import struct
from functools import cache
from typing import Any

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet as ScapyPacket
from tests.conformance.target import Packet
from tests.model.classifier import FlowKey

LINK = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
SENDER = "10.64.0.1"
RECEIVER = "10.65.0.1"
TCP_HEADERS = 54
UDP_HEADERS = 42


def tcp_key(flow: int = 0) -> FlowKey:
    """The 5-tuple of TCP flow i of the vectors."""
    return FlowKey(SENDER, RECEIVER, 10000 + flow, 5001, 6)


def udp_key(flow: int = 0) -> FlowKey:
    """The 5-tuple of UDP flow i of the vectors."""
    return FlowKey(SENDER, RECEIVER, 10000 + flow, 5001, 17)


def ip_of(key: FlowKey, **fields: Any) -> ScapyPacket:
    """Ethernet and IPv4 headers of a flow's packet."""
    return Ether(**LINK) / IP(src=key.src, dst=key.dst, **fields)


def noise(size: int, seed: int = 0) -> bytes:
    """Payload in which every byte matters."""
    return random.Random(seed).randbytes(size)


def tcp(
    flow: int = 0,
    size: int = 1514,
    *,
    key: FlowKey | None = None,
    ip: dict[str, Any] | None = None,
    **fields: Any,
) -> bytes:
    """A TCP frame of `size` bytes; `ip` and the other fields as Scapy calls them."""
    key, ip = key or tcp_key(flow), ip or {}
    if size >= TCP_HEADERS and ip.keys() <= {"tos"} and fields.keys() <= {"seq"}:
        return _like(_plain(key), size, ip.get("tos", 0), fields.get("seq", 0))
    head = ip_of(key, **ip) / TCP(sport=key.sport, dport=key.dport, **fields)
    return bytes(head / noise(size - len(bytes(head)), seed=size))


@cache
def _plain(key: FlowKey) -> bytes:
    """Headers of a TCP frame without payload."""
    return bytes(ip_of(key) / TCP(sport=key.sport, dport=key.dport))


def _like(plain: bytes, size: int, tos: int, seq: int) -> bytes:
    """The frame with another size, TOS and sequence number: Scapy takes milliseconds for each."""
    frame = bytearray(plain + noise(size - len(plain), seed=size))
    struct.pack_into(">BH", frame, 15, tos, size - 14)
    struct.pack_into(">I", frame, 38, seq)
    frame[24:26] = frame[50:52] = bytes(2)
    pseudo = frame[26:34] + struct.pack(">HH", 6, size - 34)
    struct.pack_into(">H", frame, 24, _checksum(frame[14:34]))
    struct.pack_into(">H", frame, 50, _checksum(pseudo + frame[34:] + bytes(size % 2)))
    return bytes(frame)


def _checksum(data: bytes | bytearray) -> int:
    """The Internet checksum (RFC 1071) of an even number of bytes that are not all zero."""
    return 0xFFFF - (int.from_bytes(data, "big") % 0xFFFF or 0xFFFF)


def udp(flow: int = 0, size: int = 1514, *, key: FlowKey | None = None, **ip: Any) -> bytes:
    """A UDP frame of `size` bytes."""
    key = key or udp_key(flow)
    head = ip_of(key, **ip) / UDP(sport=key.sport, dport=key.dport)
    return bytes(head / noise(size - len(bytes(head)), seed=size))


def changed(frame: bytes, offset: int, value: bytes) -> bytes:
    """The frame with some bytes put in place of its own."""
    return frame[:offset] + value + frame[offset + len(value) :]


def burst(frames: list[bytes], time_ns: int = 0) -> list[Packet]:
    """Frames that come at the very same time."""
    return [Packet(time_ns, frame) for frame in frames]


def spaced(frames: list[bytes], gap_ns: int = 1_000_000) -> list[Packet]:
    """Frames so far apart that, at the rate of the vector, none waits for another."""
    return [Packet(i * gap_ns, frame) for i, frame in enumerate(frames)]
