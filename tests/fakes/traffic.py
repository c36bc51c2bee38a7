"""The traffic that both fakes agree on: the data plane writes it, the generators report it.

Every flow sends a SYN and SEGMENTS segments of PAYLOAD bytes. Every tenth segment is dropped
and sent again at once, so that drops, repeats and holes occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
from nashbed.controlplane.contract.records import BIN, POSTCARD

if TYPE_CHECKING:  # it imports far more than the fakes, which start hundreds of times, need
    from nashbed.controlplane.validity.postcard_evidence import Sightings

SEGMENTS = 60
PAYLOAD = 1000
HEADERS = 66
SYN_BYTES = 74
SYN = 0x02
NS = 10**9


@dataclass
class Packet:
    flow: int
    seq: int
    payload: int
    flags: int
    dropped: bool

    @property
    def size(self) -> int:
        return self.payload + HEADERS if self.payload else SYN_BYTES


def stream_bytes() -> int:
    """What each sink reads."""
    return SEGMENTS * PAYLOAD


def first_seq(flow: int) -> int:
    """A flow's SYN; every second flow's sequence numbers wrap in the middle."""
    return (2**32 - 20 * PAYLOAD) if flow % 2 else 1000 * flow


def packets(flows: int) -> list[Packet]:
    """All packets in the order of their arrival, flow by flow in turn."""
    found = [Packet(f, first_seq(f), 0, SYN, False) for f in range(flows)]
    for number in range(SEGMENTS):
        for flow in range(flows):
            seq = (first_seq(flow) + 1 + number * PAYLOAD) % 2**32
            if number % 10 == 9:
                found.append(Packet(flow, seq, PAYLOAD, 0x10, True))
            found.append(Packet(flow, seq, PAYLOAD, 0x10, False))
    return found


def postcards(
    lane: int, first_flow: int, flows: int, span_ns: tuple[int, int], rate_bps: int
) -> np.ndarray:
    """Postcards of all packets, spread over a span of the switch clock."""
    todo = packets(flows)
    after = np.linspace(0, span_ns[1] - span_ns[0], len(todo)).astype(np.int64)
    times = span_ns[0] + after  # whole numbers: the same after t0 whenever that is
    rows: list[tuple[int, Packet, int, int, int]] = []
    last, carried, waiting = 0, 0, []  # type: ignore[var-annotated]
    for now, packet in zip(times.tolist(), todo, strict=True):
        waiting = [(t, size) for t, size in waiting if t > now]
        queue = sum(size for _, size in waiting)
        if packet.dropped:
            rows.append((now, packet, now, now, queue))
            continue
        if last < now:
            carried = 0
        takes, carried = divmod(packet.size * 8 * NS + carried, rate_bps)
        last = max(now, last) + takes
        waiting.append((last, packet.size))
        rows.append((last, packet, now, last, queue))
    rows.sort(key=lambda row: row[0])
    return encode(lane, first_flow, [row[1:] for row in rows])


def encode(lane: int, first_flow: int, rows: list[tuple[Packet, int, int, int]]) -> np.ndarray:
    """Rows of (packet, enqueue, dequeue, queue bytes) as raw records."""
    raw = np.zeros(len(rows), POSTCARD)
    for number, (packet, enqueue, dequeue, queue) in enumerate(rows):
        raw[number] = (
            1, packet.dropped, lane, first_flow + packet.flow, packet.size, queue,
            enqueue >> 32, enqueue & 0xFFFFFFFF, dequeue >> 32, dequeue & 0xFFFFFFFF,
            packet.seq, number, packet.payload, packet.flags, 0,
        )  # fmt: skip
    return raw


def binned(cards: np.ndarray, bin_ns: int) -> np.ndarray:
    """Time bins of postcards: what departed and was dropped of each flow; no occupancy."""
    dequeue = cards["dequeue_high"].astype(np.int64) << 32 | cards["dequeue_low"]
    rows: dict[tuple[int, int], np.void] = {}
    for card, number in zip(cards, (dequeue // bin_ns).tolist(), strict=True):
        key = number % 2**32, int(card["flow"])
        row = rows.setdefault(key, np.zeros((), BIN)[()])
        what = "dropped" if card["kind"] else "departed"
        row[f"{what}_packets"] += 1
        row[f"{what}_bytes"] += card["packet_bytes"]
        row["bin"], row["flow"] = key
    return np.array(list(rows.values()), BIN)


def registers(flows: int) -> dict[str, list[int]]:
    """The per-flow registers after all packets."""
    names = ("arrived", "departed", "dropped")
    found = {f"{n}_{unit}": [0] * flows for n in names for unit in ("packets", "bytes")}
    for packet in packets(flows):
        for name in ("arrived", "dropped" if packet.dropped else "departed"):
            found[f"{name}_packets"][packet.flow] += 1
            found[f"{name}_bytes"][packet.flow] += packet.size
    found |= {"in_queue_bytes": [0] * flows, "peak_queue_bytes": [5000] * flows}
    return found | dict.fromkeys(("marked_packets", "marked_bytes"), [0] * flows)


def departed(times_ns: np.ndarray, delays_ns: np.ndarray, packets: np.ndarray) -> Sightings:
    """Rows of one flow as an examiner of telemetry sees them: when, how long queued, how many."""
    flow = np.zeros(len(times_ns), np.int64)
    columns = SimpleNamespace(flow=flow, seen_ns=times_ns, delay_ns=delays_ns, departures=packets)
    return cast("Sightings", columns)
