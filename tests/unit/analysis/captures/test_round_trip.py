"""Every format, written by plain struct and read back to the last bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.captures import Mark, Times, TimestampSource, frames, pcapng
from nashbed.analysis.captures.detect import LEAST
from nashbed.controlplane.store.errors import RunError
from tests.support import timestamps as made

SECONDS = st.integers(made.EPOCH - 86400, made.EPOCH + 86400)
U32 = st.integers(0, 2**32 - 1)
BYTE = st.integers(0, 255)
FCS = U32.filter(lambda fcs: abs(fcs - made.EPOCH) > 60 * 86400)
"""An FCS that is no time of these days: as one, it could be the seconds of another format."""

NEW_FCS = st.sampled_from([b"", b"\xde\xad\xbe\xef"])
UNITS = [1, 10**6, 10**9, 10**12, 2**32, 2**40, 10**9 * 2**24, 2**63, 10**19]
FRAME = made.ethernet(b"nashbed" * 8)


def below(per_second: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Times of enough packets to decide by: seconds, and a fraction with its ends."""
    fraction = st.integers(0, per_second - 1) | st.sampled_from([0, 1, per_second - 1])
    return st.lists(st.tuples(SECONDS, fraction), min_size=LEAST, max_size=20)


def read(tmp: Path, data: bytes, form: str | None = None) -> tuple[str, list[tuple[int, int, int]]]:
    """The format's name and every time in the file."""
    path = tmp / "capture"
    path.write_bytes(data)
    source = TimestampSource(path, form)
    times = [s.times for _, s in source.chunks()]
    return source.name, [t.exact(n) for t in times for n in range(len(t))]


@pytest.fixture(scope="module")
def tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


def wrapped(stamps: list[tuple[int, bytes]], new_fcs: bytes = b"") -> bytes:
    """Frames with trailers in a nanosecond pcap whose own times are near."""
    return made.pcap((seconds, 5, FRAME + trailer + new_fcs) for seconds, trailer in stamps)


@settings(max_examples=30)
@given(times=below(2**40), device=BYTE, port=BYTE, fcs=FCS, new_fcs=NEW_FCS)
def test_exablaze(tmp: Path, times, device, port, fcs, new_fcs) -> None:
    stamps = [(s, made.exablaze(s, f, device, port, fcs)) for s, f in times]
    name, found = read(tmp, wrapped(stamps, new_fcs))
    assert name == "exablaze"
    assert found == [(s, f, 2**40) for s, f in times]
    ((frames, got),) = TimestampSource(tmp / "capture").chunks()
    assert set(zip(got.device, got.port, got.original_fcs, strict=True)) == {(device, port, fcs)}
    assert np.all(frames.captured - got.trailer_bytes == len(FRAME))


@pytest.mark.slow
@settings(max_examples=30)
@given(times=below(10**9 * 2**24), new_fcs=NEW_FCS, shape=st.integers(0, 5), fcs=FCS)
def test_metamako(tmp: Path, times, new_fcs, shape, fcs) -> None:
    """With the sub-nanoseconds alone, behind, before and between other extensions, or without."""
    stamps, expected = [], []
    for seconds, fraction in times:
        ns, sub = divmod(fraction, 2**24)
        shapes = [
            b"",
            made.sub_ns_extension(sub),
            made.sequence_extension(7, last=True) + made.sub_ns_extension(sub, last=False),
            made.sub_ns_extension(sub) + made.crc_extension(2**63 + 5, last=False),
            made.sub_ns_extension(sub) + made.secondary_extension(b"port-name-1234", last=False),
            made.crc_extension(1, last=True)
            + made.sub_ns_extension(sub, last=False)
            + made.sequence_extension(9, last=False),
        ]
        shapes[4] = made.sub_ns_extension(sub) + made.secondary_extension(b"x" * 40, last=False)
        stamps.append((seconds, made.metamako(seconds, ns, shapes[shape], fcs=fcs)))
        expected.append((seconds, fraction if shape else ns * 2**24, 10**9 * 2**24))
    name, found = read(tmp, wrapped(stamps, new_fcs))
    assert name == "metamako"
    assert found == expected
    ((frames, got),) = TimestampSource(tmp / "capture").chunks()
    assert np.all(got.original_fcs == fcs)
    assert np.all(frames.captured - got.trailer_bytes == len(FRAME))


