"""Captures that are cut, damaged or foreign: an answer in one line, and never a crash or a hang."""

import random
import struct
from pathlib import Path

import pytest
from tests.conformance.packets import tcp
from tests.support import timestamps as file_of
from tests.support.capture import GLOBAL_HEADER, raw_capture
from tests.support.made_frames import IPV4, IPV6, Flow, make
from tests.support.replay import Bottleneck, start_replay

pytestmark = pytest.mark.dataplane

PACKETS = [(i * 1000, tcp(i % 2, 60 + i)) for i in range(4)]
GOOD = raw_capture(PACKETS)
RECORD = len(GLOBAL_HEADER)
"""Where the first packet's record header starts."""

FRAME = RECORD + 16


def pcapng() -> bytes:
    """The same packets, and those that a replay looks deeper into."""
    out = file_of.pcapng_section() + file_of.pcapng_interface(9, 5, fcs=4)
    for n, (form, kinds) in enumerate([(IPV4, ()), (IPV6, (0, 43, 44, 51, 60))]):
        made = make(Flow(n, form), 300, tags=(0x88A8, 0x8100), extensions=kinds)
        out += file_of.pcapng_packet(n, made.data + bytes(4))
    return out + b"".join(file_of.pcapng_packet(time, frame) for time, frame in PACKETS)


PCAPNG = pcapng()


def header(link_type: int = 1, magic: int = 0xA1B23C4D, version: int = 2) -> bytes:
    return struct.pack("<IHHiIII", magic, version, 4, 0, 0, 65535, link_type)


def record(captured: int, length: int, data: bytes = b"", seconds: int = 0) -> bytes:
    return struct.pack("<IIII", seconds, 0, captured, length) + data


def refusal(folder: Path, capture: bytes) -> str:
    """The one line by which a capture must be refused."""
    run = start_replay(folder, capture, Bottleneck())
    assert run.returncode == 2, (run.returncode, run.stderr)
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1, run.stderr
    assert "in.pcap" in run.stderr
    assert not list(folder.glob("out/*")), "nothing is left of a replay that failed"
    return run.stderr


@pytest.mark.parametrize(
    ("capture", "why"),
    [
        (b"", "not a capture"),
        (GOOD[:3], "not a capture"),
        (GOOD[:23], "not a capture"),
        (b"Not a capture at all, but long enough to be one." * 9, "not a capture"),
        (header(magic=0xA1B2C3D3), "not a capture"),
        (header(version=9), "not a capture"),
        (header(link_type=113) + GOOD[RECORD:], "link type"),
        (header(link_type=147) + GOOD[RECORD:], "packet 1 is of link type 147"),
        (GOOD[: RECORD + 1], "damaged after packet 0"),
        (GOOD[:FRAME], "damaged after packet 0"),
        (GOOD[: FRAME + 59], "damaged after packet 0"),
        (GOOD[:-1], "damaged after packet 3"),
        (GOOD + b"\0", "damaged after packet 4"),
        (GOOD + record(2**31, 2**31), "damaged after packet 4"),
        (GOOD + record(60, 2049, bytes(60)), "more than 2048"),
        (GOOD + record(60, 2**32 - 1, bytes(60)), "more than 2048"),
        (GOOD + record(60, 60, bytes(60), seconds=79 * 3600), "78 hours"),
        (PCAPNG[:-1], "damaged after packet 5"),
        (PCAPNG + PCAPNG[:8], "damaged after packet 6"),
        (PCAPNG + b"\3\0\0\0\x10\0\0\0" + bytes(4) + b"\x10\0\0\0", "7 has no time"),
        (PCAPNG.replace(b"\x09\0\1\0\x09", b"\x09\0\1\0\x7f"), "finer than 64 bits"),
        (file_of.pcapng_section() + file_of.pcapng_packet(0, b""), "not described"),
    ],
)
def test_refused_in_one_line(tmp_path: Path, capture: bytes, why: str) -> None:
    assert why in refusal(tmp_path, capture)


def test_a_queue_that_outlasts_the_clock_is_refused(tmp_path: Path) -> None:
    # 1514 bytes at 1 bit/s take 3.4 hours.
    capture = raw_capture([(0, tcp(size=1514))] * 30)
    run = start_replay(tmp_path, capture, Bottleneck(rate_bps=1, limit=10**6))
    assert run.returncode == 2
    assert "raise rate_bps" in run.stderr
    assert not list(tmp_path.glob("out/*"))


def test_more_packets_than_buffers(tmp_path: Path) -> None:
    capture = raw_capture([(0, tcp(size=60))] * 10_000)
    run = start_replay(tmp_path, capture, Bottleneck(rate_bps=1000, limit=10**8))
    assert run.returncode == 4
    assert "raise queue_packets" in run.stderr
    assert not list(tmp_path.glob("out/*"))
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["departures.pcap", "postcards.raw", "replay.json"])
def test_a_full_disk_is_told_and_nothing_half_is_left(tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to("/dev/full")
    run = start_replay(tmp_path, GOOD, Bottleneck())
    assert run.returncode == 4
    assert "No space left" in run.stderr
    assert run.stderr.count("\n") == 1
    assert not list(tmp_path.glob("out/*"))


def test_an_empty_capture_is_no_mistake(tmp_path: Path) -> None:
    assert start_replay(tmp_path, GLOBAL_HEADER, Bottleneck()).returncode == 0


def test_packets_of_no_bytes(tmp_path: Path) -> None:
    capture = GOOD + record(0, 0) + record(0, 60) + record(0, 2048)
    run = start_replay(tmp_path, capture, Bottleneck())
    assert (run.returncode, run.stderr) == (0, "")


def damaged(rng: random.Random) -> bytes:
    """A capture with a few of its bits flipped, bytes put in or cut out."""
    data = bytearray(rng.choice([GOOD, PCAPNG]))
    for _ in range(rng.randint(1, 4)):
        at = rng.choice([rng.randrange(len(data)), rng.randrange(2 * FRAME)])
        what = rng.random()
        if what < 0.6:
            data[at] ^= 1 << rng.randrange(8)
        elif what < 0.8:
            data[at:at] = rng.randbytes(rng.randint(1, 20))
        else:
            del data[at : at + rng.randint(1, 20)]
    return bytes(data)


def check_damaged(folder: Path, seed: int) -> None:
    run = start_replay(folder, damaged(random.Random(seed)), Bottleneck())
    assert run.returncode in {0, 2}, (seed, run.returncode, run.stderr)
    assert run.stderr.count("\n") == (run.returncode == 2), (seed, run.stderr)


@pytest.mark.parametrize("seed", range(15))
def test_damage_is_survived(tmp_path: Path, seed: int) -> None:
    check_damaged(tmp_path, seed)


@pytest.mark.long
def test_much_damage_is_survived(tmp_path: Path) -> None:
    for seed in range(100, 160):
        check_damaged(tmp_path, seed)
