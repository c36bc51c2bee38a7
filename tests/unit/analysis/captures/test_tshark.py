"""Our decoders against tshark's, field by field. It dissects no expcap, and tells no sub-ns of
pcapng times."""

import random
from pathlib import Path

import pytest
from nashbed.analysis.captures import Mark, TimestampSource
from tests.support import timestamps as made
from tests.support.programs import need_program
from tests.support.tshark import known, tshark

COUNT = 200
S = made.EPOCH


@pytest.fixture
def rng() -> random.Random:
    need_program("tshark")
    return random.Random(6)


def frame(rng: random.Random) -> bytes:
    """At least 60 bytes: shorter ones are padded, which tshark does not tell from a trailer."""
    return made.ethernet(rng.randbytes(rng.randint(18, 1400)))


def decoded(path: Path) -> list[tuple[int, int, int, int, int]]:
    """Seconds, fraction, device, port, original FCS of every packet."""
    rows = []
    for _, s in TimestampSource(path).chunks():
        columns = (s.times.seconds, s.times.fraction, s.device, s.port, s.original_fcs)
        rows += [tuple(int(v) for v in row) for row in zip(*columns, strict=True)]
    return rows


@pytest.mark.parametrize("new_fcs", [b"", pytest.param(b"\1\2\3\4", marks=pytest.mark.long)])
def test_exablaze(tmp_path: Path, rng: random.Random, new_fcs: bytes) -> None:
    path, packets = tmp_path / "c.pcap", []
    for n in range(COUNT):
        device, port, fcs = rng.randrange(256), rng.randrange(256), rng.randrange(2**32)
        trailer = made.exablaze(S + n, rng.randrange(2**40), device, port, fcs)
        packets.append((S + n, 0, frame(rng) + trailer + new_fcs))
    path.write_bytes(made.pcap(packets))
    names = ("timestamp.seconds", "timestamp.fractional_seconds", "device", "port", "original_fcs")
    rows = tshark(path, [f"exablaze.{name}" for name in names], "exablaze_eth", bool(new_fcs))
    theirs = [
        (int(s), float(part), int(device), int(port), int(fcs, 0))
        for s, part, device, port, fcs in rows
    ]
    ours = [(s, part / 2**40, device, port, fcs) for s, part, device, port, fcs in decoded(path)]
    assert len(theirs) == COUNT
    for one, other in zip(ours, theirs, strict=True):
        assert one[0] == other[0]
        assert one[2:] == other[2:]
        assert one[1] == pytest.approx(other[1], abs=1e-12)  # it prints 12 digits


@pytest.mark.parametrize("new_fcs", [b"", pytest.param(b"\1\2\3\4", marks=pytest.mark.long)])
def test_metamako(tmp_path: Path, rng: random.Random, new_fcs: bytes) -> None:
    path, packets = tmp_path / "c.pcap", []
    for n in range(COUNT):
        extensions = made.sub_ns_extension(rng.randrange(2**24))
        if n % 2:
            extensions += made.sequence_extension(n, last=False)
        trailer = made.metamako(
            S + n,
            rng.randrange(10**9),
            extensions,
            1 if n % 3 else 0x11,
            rng.randrange(2**16),
            rng.randrange(256),
            rng.randrange(2**32),
        )
        packets.append((S + n, 0, frame(rng) + trailer + new_fcs))
    path.write_bytes(made.pcap(packets))
    names = [
        known("metamako.time", "metamako.time.abs"),
        "metamako.subns",
        known("metamako.srcdevice", "metamako.src.device_id"),
        known("metamako.srcport", "metamako.src.port"),
        *("metamako.orig_fcs", "metamako.flags"),
    ]
    rows = tshark(path, names, "metamako_eth", bool(new_fcs))
    assert len(rows) == COUNT
    marks = [m for _, s in TimestampSource(path).chunks() for m in s.marks]
    for ours, mark, theirs in zip(decoded(path), marks, rows, strict=True):
        _, fraction, device, port, fcs = ours
        assert f".{fraction >> 24:09d}" in theirs[0]
        assert (device, port, fcs) == (int(theirs[2]), int(theirs[3]), int(theirs[4], 0))
        assert fraction & 0xFFFFFF == int(theirs[1], 0)
        assert bool(mark & Mark.DEGRADED) == bool(int(theirs[5], 0) & 0x10)


@pytest.mark.slow
def test_erf(tmp_path: Path, rng: random.Random) -> None:
    path = tmp_path / "c.erf"
    records = [
        made.erf(S + n, rng.randrange(2**32), frame(rng), 4 | n % 4, n % 3, lost=n % 2)
        for n in range(COUNT)
    ]
    path.write_bytes(b"".join(records))
    names = ("erf.ts", "erf.flags.cap", "erf.wlen", "erf.lctr", "frame.time_epoch")
    rows = tshark(path, list(names), None, False)
    frames = [f for f, _ in TimestampSource(path).chunks()]
    wire = [int(w) for f in frames for w in f.wire]
    assert len(rows) == COUNT
    for (s, fraction, _, port, _), size, theirs in zip(decoded(path), wire, rows, strict=True):
        assert (s << 32) + fraction == int(theirs[0], 0)
        assert (port, size) == (int(theirs[1], 0), int(theirs[2]))
        ns = int(theirs[4].replace(".", ""))  # it rounds to nanoseconds
        assert abs((ns - s * 10**9) * 2**32 - fraction * 10**9) <= 2**32


RESOLUTIONS = (None, 3, 6, 9, 0x80 | 10, 0x80 | 20, 0x80 | 30)


@pytest.mark.slow
def test_pcapng(tmp_path: Path, rng: random.Random) -> None:
    """An interface of each resolution, and packets of each in turn."""
    path = tmp_path / "c.pcapng"
    data = made.pcapng_section()
    data += b"".join(made.pcapng_interface(resolution, 3600) for resolution in RESOLUTIONS)
    for n in range(COUNT):
        interface = n % len(RESOLUTIONS)
        value = RESOLUTIONS[interface] or 6
        per_second = 2 ** (value & 0x7F) if value & 0x80 else 10**value
        ticks = (S + n) * per_second + rng.randrange(per_second)
        data += made.pcapng_packet(ticks, frame(rng), interface)
    path.write_bytes(data)
    rows = tshark(path, ["frame.time_epoch"], None, False)
    assert len(rows) == COUNT
    units = [s.times.per_second for _, s in TimestampSource(path).chunks()]
    assert len(units) == 1
    for (s, fraction, *_), (theirs,) in zip(decoded(path), rows, strict=True):
        assert theirs == f"{s}.{fraction * 10**9 // units[0]:09d}"


@pytest.mark.slow
@pytest.mark.parametrize(("magic", "digits"), [(0xA1B2C3D4, 6), (0xA1B23C4D, 9)])
def test_pcap(tmp_path: Path, rng: random.Random, magic: int, digits: int) -> None:
    path = tmp_path / "c.pcap"
    packets = [(S + n, rng.randrange(10**digits), frame(rng)) for n in range(COUNT)]
    path.write_bytes(made.pcap(packets, magic, ">"))
    rows = tshark(path, ["frame.time_epoch"], None, False)
    for (s, fraction, *_), (theirs,) in zip(decoded(path), rows, strict=True):
        assert theirs == f"{s}.{fraction * 10 ** (9 - digits):09d}"
