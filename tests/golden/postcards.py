"""The postcard's golden bytes: what they are made of, and the one way to make them again.

    .venv/bin/python -m tests.golden.postcards

writes postcards.pcap (what goes into P4), postcards.bin (what P4 writes of it) and
postcards.json (what every decoder must read there). Do so only when the record is
meant to change, and look at the difference: data on people's disks has the old one.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import (
    POSTCARD,
    POSTCARD_OF_QUEUES,
    POSTCARD_VERSION_QUEUES,
    join_u48,
)
from numpy.typing import NDArray
from tests.conformance.packets import tcp, udp
from tests.support.capture import raw_capture
from tests.support.p4 import header, sources
from tests.support.replay import ROOT, Bottleneck, replay

FOLDER = Path(__file__).parent
CAPTURE = FOLDER / "postcards.pcap"
BYTES = FOLDER / "postcards.bin"
VALUES = FOLDER / "postcards.json"

BOTTLENECK = Bottleneck(rate_bps=1_000_000, limit=4000)
"""Slow and short: delays of milliseconds and a drop."""

HOURS_NS = 3600 * 10**9


def capture() -> bytes:
    """A few packets that set every field of a postcard that a replay can set."""
    start_ns = 1_700_000_000 * 10**9
    return raw_capture(
        [
            (start_ns, tcp(0, 1514, seq=0x89ABCDEF, flags="PA")),
            (start_ns + 1, tcp(1, 600, seq=0, flags="S")),
            (start_ns + 2, udp(2, 700)),
            (start_ns + 3, tcp(0, 1514, seq=0xFFFFFFFF, flags=0xFF)),  # finds no room
            (start_ns + 4, tcp(3, 60, seq=0x01020304, flags="FA")),
            # Beyond 32 bits of nanoseconds.
            (start_ns + 70 * HOURS_NS + 0x1234567, tcp(1, 1000, seq=1, flags="A")),
            # ECN-capable, ECT(0): the only one with a mark.
            (start_ns + 71 * HOURS_NS, tcp(2, 900, seq=2, flags="A", ip={"tos": 2})),
        ]
    )


def python_values(cards: NDArray[Any]) -> list[dict[str, int]]:
    """What Python reads, times joined."""
    times = {
        f"{name}_ns": join_u48(cards[f"{name}_high"], cards[f"{name}_low"])
        for name in ("enqueue", "dequeue")
    }
    plain = ("version", "kind", "lane", "flow", "packet_bytes", "queue_bytes")
    rest: tuple[str, ...] = ("tcp_seq", "lane_seq", "payload_bytes", "tcp_flags", "marks")
    rest += ("queue", "own_queue_bytes") if cards.dtype == POSTCARD_OF_QUEUES else ()
    columns = {name: cards[name] for name in plain} | times | {name: cards[name] for name in rest}
    return [{name: int(column[i]) for name, column in columns.items()} for i in range(len(cards))]


def p4_fields(version: int) -> list[tuple[str, int]]:
    """(name, bytes) of the record's fields as postcard.p4 declares them."""
    names = ["postcard_h"] + ["queue_postcard_h"] * (version == POSTCARD_VERSION_QUEUES)
    declared = [field for name in names for field in header(sources("dpdk"), name)]
    return [(name, bits // 8) for name, bits in declared]


def p4_values(record: bytes) -> dict[str, int]:
    """What P4's own declaration says is in a record."""
    values, at = {}, 0
    for name, size in p4_fields(record[0]):
        values[name] = int.from_bytes(record[at : at + size], "big")
        at += size
    assert at == len(record)
    values.pop("reserved", None)
    return values


def main() -> None:
    CAPTURE.write_bytes(capture())
    with tempfile.TemporaryDirectory() as folder:
        replayed = replay(Path(folder), CAPTURE.read_bytes(), BOTTLENECK)
        BYTES.write_bytes((replayed.folder / "postcards.raw").read_bytes())
    values = python_values(np.fromfile(BYTES, POSTCARD))
    VALUES.write_text(json.dumps(values, indent=1) + "\n")
    print(f"{BYTES.relative_to(ROOT)}: {len(values)} postcards")


if __name__ == "__main__":
    main()
