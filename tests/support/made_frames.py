"""Ethernet frames of every form that a replay looks into, and of those that it does not.

Each comes with what its maker knows of it: its flow, its bytes as it was sent, its payload.
"""

import random
import struct
from dataclasses import dataclass, replace
from ipaddress import ip_address

SHORTEST = 60
TCP, UDP, ICMP = 6, 17, 1
IPV4, IPV6 = 4, 6
MACS = b"\x02\x00\x00\x00\x00\x02" + b"\x02\x00\x00\x00\x00\x01"
TAG_TYPES = (0x8100, 0x88A8, 0x9100)

HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, DESTINATION = 0, 43, 44, 51, 60
EXTENSIONS = {
    HOP_BY_HOP: bytes([0, 1, 4, 0, 0, 0, 0]),
    ROUTING: bytes(7),
    FRAGMENT: bytes([0, 0, 0, 0, 0, 0, 7]),
    AUTHENTICATION: bytes([4, *range(22)]),
    DESTINATION: bytes([1, 1, 12, *bytes(12)]),
}
"""Extension headers behind their byte of the next header, a first fragment's among them."""


@dataclass(frozen=True)
class Flow:
    """A 5-tuple; the number is in its source port."""

    number: int
    version: int = IPV4
    protocol: int = TCP

    @property
    def addresses(self) -> tuple[str, str]:
        if self.version == IPV4:
            return "192.0.2.1", "198.51.100.1"
        return "2001:db8::1", "2001:db8:ffff::2"

    @property
    def listed(self) -> dict[str, object]:
        """How a summary lists it."""
        src, dst = self.addresses
        return {"src": src, "dst": dst, "sport": 10000 + self.number, "dport": 5001,
                "proto": self.protocol}  # fmt: skip


@dataclass(frozen=True)
class Made:
    """A frame, without what its file adds to it.

    Attributes:
        data: As it was sent, without FCS.
        payload: Bytes of layer-4 payload.
        l4: Where the TCP or UDP header begins.
        ip: Where the IP header begins.
        flow: Its flow; None where it is not looked at, or is of the way back.
        why: Why it is not looked at, as a summary says it.
        seq: TCP's sequence number; 0 of UDP.
        captured: Bytes of it that were captured; None: all.
    """

    data: bytes
    payload: int = 0
    l4: int = 0
    ip: int = 14
    flow: Flow | None = None
    why: str | None = None
    seq: int = 0
    captured: int | None = None


def checksum(header: bytes) -> int:
    """The Internet checksum of an even number of bytes; 0 of a header that has its own."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def _ipv4(addresses: list[bytes], protocol: int, tos: int, options: bytes, payload: int) -> bytes:
    ihl = 5 + len(options) // 4
    head = struct.pack(">BBHHHBB", 0x40 | ihl, tos, 4 * ihl + payload, 1, 0, 64, protocol)
    rest = b"".join(addresses) + options
    return head + struct.pack(">H", checksum(head + bytes(2) + rest)) + rest


def _ipv6(
    addresses: list[bytes], protocol: int, tos: int, kinds: tuple[int, ...], payload: int
) -> bytes:
    following = [*kinds[1:], protocol] if kinds else []
    chain = b"".join(
        bytes([after]) + EXTENSIONS[kind] for kind, after in zip(kinds, following, strict=True)
    )
    first = kinds[0] if kinds else protocol
    head = struct.pack(">IHBB", IPV6 << 28 | tos << 20, len(chain) + payload, first, 64)
    return head + b"".join(addresses) + chain


def make(
    flow: Flow,
    bytes_: int = 0,
    *,
    tags: tuple[int, ...] = (),
    options: bytes = b"",
    extensions: tuple[int, ...] = (),
    tos: int = 0,
    seq: int = 0,
    turned: bool = False,
) -> Made:
    """A frame of a flow, or of its way back.

    Args:
        bytes_: Its length, as far as its headers allow; padded to Ethernet's minimum.
        tags: EtherTypes of its VLAN tags.
        options: IPv4's options, whole words.
        extensions: Kinds of IPv6's extension headers.
        tos: ToS byte or traffic class.
        turned: Of the way back.
    """
    sport, dport = 10000 + flow.number, 5001
    addresses = [ip_address(each).packed for each in flow.addresses]
    if turned:
        sport, dport, addresses = dport, sport, addresses[::-1]
    l4_bytes = 20 if flow.protocol == TCP else 8
    link = MACS + b"".join(struct.pack(">HH", each, 5) for each in tags)
    link += b"\x08\x00" if flow.version == IPV4 else b"\x86\xdd"

    def headers(payload: int) -> bytes:
        inner = l4_bytes + payload
        if flow.version == IPV4:
            return link + _ipv4(addresses, flow.protocol, tos, options, inner)
        return link + _ipv6(addresses, flow.protocol, tos, extensions, inner)

    l4_at = len(headers(0))
    payload = max(bytes_ - l4_at - l4_bytes, 0)
    l4 = struct.pack(">HH", sport, dport)
    if flow.protocol == TCP:
        l4 += struct.pack(">IIBBHHH", seq, 1, 0x50, 0x10, 1000, 0, 0)
    else:
        l4 += struct.pack(">HH", l4_bytes + payload, 0)
    data = headers(payload) + l4 + random.Random(seq).randbytes(payload)
    return Made(
        data=data.ljust(SHORTEST + 4 * len(tags), b"\0"),
        payload=payload,
        l4=l4_at,
        ip=len(link),
        flow=None if turned else flow,
        seq=seq if flow.protocol == TCP else 0,
    )


def changed(made: Made, at: int, value: bytes, why: str) -> Made:
    """The frame with other bytes, and so not looked at."""
    data = made.data[:at] + value + made.data[at + len(value) :]
    return replace(made, data=data, flow=None, why=why)


def not_looked_at(made: Made, why: str) -> Made:
    """An IPv4 frame made into one that is not looked at for this reason."""
    at = made.ip
    match why:
        case "not_ip":
            return changed(made, at - 2, b"\x08\x06", why)
        case "other_protocol":
            return changed(made, at + 9, bytes([ICMP]), why)
        case "later_fragment":
            return changed(made, at + 6, b"\x00\xb9", why)
        case "malformed":
            return changed(made, at + 2, b"\xff\xff", why)
        case "cut_short":
            return replace(made, flow=None, why=why, captured=made.l4 + 3)
    raise ValueError(why)


REASONS = ("not_ip", "other_protocol", "later_fragment", "malformed", "cut_short")


def random_frame(rng: random.Random, flows: list[Flow], seen: list[Flow], seq: int) -> Made:
    """Any of them; of the way back only where the flow was seen."""
    flow = rng.choice(flows)
    tags = tuple(rng.choice(TAG_TYPES) for _ in range(rng.choice([0, 0, 1, 2, 3])))
    size = rng.choice([0, 1514, rng.randint(60, 1600)])
    tos = rng.randrange(256)
    if rng.random() < 0.1:
        return not_looked_at(make(Flow(0), size, tags=tags, seq=seq), rng.choice(REASONS))
    if seen and rng.random() < 0.1:
        return make(rng.choice(seen), tags=tags, tos=tos, turned=True)
    options = bytes(4 * rng.choice([0, 0, 1, 10])) if flow.version == IPV4 else b""
    kinds: tuple[int, ...] = ()
    if flow.version == IPV6:
        kinds = tuple(rng.sample(sorted(EXTENSIONS), rng.choice([0, 0, 1, len(EXTENSIONS)])))
    return make(flow, size, tags=tags, options=options, extensions=kinds, tos=tos, seq=seq)
