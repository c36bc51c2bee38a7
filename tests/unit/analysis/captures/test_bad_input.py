"""Damage is said in one line; no bytes whatever crash a decoder, hang it, or give wrong times."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.captures import FORMATS, TimestampSource
from nashbed.controlplane.store.errors import RunError
from tests.support import timestamps as made

S = made.EPOCH
FRAME = made.ethernet(b"nashbed" * 8)
FCS = made.fcs(FRAME)
WITH = FRAME + made.exablaze(S, 1, fcs=FCS)
GOOD = {
    "pcap": made.pcap([(S, n, FRAME) for n in range(5)]),
    "exablaze": made.pcap([(S, n, WITH) for n in range(5)]),
    "metamako": made.pcap(
        [(S, n, FRAME + made.metamako(S, n, made.sub_ns_extension(n), fcs=FCS)) for n in range(5)]
    ),
    "expcap": made.pcap(
        [(S, n, FRAME + FCS.to_bytes(4, "big") + made.expcap(S, n)) for n in range(5)]
    ),
    "erf": b"".join(made.erf(S, n, FRAME, extensions=n % 3) for n in range(5)),
    "pcapng": made.pcapng_section()
    + made.pcapng_interface(0x80 | 30)
    + b"".join(made.pcapng_packet(n, FRAME) for n in range(5)),
}


@pytest.fixture(scope="module")
def tmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


def read(tmp: Path, data: bytes, form: str | None = None) -> list[tuple[int, int, int]]:
    """All times; whatever is wrong must be a RunError of one line that names the file."""
    path = tmp / "capture"
    path.write_bytes(data)
    try:
        found = [s.times for _, s in TimestampSource(path, form).chunks()]
    except RunError as error:
        assert "\n" not in error.message
        assert str(path) in error.message
        raise
    return [t.exact(n) for t in found for n in range(len(t))]


def said(tmp: Path, data: bytes, form: str | None = None) -> str:
    """The error that must come."""
    with pytest.raises(RunError) as raised:
        read(tmp, data, form)
    return raised.value.message


def test_mixed_formats(tmp: Path) -> None:
    mixed = made.pcap([(S, n, WITH if n % 2 else FRAME) for n in range(10)])
    assert "mixes formats: 50% of 10 sampled frames" in said(tmp, mixed)
    assert len(read(tmp, mixed, "file")) == 10
    late = made.pcap([(S, n, WITH if n < 2000 else FRAME) for n in range(2001)])
    assert "mixes formats: packet 2001 has no Cisco (Exablaze) trailer" in said(tmp, late)


def test_a_capture_without_trailers(tmp: Path) -> None:
    message = said(tmp, GOOD["pcap"], "exablaze")
    assert "has no Cisco (Exablaze) trailer: the frames carry none; use --format file" in message
    cut = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 60, 1)
    for n in range(3):
        cut += struct.pack("<IIII", S, n, 60, len(WITH)) + WITH[:60]
    assert "3 of 3 frames are cut short and lost it" in said(tmp, cut, "exablaze")


def test_zeros_at_the_end_are_no_trailer(tmp: Path) -> None:
    """A made-up capture that begins at 0 s, with payloads of zeros: every trailer would be near."""
    frame = made.ethernet(bytes(100))
    assert read(tmp, made.pcap([(0, n, frame) for n in range(5)])) == [
        (0, n, 10**9) for n in range(5)
    ]


def test_a_clock_that_is_far_away_can_be_named(tmp: Path) -> None:
    """A device that counts from its start: not found by time, but by where the IP packet ends."""
    data = made.pcap([(S, n, FRAME + made.exablaze(3, n) + b"\x00\x00\x00\x09") for n in range(5)])
    assert read(tmp, data) == [(S, n, 10**9) for n in range(5)]
    assert read(tmp, data, "exablaze") == [(3, n, 2**40) for n in range(5)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"hello, I am no capture at all", "is not a capture: not pcap, pcapng or Ethernet ERF"),
        (GOOD["pcap"][:24], "holds no packets"),
        (GOOD["pcap"][:10], "is truncated"),
        (GOOD["pcap"][:-1], "is truncated: the record at byte"),
        (GOOD["pcap"][:-len(FRAME) - 3], "is truncated"),
        (GOOD["erf"][:-1], "is truncated"),
        (GOOD["pcapng"][:-1], "is truncated"),
        (made.pcap([(S, 10**9, FRAME)]), "packet 1 has a fraction of a second that is 1 or more"),
        (made.pcap([(S, 1, FRAME)])[:32] + b"\xff" * 80, "claims 4294967295 bytes"),
        (made.pcapng_section() + made.pcapng_packet(1, FRAME), "which is not described"),
        (made.erf(S, 1, FRAME, kind=1), "is not a capture"),
        (GOOD["erf"] * 2 + made.erf(S, 1, FRAME, kind=1), "is of ERF type 1, not Ethernet"),
    ],
)  # fmt: skip
def test_damage(tmp: Path, data: bytes, words: str) -> None:
    message = said(tmp, data)
    assert words in message
    assert len(message.splitlines()) == 1


def test_extensions_that_never_end(tmp: Path) -> None:
    """A chain of Metamako words without a last one runs into the frame: no trailer."""
    endless = b"".join(made.sub_ns_extension(1, last=False) for _ in range(40))
    data = made.pcap([(S, 1, b"\x00" * 14 + endless + made.metamako(S, 5, b"", 3)[4:])])
    assert "no Arista" in said(tmp, data, "metamako")


def test_unknown_format_and_missing_file(tmp: Path) -> None:
    with pytest.raises(RunError, match="is not one of file, exablaze, metamako, expcap"):
        TimestampSource(tmp / "x", "hpt")
    with pytest.raises(RunError, match="none: cannot be read"):
        TimestampSource(tmp / "none")


@pytest.mark.slow
@settings(max_examples=50)
@given(name=st.sampled_from(sorted(GOOD)), data=st.data())
def test_truncated_anywhere(tmp: Path, name: str, data: st.DataObject) -> None:
    """Cut anywhere: an error, or fewer packets, each with the time that it had."""
    whole = GOOD[name]
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    before = read(tmp, whole)
    try:
        found = read(tmp, cut)
    except RunError:
        return
    assert found == before[: len(found)]


@pytest.mark.slow
@settings(max_examples=100)
@given(
    name=st.sampled_from(sorted(GOOD)),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=8),
    form=st.sampled_from([None, "file", *FORMATS]),
)
def test_changed_bytes(tmp: Path, name: str, changes, form) -> None:
    """Lies anywhere: lengths, types, flags. An error or times; all of them are in the bytes."""
    data = bytearray(GOOD[name])
    for at, value in changes:
        data[at % len(data)] = value
    try:
        found = read(tmp, bytes(data), form)
    except RunError:
        return
    for _, fraction, per_second in found:
        assert 0 <= fraction < per_second
        assert _is_in(bytes(data), fraction, per_second)


@settings(max_examples=50)
@given(st.sampled_from([b"", *(g[:32] for g in GOOD.values())]), st.binary(max_size=400),
       st.sampled_from([None, "file", *FORMATS]))  # fmt: skip
def test_random_bytes(tmp: Path, head: bytes, data: bytes, form) -> None:
    try:
        found = read(tmp, head + data, form)
    except RunError:
        return
    assert all(0 <= fraction < per_second for _, fraction, per_second in found)


def _is_in(data: bytes, fraction: int, per_second: int) -> bool:
    """Whether the fraction's bytes stand in the file, in the way that its format writes them."""
    if per_second == 2**40:
        return fraction.to_bytes(5, "big") in data
    if per_second == 10**12:
        return fraction.to_bytes(5, "little") in data
    if per_second == 10**9 << 24:
        return (fraction >> 24).to_bytes(4, "big") in data
    if per_second in (2**32, 10**6, 10**9):
        return any(fraction.to_bytes(4, o) in data for o in ("little", "big")) or _pcapng(data)
    return _pcapng(data)


def _pcapng(data: bytes) -> bool:
    """There the fraction is a rest of a division; the round trip holds it to the bytes."""
    return data[:4] == b"\x0a\x0d\x0d\x0a"