@pytest.mark.slow
@settings(max_examples=30)
@given(times=below(10**12), device=BYTE, port=BYTE, own_fcs=st.booleans(), last=U32)
def test_expcap(tmp: Path, times, device, port, own_fcs, last) -> None:
    stamps = [(s, made.expcap(s, ps, int(own_fcs), device, port, last)) for s, ps in times]
    name, found = read(tmp, wrapped(stamps))
    assert name == "expcap"
    assert found == [(s, ps, 10**12) for s, ps in times]
    ((_, got),) = TimestampSource(tmp / "capture").chunks()
    lost = not own_fcs and last & 0xFFFF > 0
    assert set(got.marks.tolist()) == {int(Mark.OVERFLOW) if lost else 0}


@pytest.mark.slow
@settings(max_examples=30)
@given(times=below(2**32), extensions=st.integers(0, 3), port=st.integers(0, 3))
def test_erf(tmp: Path, times, extensions, port) -> None:
    records = (made.erf(s, f, FRAME, 4 | port, extensions) for s, f in times)
    name, found = read(tmp, b"".join(records))
    assert name == "erf"
    assert found == [(s, f, 2**32) for s, f in times]
    ((frames, got),) = TimestampSource(tmp / "capture").chunks()
    assert set(got.port.tolist()) == {port}
    start = int(frames.start[-1])
    assert (tmp / "capture").read_bytes()[start : start + len(FRAME)] == FRAME


@settings(max_examples=30)
@given(st.data(), st.sampled_from([(0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**9)]))
def test_pcap(tmp: Path, data, kind) -> None:
    magic, per_second = kind
    times, order = data.draw(below(per_second)), data.draw(st.sampled_from("<>"))
    name, found = read(tmp, made.pcap(((s, f, FRAME) for s, f in times), magic, order))
    assert name == {10**6: "pcap-us", 10**9: "pcap-ns"}[per_second]
    assert found == [(s, f, per_second) for s, f in times]


@settings(max_examples=30)
@given(
    ticks=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=10),
    tsresol=st.integers(0, 255) | st.none(),
    offset=st.integers(-(2**40), 2**40) | st.none(),
    order=st.sampled_from("<>"),
)
def test_pcapng_of_every_resolution(tmp: Path, ticks, tsresol, offset, order) -> None:
    """10^-0 to 10^-127 s and 2^-0 to 2^-127 s, with an offset in seconds."""
    head = made.pcapng_section(order) + made.pcapng_interface(tsresol, offset, order)
    data = head + b"".join(made.pcapng_packet(t, FRAME, 0, order) for t in ticks)
    value = 6 if tsresol is None else tsresol
    per_second = 2 ** (value - 128) if value >= 128 else 10**value
    if max(ticks) // per_second > 2**62:
        with pytest.raises(RunError, match="beyond any calendar"):
            read(tmp, data)
        return
    name, found = read(tmp, data)
    assert name == "pcapng"
    whole = [divmod(t, per_second) for t in ticks]
    assert found == [(s + (offset or 0), f, per_second) for s, f in whole]


