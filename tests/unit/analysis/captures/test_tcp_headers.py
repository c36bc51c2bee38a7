"""Captures: bytes put together by hand, RTTs computed by hand, damage said in one line."""

import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.captures.tcp_headers import (
    Segment,
    parse_frame,
    passed_over_text,
    read_segments,
)
from nashbed.analysis.metrics.rtt import capture_rtt
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.store.errors import RunError

A, B = (bytes([10, 64, 0, 1]), 10000), (bytes([10, 65, 0, 1]), 5001)
MS = 1_000_000


def frame(src=A, dst=B, seq=0, ack=0, payload=0, stamps=(0, 0), fragment=0) -> bytes:
    """An Ethernet frame with a TCP segment of `payload` bytes (not in it: cut off)."""
    options = b"\x01\x01\x08\x0a" + struct.pack(">II", *stamps)
    tcp = struct.pack(">HHIIBBHHH", src[1], dst[1], seq, ack, 0x80, 0x10, 0, 0, 0) + options
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp) + payload, 0, fragment, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + ip + src[0] + dst[0] + tcp


def pcap(frames: list[tuple[int, bytes]], order: str = "<", unit: int = 1, link: int = 1) -> bytes:
    magic = 0xA1B23C4D if unit == 1 else 0xA1B2C3D4
    out = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 128, link)
    for t, data in frames:
        out += struct.pack(f"{order}IIII", t // 10**9, t % 10**9 // unit, len(data), 1514) + data
    return out


# Data at 0, 1 and 2 ms with stamps 7, 7 and 8; ACKs of the first two at 41 ms (echo 7), of the
# third at 45 ms (echo 8). The first sender of stamp 7 was at 0: 41 ms. Stamp 8: 43 ms.
FRAMES = [
    (0, frame(seq=100, payload=50, stamps=(7, 1))),
    (1 * MS, frame(seq=150, payload=50, stamps=(7, 1))),
    (2 * MS, frame(seq=200, payload=50, stamps=(8, 1))),
    (41 * MS, frame(B, A, ack=200, stamps=(1, 7))),
    (42 * MS, frame(B, A, ack=200, stamps=(1, 7))),  # a duplicate: no sample
    (45 * MS, frame(B, A, ack=250, stamps=(2, 8))),
]


@pytest.mark.parametrize(("order", "unit"), [("<", 1), (">", 1), ("<", 1000), (">", 1000)])
def test_rtt_of_a_capture(tmp_path: Path, order: str, unit: int) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(pcap(FRAMES, order, unit))
    (series,) = capture_rtt(read_segments(path))
    assert series.flow == (A, B)
    assert series.t_ns.tolist() == [41 * MS, 45 * MS]
    assert series.rtt_ns.tolist() == [41 * MS, 43 * MS]


def test_a_frame_by_hand() -> None:
    found = parse_frame(frame(seq=5, ack=6, payload=1448, stamps=(3, 4)), 9)
    assert found == Segment(9, A, B, 5, 6, 1448, 3, 4)
    assert parse_frame(frame(fragment=0x2000), 0) == "are fragments"
    assert parse_frame(b"\x00" * 60, 0) == "are not IP"


def over_ipv6(data: bytes, extension: bytes = b"") -> bytes:
    """The same segment in IPv6, cut off behind its header, `payload` bytes not in it."""
    total = int.from_bytes(data[16:18], "big")
    tcp = data[34:]
    head = struct.pack(">IHBB", 6 << 28, total - 20 + len(extension), 0 if extension else 6, 64)
    six = head + data[26:30].rjust(16, b"\0") + data[30:34].rjust(16, b"\0")
    return data[:12] + b"\x86\xdd" + six + extension + tcp


def with_options(data: bytes) -> bytes:
    """The same segment behind 4 bytes of IP options."""
    total = int.from_bytes(data[16:18], "big") + 4
    head = data[:14] + b"\x46\0" + total.to_bytes(2, "big")
    return head + data[18:34] + b"\1\1\1\0" + data[34:]


def test_vlan_options_and_ipv6_are_looked_into(tmp_path: Path) -> None:
    """41 and 43 ms as without; what is no TCP is counted."""
    vlan = bytes.fromhex("88a80001 81000002".replace(" ", ""))
    variants = [
        lambda f: f[:12] + vlan + f[12:],
        over_ipv6,
        lambda f: over_ipv6(f, b"\x06\0" + bytes(6)),
        with_options,
    ]
    path = tmp_path / "c.pcap"
    for change in variants:
        arp = bytes(12) + b"\x08\x06" + bytes(46)
        path.write_bytes(pcap([*((t, change(f)) for t, f in FRAMES), (46 * MS, arp)]))
        passed = Counter[str]()
        (series,) = capture_rtt(read_segments(path, passed))
        assert series.rtt_ns.tolist() == [41 * MS, 43 * MS]
        assert passed_over_text(passed) == "1 of 7 packets were not looked at, because 1 are not IP"


def dialog(start_ns: int, rtt_ns: int, isn: int) -> list[Segment]:
    """SYN, SYN-ACK, and 200 segments that are each acknowledged; stamps begin at 1000."""
    found = [
        Segment(start_ns, A, B, isn, None, 0, 999, 0, syn=True),
        Segment(start_ns + rtt_ns, B, A, 7, isn + 1, 0, 1, 999, syn=True),
    ]
    for n in range(200):
        t, seq = start_ns + (n + 1) * 100 * MS, isn + 1 + n * 100
        found.append(Segment(t, A, B, seq, 8, 100, 1000 + n, 1))
        found.append(Segment(t + rtt_ns, B, A, 8, seq + 100, 0, 2, 1000 + n))
    return found


def test_a_syn_starts_a_connection_anew() -> None:
    """Two of the same ports: the second with other sequence numbers, and the same stamps."""
    first, second = dialog(0, 40 * MS, 1 << 30), dialog(60_000 * MS, 90 * MS, 5000)
    for without in (None, 0):  # a capture that missed the second SYN still has its answer
        (series,) = capture_rtt([*first, *(s for n, s in enumerate(second) if n != without)])
        assert len(series.rtt_ns) == 400
        assert set(series.rtt_ns[:200].tolist()) == {40 * MS}
        assert set(series.rtt_ns[200:].tolist()) == {90 * MS}


def test_sequence_numbers_and_stamps_wrap() -> None:
    top = (1 << 32) - 10
    segments = [
        Segment(0, A, B, top, None, 20, (1 << 32) - 1, 0),
        Segment(30, B, A, 0, top, 0, 0, (1 << 32) - 1),
        Segment(40, A, B, 10, None, 20, 0, 0),
        Segment(70, B, A, 0, 30, 0, 0, 0),
    ]
    (series,) = capture_rtt(segments)
    assert series.rtt_ns.tolist() == [30, 30]


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "is empty"), (b"\x0a\x0d\x0d\x0a" + bytes(40), "has no byte order"),
     (bytes(40), "is not a capture"), (pcap(FRAMES, link=113), "has link type 113, not Ethernet"),
     (pcap(FRAMES)[:-3], "is truncated"), (pcap(FRAMES)[:30], "is truncated")],
)  # fmt: skip
def test_damage(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "c.pcap"
    path.write_bytes(data)
    with pytest.raises(RunError, match=said):
        list(read_segments(path))


@given(st.binary(max_size=200))
def test_random_frames_are_passed_over_or_read(data: bytes) -> None:
    parse_frame(data, 0)
    parse_frame(frame()[:34] + data, 0)


@pytest.mark.slow
def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "bbr.pcap", tmp_path / "rtt.png"
    path.write_bytes(pcap(FRAMES))
    assert cli(["rtt", str(path), "--out", str(out), "--until", "1"]) == 0
    said = capsys.readouterr()
    assert "port 10000: n 2, RTT 41.0 to 43.0 ms" in said.out
    assert said.err == ""
    path.write_bytes(pcap([*FRAMES, (50 * MS, bytes(60)), (51 * MS, frame(fragment=0x2000))]))
    assert cli(["rtt", str(path), "--out", str(out)]) == 0
    line = "2 of 8 packets were not looked at, because 1 are not IP, 1 are fragments"
    assert capsys.readouterr().err == f"nashbed: {path}: {line}\n"
    assert out.read_bytes().startswith(b"\x89PNG")
    path.write_bytes(pcap(FRAMES[:2]))
    assert cli(["rtt", str(path), "--out", str(out)]) == 2
    assert "no ACK echoes a time stamp" in capsys.readouterr().err
    assert cli(["rtt", str(tmp_path / "none.pcap"), "--out", str(out)]) == 2
    assert "none.pcap: cannot be read" in capsys.readouterr().err
