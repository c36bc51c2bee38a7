"""Postcards as INT-XD reports: P4.org's Telemetry Report Format 2.0, for INT 2.1, in a pcapng.

Every packet makes a report with the ID and occupancy of its queue, hop latency, and the times of
ingress and egress; a dropped one makes a drop report with a reason. A report is one Ethernet frame
that carries IPv4 and UDP, as the specification's outer encapsulation has it, and the headers of
the packet from IPv4's on as its truncated packet.
"""

import struct
from ipaddress import IPv4Address
from pathlib import Path

from nashbed.controlplane.contract.records import KIND_DROPPED

from .capture_file import CaptureFile
from .headers import (
    IPV4,
    MAC_RECEIVER,
    MAC_SENDER,
    PROTOCOL_UDP,
    UDP,
    Frames,
    ipv4,
)
from .marks import reason_of
from .pcapng import SYNTHESISED, application
from .selection import Selection

SUFFIX = "int-xd.pcapng"
PORT = 32_766
"""UDP port of the collector; the specification leaves it to the operator."""
VERSION, NODE, HARDWARE, QUEUE = 2, 1, 0, 0
REPORT_INT, INNER_IPV4 = 1, 4
DROPPED, TRACKED = 0x80, 0x20
"""Bits D and F in the last byte of the individual report header."""
LATENCY_BIT, QUEUE_BIT, INGRESS_BIT, EGRESS_BIT, DROP_BIT = (0x8000 >> n for n in (2, 3, 4, 5, 15))
LEFT_BITS = LATENCY_BIT | QUEUE_BIT | INGRESS_BIT | EGRESS_BIT
DROP_BITS = QUEUE_BIT | INGRESS_BIT | DROP_BIT
TRAFFIC_MANAGER, METER, WRED = 71, 72, 73
"""Among the drop reasons of p4lang/switch, which the specification points to."""
REASONS = {"early": WRED, "policer": METER}
"""Why a postcard says that a packet was dropped -> its number; others are the traffic manager's."""
LARGEST_QUEUE, LARGEST_LATENCY = (1 << 24) - 1, (1 << 32) - 1
SEQUENCES = 1 << 22
NODE_ADDRESS, COLLECTOR = int(IPv4Address("192.0.2.1")), int(IPv4Address("192.0.2.2"))
_FIXED_WORDS = 2
_GROUP = struct.Struct(">II")
_REPORT = struct.Struct(">BBBBHHHH")
_LEFT = struct.Struct(">IIQQ")
_DROP = struct.Struct(">IQBBH")
WHAT = (
    "INT-XD reports of Telemetry Report Format 2.0. One for each packet; node 1 is the bottleneck, "
    "queue 0 its queue. Queue occupancy is in bytes (at most 16777215), before the packet. Ingress "
    "is the arrival at the queue, egress when the last bit left; both in ns since 1970. Drop "
    "reasons are of p4lang/switch: 71 traffic manager (no room), 72 meter (a policer), 73 WRED "
    "(the queue discipline's decision)."
)


class Outer:
    """Ethernet, IPv4 and UDP around reports; headers are made once for each length."""

    def __init__(self) -> None:
        self._made: dict[int, bytes] = {}

    def around(self, report: bytes) -> bytes:
        """The frame that carries a report."""
        head = self._made.get(len(report))
        if head is None:
            head = self._made[len(report)] = _outer(len(report))
        return head + report


def _outer(report_bytes: int) -> bytes:
    """UDP without a checksum, which IPv4 permits."""
    udp = UDP + report_bytes
    ip = ipv4(IPV4 + udp, PROTOCOL_UDP, NODE_ADDRESS, COLLECTOR)
    mac = MAC_RECEIVER + MAC_SENDER + b"\x08\x00"
    return mac + ip + struct.pack(">HHHH", PORT, PORT, udp, 0)


def write_int_xd(chosen: Selection, path: Path) -> dict[str, int]:
    """Write the reports; each is sent when its packet left or was dropped.

    Returns:
        What -> how many.

    Raises:
        RunError: There are no postcards.
    """
    record, base, outer = chosen.trial.record, chosen.base_ns, Outer()
    chosen.need_postcards()
    number = drops = 0
    comment = f"nashbed trial {record.id}. t0 is {base} ns since 1970. {WHAT} {SYNTHESISED}"
    with path.open("wb", buffering=1 << 20) as raw:
        file = CaptureFile(raw, comment, application())
        file.interface("reports", "telemetry reports of the bottleneck", 0, 0)
        for cards in chosen.chosen_postcards("reports"):
            frames = Frames(cards, chosen.datagrams)
            columns = ("kind", "marks", "queue_bytes", "enqueue_ns", "dequeue_ns")
            rows = zip(*(cards[name].tolist() for name in columns), strict=True)
            for n, (kind, marks, queue, enqueue, dequeue) in enumerate(rows):
                dropped = kind == KIND_DROPPED
                reason = _reason(marks) if dropped else None
                data = metadata(reason, queue, base + enqueue, base + dequeue)
                report = individual_report(dropped, data, frames.packet(n))
                group = (VERSION << 28) | (HARDWARE << 22) | (number % SEQUENCES)
                frame = outer.around(_GROUP.pack(group, NODE) + report)
                file.packet(0, base + dequeue, frame, len(frame))
                number += 1
                drops += dropped
    return {"reports": number - drops, "drop reports": drops}


def _reason(marks: int) -> int:
    return REASONS.get(reason_of(marks), TRAFFIC_MANAGER)


def metadata(reason: int | None, queue: int, ingress_ns: int, egress_ns: int) -> bytes:
    """The variable optional baseline metadata of a report, in the order of its bits.

    Args:
        reason: Why the packet was dropped; None: it was not.
        queue: Bytes in the queue.
    """
    occupancy = (QUEUE << 24) | min(queue, LARGEST_QUEUE)
    if reason is not None:
        return _DROP.pack(occupancy, ingress_ns, QUEUE, reason, 0)
    latency = min(egress_ns - ingress_ns, LARGEST_LATENCY)
    return _LEFT.pack(latency, occupancy, ingress_ns, egress_ns)


def individual_report(dropped: bool, data: bytes, packet: bytes) -> bytes:
    """The individual report header, its main contents and the truncated packet."""
    words = len(data) // 4
    length = _FIXED_WORDS + words + len(packet) // 4
    flags = TRACKED | (DROPPED if dropped else 0)
    bits = DROP_BITS if dropped else LEFT_BITS
    kind = (REPORT_INT << 4) | INNER_IPV4
    return _REPORT.pack(kind, length, words, flags, bits, 0, 0, 0) + data + packet
