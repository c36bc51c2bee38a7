"""The same packets in two captures of different formats."""

import struct
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.captures import TimestampSource
from nashbed.analysis.clock import ClockError, TimeBase, align
from nashbed.analysis.clock.match import CapturedPackets, common, read_seen
from tests.support import timestamps as made

S = made.EPOCH
CLOCK = TimeBase("one")


def segment(seq: int, identification: int, ttl: int = 64, tos: int = 0) -> bytes:
    """A TCP segment with 20 bytes of payload; TTL and ToS may change on the way."""
    tcp = struct.pack(">HHIIBBHHH", 10000, 5001, seq, 7, 0x50, 0x18, 500, ttl, 0) + bytes(20)
    ip = struct.pack(
        ">BBHHHBBH", 0x45, tos, 20 + len(tcp), identification, 0x4000, ttl, 6, 99 - ttl
    )
    addresses = bytes([10, 64, 0, 1, 10, 65, 0, 1])
    return bytes(12) + b"\x08\x00" + ip + addresses + tcp


def seen(path: Path, data: bytes, clock: TimeBase | None = CLOCK) -> CapturedPackets:
    path.write_bytes(data)
    return read_seen(TimestampSource(path), clock)


def test_routers_change_some_fields_and_formats_differ(tmp_path: Path) -> None:
    """The second saw 3, 1 and 2 of 0 to 4 (in that order), and another one."""
    one = seen(tmp_path / "a", made.pcap((S, n, segment(n, n)) for n in range(5)))
    late = [(S, n, segment(n, n, ttl=63, tos=3) + made.exablaze(S, n)) for n in (3, 1, 9, 2)]
    other = seen(tmp_path / "b", made.pcap(late))
    at_one, at_other = common(one, other)
    assert at_one.tolist() == [1, 2, 3]
    assert at_other.tolist() == [1, 3, 0]
    assert one.seq[at_one].tolist() == other.seq[at_other].tolist() == [1, 2, 3]
    assert set(one.payload.tolist()) == {20}
    assert (other.times.take(at_other) - one.times.take(at_one)).tolist() == [
        -1000 + 0, -2000 + 1, -3000 + 2
    ]  # fmt: skip


def test_tags_and_options_are_looked_into(tmp_path: Path) -> None:
    """The same packets with two VLAN tags on one side, and IP options on both."""
    plain = [segment(n, n) for n in range(3)]
    longer = [f[:14] + b"\x46\0\0\x40" + f[18:34] + b"\1\1\1\0" + f[34:] for f in plain]
    tagged = [f[:12] + bytes.fromhex("88a8000181000002") + f[12:] for f in longer]
    one = seen(tmp_path / "a", made.pcap((S, n, f) for n, f in enumerate(longer)))
    other = seen(tmp_path / "b", made.pcap((S, n, f) for n, f in enumerate(tagged)))
    at_one, at_other = common(one, other)
    assert at_one.tolist() == at_other.tolist() == [0, 1, 2]
    assert set(one.payload.tolist()) == {20}


def test_resolutions_that_change_within_a_capture(tmp_path: Path) -> None:
    """pcapng sections in 10^-9 and 2^-20 s, with what is no TCP in front."""
    data = made.pcapng_section() + made.pcapng_interface(9)
    data += made.pcapng_packet(S * 10**9, made.ethernet(bytes(40)))
    data += made.pcapng_section() + made.pcapng_interface(9)
    data += made.pcapng_packet(S * 10**9 + 7, segment(1, 1))
    data += made.pcapng_section() + made.pcapng_interface(0x80 | 20)
    data += made.pcapng_packet((S << 20) + (1 << 19), segment(2, 2))
    found = seen(tmp_path / "a", data)
    assert found.times.origin_s == S
    assert found.times.ps.tolist() == [7000, 5 * 10**11]


def test_times_of_another_century(tmp_path: Path) -> None:
    data = made.pcap([(S, 0, segment(1, 1)), (7, 0, segment(2, 2))])
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ClockError, match="more than 100 days apart"):
        read_seen(TimestampSource(tmp_path / "a", "file"))


def test_a_packet_seen_twice_is_nobodys(tmp_path: Path) -> None:
    one = seen(tmp_path / "a", made.pcap((S, n, segment(n, n)) for n in (0, 1, 1, 2)))
    other = seen(tmp_path / "b", made.pcap((S, n, segment(n, n)) for n in range(3)))
    at_one, at_other = common(one, other)
    assert (at_one.tolist(), at_other.tolist()) == ([0, 3], [0, 2])


def test_a_retransmission_is_another_packet(tmp_path: Path) -> None:
    """Same sequence number, another IP identification."""
    data = made.pcap([(S, 0, segment(5, 1)), (S, 1, segment(5, 2))])
    at_one, _ = common(seen(tmp_path / "a", data), seen(tmp_path / "b", data))
    assert at_one.tolist() == [0, 1]


def test_nothing_in_common(tmp_path: Path) -> None:
    one = seen(tmp_path / "a", made.pcap([(S, 0, segment(5, 1))]), None)
    other = seen(tmp_path / "b", made.pcap([(S, 0, segment(6, 1))]), None)
    at_one, at_other = common(one, other)
    assert len(at_one) == 0
    with pytest.raises(ClockError, match="no packets in common; were both on the same path"):
        align(one.times.take(at_one), other.times.take(at_other))


def test_what_is_no_tcp_is_passed_over(tmp_path: Path) -> None:
    data = made.pcap([(S, 0, made.ethernet(bytes(40))), (S, 1, segment(1, 1)), (S, 2, bytes(70))])
    found = seen(tmp_path / "a", data)
    assert found.number.tolist() == [1]
    assert np.all(found.sport == 10000)