def test_pcapng_with_interfaces_of_different_resolutions(tmp: Path) -> None:
    """10^-6, 10^-9 and 2^-20 s side by side: the common unit loses nothing. A new section too."""
    data = made.pcapng_section() + made.pcapng_interface() + made.pcapng_interface(9)
    data += made.pcapng_interface(0x80 | 20)
    data += made.pcapng_packet(3_000_001, FRAME, 0) + made.pcapng_packet(3_000_001_001, FRAME, 1)
    data += made.pcapng_packet(3 * 2**20 + 1, FRAME, 2)
    data += made.pcapng_section(">") + made.pcapng_interface(0, None, ">")
    data += made.pcapng_packet(77, FRAME, 0, ">")
    _, found = read(tmp, data)
    unit = 2**20 * 5**9
    assert found[:3] == [
        (3, unit // 10**6, unit),
        (3, 1001 * (unit // 10**9), unit),
        (3, unit >> 20, unit),
    ]
    assert found[3] == (77, 0, 1)


def test_pcapng_says_whether_the_frames_have_an_fcs(tmp: Path) -> None:
    """With if_fcslen 4 only "a new FCS follows" is tried."""
    trailer = made.exablaze(made.EPOCH, 1) + b"\x00\x00\x00\x07"
    data = made.pcapng_section() + made.pcapng_interface(9, fcs=4)
    data += made.pcapng_packet(made.EPOCH * 10**9, FRAME + trailer) * LEAST
    assert read(tmp, data) == ("exablaze", [(made.EPOCH, 1, 2**40)] * LEAST)
    assert TimestampSource(tmp / "capture").choice.fcs_bytes == 4


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("exablaze", lambda times: wrapped([(s, made.exablaze(s, f)) for s, f in times])),
        ("erf", lambda times: b"".join(made.erf(s, f, FRAME) for s, f in times)),
        (
            "pcapng",
            lambda times: (
                made.pcapng_section()
                + made.pcapng_interface(0x80 | 32)
                + b"".join(made.pcapng_packet(s << 32 | f, FRAME) for s, f in times)
            ),
        ),
    ],
)
def test_several_chunks(tmp: Path, monkeypatch: pytest.MonkeyPatch, name: str, data: Any) -> None:
    for module in (frames, pcapng):
        monkeypatch.setattr(module, "CHUNK", LEAST + 1)
    times = [(made.EPOCH + n, n) for n in range(3 * LEAST)]
    told, found = read(tmp, data(times))
    assert told == name
    assert [each[:2] for each in found] == times
    assert len(list(TimestampSource(tmp / "capture").chunks())) == 3


@given(
    seconds=st.integers(-(10**6), 10**6),
    part=st.integers(0, 2**64 - 1),
    per_second=st.sampled_from(UNITS),
)  # fmt: skip
def test_picoseconds_are_floored_exactly(seconds: int, part: int, per_second: int) -> None:
    fraction = part % per_second
    times = Times(np.array([seconds]), np.array([fraction], np.uint64), per_second)
    expected = (seconds - 5) * 10**12 + fraction * 10**12 // per_second
    assert times.picoseconds(5).tolist() == [expected]


def test_marks_are_kept(tmp: Path) -> None:
    """Degraded clocks, duplicates and bad FCSs of Metamako; errors of ERF; our own of the FPGA."""
    s = made.EPOCH
    expectations = [
        (wrapped([(s, made.metamako(s, 1, flags=0x01 | 0x10))] * LEAST), Mark.DEGRADED),
        (wrapped([(s, made.metamako(s, 1, flags=0x04))] * LEAST), Mark.DUPLICATE | Mark.NO_FCS),
        (wrapped([(s, made.exablaze(s, 1, reserved=3))] * LEAST), Mark.RX_ERROR | Mark.RUNT),
        (wrapped([(s, made.expcap(s, 1, 0x3E))] * LEAST),
         Mark.ABORTED | Mark.RX_ERROR | Mark.TRUNCATED | Mark.OVERFLOW),
        (made.erf(s, 1, FRAME, 0x08 | 0x10 | 0x20, lost=3),
         Mark.TRUNCATED | Mark.RX_ERROR | Mark.SOURCE_ERROR | Mark.OVERFLOW),
    ]  # fmt: skip
    for data, marks in expectations:
        (tmp / "capture").write_bytes(data)
        ((_, got),) = TimestampSource(tmp / "capture").chunks()
        assert Mark(int(got.marks[0])) == marks


def test_padding_of_expcap_is_passed_over(tmp: Path) -> None:
    s = made.EPOCH
    good = made.pcap([(s, 5, FRAME + made.expcap(s, 9))] * LEAST)
    padding = b"\x00" * 12 + b"\x40\x00\x00\x00" + bytes(64)
    padding = padding[:8] + b"\x40\x00\x00\x00" + b"\x00\x00\x00\x00" + bytes(64)
    name, found = read(tmp, good + padding)
    assert (name, found) == ("expcap", [(s, 9, 10**12)] * LEAST)
