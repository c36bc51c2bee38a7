"""What ingress makes of a frame from the senders' side: the reference for every target."""

from __future__ import annotations

from dataclasses import dataclass

ETHERNET = 14
IPV4 = 20
MINIMUM = {6: 20, 17: 8}
"""The least layer-4 header of each protocol that is classified: TCP and UDP."""


@dataclass(frozen=True)
class FlowKey:
    """A 5-tuple; addresses in dotted form."""

    src: str
    dst: str
    sport: int
    dport: int
    proto: int

    def reversed(self) -> FlowKey:
        """The key of the way back."""
        return FlowKey(self.dst, self.src, self.dport, self.sport, self.proto)


@dataclass(frozen=True)
class Sound:
    """A frame with a 5-tuple and lengths that agree.

    Attributes:
        payload_bytes: Layer-4 payload by the headers, so without Ethernet's padding.
    """

    key: FlowKey
    payload_bytes: int


def number(frame: bytes, offset: int, size: int) -> int:
    """A big-endian field."""
    return int.from_bytes(frame[offset : offset + size], "big")


def dotted(address: bytes) -> str:
    return ".".join(str(byte) for byte in address)


def classify(frame: bytes) -> Sound | str:
    """The frame's flow and payload, or why it has none: "unknown" or "malformed".

    Malformed: too short for a header that its earlier fields announce, or of
    lengths that contradict each other. Unknown: sound as far as it is looked
    at, but neither TCP nor UDP over IPv4 without options, or a later fragment.
    """
    is_ipv4 = number(frame, 12, 2) == 0x0800
    if len(frame) < ETHERNET or (is_ipv4 and len(frame) < ETHERNET + IPV4):
        return "malformed"
    if not is_ipv4 or frame[14] != 0x45 or frame[23] not in MINIMUM or is_later_fragment(frame):
        return "unknown"
    return classify_segment(frame)


def is_later_fragment(frame: bytes) -> bool:
    """Whether its IPv4 header has a fragment offset."""
    return number(frame, 20, 2) & 0x1FFF != 0


def classify_segment(frame: bytes) -> Sound | str:
    """Classify a frame with an IPv4 header that announces TCP or UDP."""
    proto = frame[23]
    total = number(frame, 16, 2)
    if len(frame) < ETHERNET + IPV4 + MINIMUM[proto] or len(frame) < ETHERNET + total:
        return "malformed"
    l4_bytes = 4 * (frame[46] >> 4) if proto == 6 else MINIMUM[proto]
    if l4_bytes < MINIMUM[proto] or total < IPV4 + l4_bytes:
        return "malformed"
    src, dst = dotted(frame[26:30]), dotted(frame[30:34])
    key = FlowKey(src, dst, number(frame, 34, 2), number(frame, 36, 2), proto)
    return Sound(key, total - IPV4 - l4_bytes)
