"""The loop closed: a replay's packets go through the FPGA's ports before and behind the queue."""

import random
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.captures import TimestampSource
from tests.rtl.loop.through import delays_ps, through_ports
from tests.rtl.simulate import need_icarus
from tests.support.capture import raw_capture
from tests.support.programs import need_program
from tests.support.replay import Bottleneck, Replayed, need_dataplane, replay, time_of
from tests.support.tshark import tshark

PACKETS = 150
RATE = 4_000_000_000
PERIOD_NS = 4
"""Period of the simulated clock."""


@dataclass(frozen=True)
class Loop:
    """What came out of it.

    Attributes:
        before: Capture at the port before the bottleneck.
        behind: Capture at the port behind it.
    """

    replayed: Replayed
    before: Path
    behind: Path


def frame(number: int, payload: bytes) -> bytes:
    """A TCP segment whose sequence number is the packet's number."""
    tcp = struct.pack(">HHIIBBHHH", 10000, 5001, number, 1, 0x50, 0x10, 500, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0x4000, 64, 6, 0)
    addresses = bytes([10, 64, 0, 1, 10, 65, 0, 1])
    return b"\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00" + ip + addresses + tcp


def arrivals() -> list[tuple[int, bytes]]:
    """Faster than the bottleneck, in no step with the clock, and apart by more than a frame."""
    rng, time, packets = random.Random(7), 0, []
    for number in range(PACKETS):
        time += rng.randint(125, 250)
        packets.append((time, frame(number, rng.randbytes(rng.randint(6, 150)))))
    return packets


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    need_icarus()
    need_dataplane()
    folder = tmp_path_factory.mktemp("loop")
    packets = arrivals()
    bottleneck = Bottleneck(rate_bps=RATE, limit=2000)
    replayed = replay(folder / "replay", raw_capture(packets), bottleneck)
    cards = replayed.postcards[replayed.postcards["kind"] == 0]
    leaving = zip(time_of(cards, "dequeue").tolist(), cards["tcp_seq"].tolist(), strict=True)
    start = packets[0][0]  # the replay's clock begins with its first packet
    behind = [(start + time, packets[seq][1]) for time, seq in leaving]
    return Loop(replayed, *through_ports(folder, packets, behind, PERIOD_NS))


@pytest.mark.slow
@pytest.mark.dataplane
def test_delays_by_trailers_are_those_of_the_postcards(loop: Loop) -> None:
    """Within one clock cycle of each stamp, for every packet that left; drops are seen too."""
    cards = loop.replayed.postcards
    left = cards[cards["kind"] == 0]
    sojourn_ns = dict(
        zip(
            left["tcp_seq"].tolist(),
            (time_of(left, "dequeue") - time_of(left, "enqueue")).tolist(),
            strict=True,
        )
    )
    by_seq = delays_ps(loop.before, loop.behind)
    assert by_seq.keys() == sojourn_ns.keys()
    away_ps = np.array([by_seq[seq] - sojourn_ns[seq] * 1000 for seq in sojourn_ns])
    assert np.abs(away_ps).max() < PERIOD_NS * 1000 + 2  # and 2^-40 s of each stamp
    assert np.abs(away_ps).max() > 0, "arrivals are in no step with the clock"

    dropped = cards[cards["kind"] == 1]["tcp_seq"].tolist()
    assert len(dropped) > 10, "the queue must overflow in this test"
    assert len(left) > 100
    arrived = {int(seq) for seq in cards["tcp_seq"]}
    assert arrived - by_seq.keys() == set(dropped)
    assert max(sojourn_ns.values()) > 10 * min(sojourn_ns.values())


@pytest.mark.slow
@pytest.mark.dataplane
def test_tshark_reads_the_same_from_every_frame(loop: Loop) -> None:
    need_program("tshark")
    names = ("timestamp.seconds", "timestamp.fractional_seconds", "device", "port", "original_fcs")
    for path in (loop.before, loop.behind):
        rows = tshark(path, [f"exablaze.{name}" for name in names], "exablaze_eth", False)
        ((_, ours),) = TimestampSource(path).chunks()
        assert len(rows) == len(ours.times) > 100
        for n, (seconds, part, device, port, fcs) in enumerate(rows):
            s, fraction, per_second = ours.times.exact(n)
            assert (s, int(ours.device[n]), int(ours.port[n])) == (
                int(seconds), int(device), int(port)
            )  # fmt: skip
            assert int(ours.original_fcs[n]) == int(fcs, 0)
            assert abs(float(part) - fraction / per_second) < 1e-12
