"""Generated captures: times and formats are what the generator wrote, and what tshark reads."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nashbed.analysis.captures import TimestampSource
from tests.support import timestamps as made
from tests.support.programs import need_program
from tests.support.tshark import tshark

MACS = bytes(12)
LINKS = (1, 0, 12, 101, 113, 228, 276)
"""Ethernet, loopback, raw IP (three numbers), Linux cooked (two versions)."""
TAGS = (b"", b"\x81\x00\x00\x07", b"\x88\xa8\x00\x01\x81\x00\x00\x02")
CONTAINERS = ("us", "ns", 3, 6, 9, 0x80 | 10, 0x80 | 20, 0x80 | 30, "erf")
SECONDS = (0, 1_700_000_000, 2**31 - 1, 2**31, 2_208_988_800, 2**32 - 90)
TRAILERS = ("none", "exablaze", "metamako", "expcap")


def message(rng: random.Random, tag: bytes) -> bytes:
    """A random message behind a tag: IPv4 with options or none, IPv6, or of an unknown type."""
    body = rng.randbytes(rng.choice((0, 1, 18, 40, 90)))
    kind = rng.randrange(4)
    if kind < 2:
        size = 20 + 20 * kind
        head = bytes([0x45 + 5 * kind, 0]) + struct.pack(">H", size + len(body))
        ip = b"\x08\0" + head + bytes(5) + b"\x11" + bytes(size - 10)
    elif kind == 2:
        ip = b"\x86\xdd\x60\0\0\0" + struct.pack(">HBB", len(body), 17, 64) + bytes(32)
    else:
        ip = b"\x99\x98"
    frame = MACS + tag + ip + body
    padding = max(0, 60 - len(frame))
    return frame + (rng.randbytes(padding) if rng.random() < 0.5 else bytes(padding))


@st.composite
def captures(draw: st.DrawFn) -> tuple[bytes, str, list[tuple[int, int, int]]]:
    """A capture's bytes, the format to be found, and every time."""
    count = draw(st.sampled_from([1, 2, 3, 4, 5, 9, 20, 60, 60, 513, 10_000]))
    rng = random.Random(draw(st.integers(0, 2**32)))
    container, start = draw(st.sampled_from(CONTAINERS)), draw(st.sampled_from(SECONDS))
    trailer, tag = draw(st.sampled_from(TRAILERS)), draw(st.sampled_from(TAGS))
    link, snap = draw(st.sampled_from(LINKS)), draw(st.sampled_from([0, 0, 0, 20, 60]))
    interleaved, offset = draw(st.booleans()), draw(st.sampled_from([0, 3600, -86400 * 365]))
    new_fcs = (
        rng.randbytes(4) if trailer in ("exablaze", "metamako") and draw(st.booleans()) else b""
    )
    if trailer != "none":
        link, snap, start = 1, 0, max(start, 1_600_000_000)
    value = (
        container if isinstance(container, int) else {"us": 6, "ns": 9, "erf": 0x80 | 32}[container]
    )
    unit = 2 ** (value & 0x7F) if value & 0x80 else 10**value
    added = offset if isinstance(container, int) and start + offset > 0 else 0
    packets, times = [], []
    for n in range(count):
        seconds, fraction = start + n * 60 // count, rng.randrange(unit)
        frame = message(rng, tag)
        stamp, clock = rng.randrange(2**30 * 9 // 10), (seconds + added) % 2**32
        fcs = made.fcs(frame)
        times.append((seconds + added, fraction, unit))
        if trailer == "exablaze":
            frame += made.exablaze(clock, stamp, fcs=fcs)
            times[-1] = (seconds + added, stamp, 2**40)
        elif trailer == "metamako":
            frame += made.metamako(clock, stamp, fcs=fcs)
            times[-1] = (seconds + added, stamp << 24, 10**9 << 24)
        elif trailer == "expcap":
            frame += struct.pack(">I", fcs) + made.expcap(clock, stamp)
            times[-1] = (seconds + added, stamp, 10**12)
        packets.append((seconds, fraction, frame + new_fcs))
    if container == "erf":
        data, own = b"".join(made.erf(*packet) for packet in packets), "erf"
    elif isinstance(container, str):
        data, own = pcap(packets, container, link, snap, rng), f"pcap-{container}"
    else:
        other = link if trailer != "none" or not interleaved else rng.choice(LINKS)
        data, own = made.pcapng_section(), "pcapng"
        for each in (link, other):
            block = bytearray(made.pcapng_interface(value, added))
            block[8:10] = struct.pack("<H", each)
            data += bytes(block)
        blocks = [
            made.pcapng_packet(
                s * unit + f, frame, n % 2 if interleaved and trailer == "none" else 0
            )
            for n, (s, f, frame) in enumerate(packets)
        ]
        data += b"".join(blocks)
    return data, own if trailer == "none" else trailer, times


def pcap(packets: list[made.Packet], unit: str, link: int, snap: int, rng: random.Random) -> bytes:
    """A capture that keeps `snap` bytes or more of some packets, or more than were on the wire."""
    magic = 0xA1B2C3D4 if unit == "us" else 0xA1B23C4D
    order = rng.choice("<>")
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for seconds, fraction, frame in packets:
        kept = frame[: rng.choice((snap, 2 * snap))] if snap else frame
        wire = len(frame) - rng.choice((0, 0, 16)) * (not snap)
        parts += [struct.pack(f"{order}IIII", seconds, fraction, len(kept), wire), kept]
    return b"".join(parts)


@pytest.fixture(scope="module")
def tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@settings(max_examples=25, deadline=None)
@given(captures())
def test_formats_and_times_are_the_generators(
    tmp: Path, capture: tuple[bytes, str, list[tuple[int, int, int]]]
) -> None:
    data, name, times = capture
    path = tmp / "capture"
    path.write_bytes(data)
    source = TimestampSource(path)
    found = [s.times.exact(n) for _, s in source.chunks() for n in range(len(s.times))]
    assert source.name == name
    assert found == times


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(captures())
def test_tshark_reads_the_same_times_of_the_file(
    tmp: Path, capture: tuple[bytes, str, list[tuple[int, int, int]]]
) -> None:
    need_program("tshark")
    path = tmp / "shark"
    path.write_bytes(capture[0])
    source = TimestampSource(path, "file")
    chunks = list(source.chunks())
    # Where more is kept than was on the wire, tshark may guess a pcap that somebody changed.
    assume(all(np.all(frames.captured <= frames.wire) for frames, _ in chunks))
    ours = [s.times.exact(n) for _, s in chunks for n in range(len(s.times))]
    rows = tshark(path, ["frame.time_epoch"], None, False)
    assert len(rows) == len(ours)
    for (seconds, fraction, unit), (theirs,) in zip(ours, rows, strict=True):
        whole, _, part = theirs.partition(".")
        away = (int(whole) - seconds) * 10**9 + int(part.ljust(9, "0")) - fraction * 10**9 // unit
        assert abs(away) <= 1  # it rounds ERF to nanoseconds
