"""What is a trailer and what is payload: by where messages end, by FCS, for each interface."""

import random
import struct
from pathlib import Path

import pytest
from nashbed.analysis.captures import TimestampSource, summarise_timestamps
from nashbed.analysis.captures.detect import LEAST
from nashbed.controlplane.store.errors import RunError
from tests.support import timestamps as made

S = made.EPOCH
FRAME = made.ethernet(b"nashbed" * 8)
MACS = bytes(12)


def times(path: Path, form: str | None = None) -> tuple[str, list[tuple[int, int, int]]]:
    source = TimestampSource(path, form)
    found = [s.times.exact(n) for _, s in source.chunks() for n in range(len(s.times))]
    return source.name, found


def follow_up(seconds: int) -> bytes:
    """A PTP Follow_Up: it ends with a time, and padding."""
    ptp = b"\x08\x02\0\x2c" + bytes(30) + struct.pack(">HII", 0, seconds, 123456789)
    return (MACS + b"\x88\xf7" + ptp).ljust(60, b"\0")


def test_messages_that_end_with_a_time(tmp_path: Path) -> None:
    path = tmp_path / "p.pcap"
    path.write_bytes(made.pcap((t, 500_000, follow_up(t + 37)) for t in range(S, S + 100)))
    assert times(path) == ("pcap-ns", [(t, 500_000, 10**9) for t in range(S, S + 100)])
    (note,) = summarise_timestamps(path).notes
    assert note.startswith("100 of 100 sampled frames end in what could be the Cisco (Exablaze)")
    assert "in 100 it would begin within the message" in note
    assert "--format exablaze" in note
    assert times(path, "exablaze")[1][0][0] == S + 37


def vlan(frame: bytes, *tags: int) -> bytes:
    return frame[:12] + b"".join(struct.pack(">HH", t, 7) for t in tags) + frame[12:]


def ipv6(payload: bytes) -> bytes:
    return (
        MACS
        + b"\x86\xdd\x60\0\0\0"
        + struct.pack(">HBB", len(payload), 17, 64)
        + bytes(32)
        + payload
    )


def options(payload: bytes) -> bytes:
    """IPv4 with 20 bytes of options."""
    return MACS + b"\x08\0\x4a\0" + struct.pack(">H", 40 + len(payload)) + bytes(36) + payload


ARP = (MACS + b"\x08\x06\0\1\x08\0\6\4\0\1" + bytes(20)).ljust(60, b"\0")
LLDP = (MACS + b"\x88\xcc\x02\x07\4abcdef\x04\3\5e1\x06\2\0\x78\0\0").ljust(60, b"\0")
BPDU = (MACS + struct.pack(">H", 38) + bytes(38)).ljust(60, b"\0")
KINDS = {
    "IPv4": FRAME,
    "VLAN": vlan(FRAME, 0x8100),
    "QinQ": vlan(FRAME, 0x88A8, 0x8100),
    "tagged, padded to 64": vlan(made.ethernet(b"x"), 0x8100).ljust(64, b"\0"),
    "padded": made.ethernet(b"x").ljust(60, b"\0"),
    "IPv6": ipv6(b"u" * 33),
    "options": options(b"u" * 9),
    "PTP": follow_up(S + 37),
    "ARP": ARP,
    "LLDP": LLDP,
    "802.3": BPDU,
}


@pytest.mark.parametrize("kind", KINDS)
def test_trailers_behind_every_kind_of_message(tmp_path: Path, kind: str) -> None:
    """The length that the message states is evidence without an FCS, the minimum number given."""
    path, frame = tmp_path / "c.pcap", KINDS[kind]
    for trailer, name in (
        (lambda n: made.exablaze(S, n), "exablaze"),
        (lambda n: made.exablaze(S, n) + b"\xde\xad\xbe\xef", "exablaze"),
        (lambda n: made.metamako(S, n), "metamako"),
        (lambda n: made.expcap(S, n), "expcap"),
    ):
        path.write_bytes(made.pcap((S, n, frame + trailer(n)) for n in range(LEAST)))
        assert TimestampSource(path).name == name
        path.write_bytes(made.pcap((S, n, frame + trailer(n)) for n in range(LEAST - 1)))
        assert times(path) == ("pcap-ns", [(S, n, 10**9) for n in range(LEAST - 1)])
        (note,) = summarise_timestamps(path).notes
        assert f"only {LEAST - 1} messages end before it, and no FCS fits" in note


def test_one_frame_is_enough_with_its_fcs(tmp_path: Path) -> None:
    """Also a frame that says no length, and a runt; without the FCS neither is evidence."""
    path = tmp_path / "c.pcap"
    for frame in (MACS + b"\x99\x99" + b"any" * 20, MACS + b"\x99\x99abc"):
        path.write_bytes(made.pcap([(S, 1, frame + made.exablaze(S, 9, fcs=made.fcs(frame)))]))
        assert times(path) == ("exablaze", [(S, 9, 2**40)])
        path.write_bytes(made.pcap([(S, n, frame + made.exablaze(S, 9)) for n in range(99)]))
        assert TimestampSource(path).name == "pcap-ns"
        assert "no message says that it ends before it" in summarise_timestamps(path).notes[0]


@pytest.mark.parametrize("captures", [200, pytest.param(2000, marks=pytest.mark.long)])
def test_random_payload_is_never_a_trailer(tmp_path: Path, captures: int) -> None:
    """Captures of 1 to 9 frames. By time alone 4 of 2,000 were wrong and 51 refused."""
    rng, path = random.Random(53), tmp_path / "c.pcap"
    for n in range(captures):
        packets = []
        for k in range((1, 2, 9)[n % 3]):
            body = rng.randbytes(rng.randrange(30, 90))
            frame = made.ethernet(body) if k % 2 else MACS + rng.randbytes(2) + body
            packets.append((S + n, k, frame))
        path.write_bytes(made.pcap(packets))
        assert times(path) == ("pcap-ns", [(s, part, 10**9) for s, part, _ in packets])


def interleaved(*interfaces: bytes) -> bytes:
    return made.pcapng_section() + b"".join(interfaces)


RAW_IP = struct.pack("<IIHHII", 1, 20, 101, 0, 0, 20)


@pytest.mark.parametrize("second", [RAW_IP, made.pcapng_interface(6, fcs=4)])
def test_interleaved_interfaces_of_random_payload(tmp_path: Path, second: bytes) -> None:
    rng, path = random.Random(2), tmp_path / "c.pcapng"
    data = interleaved(made.pcapng_interface(6), second)
    for n in range(3000):
        frame = made.ethernet(rng.randbytes(40))
        data += made.pcapng_packet(S * 10**6 + n, frame[14 * (n % 2) :], n % 2)
    path.write_bytes(data)
    assert times(path) == ("pcapng", [(S, n, 10**6) for n in range(3000)])


def test_each_interface_has_its_own_format(tmp_path: Path) -> None:
    path = tmp_path / "c.pcapng"
    data = interleaved(made.pcapng_interface(9), made.pcapng_interface(9))
    for n in range(10):
        trailer = made.exablaze(S, 5 << 20) if n % 2 else b""
        data += made.pcapng_packet(S * 10**9 + n, FRAME + trailer, n % 2)
    path.write_bytes(data)
    name, found = times(path)
    unit = 2**40 * 5**9
    assert name == "pcapng and exablaze"
    assert found == [
        (S, (5 << 20) * (unit >> 40) if n % 2 else n * (unit // 10**9), unit) for n in range(10)
    ]
    summary = summarise_timestamps(path)
    assert summary.notes == ("times by interface: interface 0 pcapng, interface 1 exablaze",)
    assert [(p.port, p.packets) for p in summary.ports] == [(0, 5), (2, 5)]


def test_one_interface_that_mixes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.pcapng"
    data = interleaved(made.pcapng_interface(9), made.pcapng_interface(9))
    for n in range(20):
        data += made.pcapng_packet(S * 10**9, FRAME, 0)
        data += made.pcapng_packet(S * 10**9, FRAME + made.exablaze(S, 5) * (n % 2), 1)
    path.write_bytes(data)
    with pytest.raises(RunError, match="mixes formats: 50% of 20 sampled frames"):
        TimestampSource(path)


@pytest.mark.parametrize("seconds", [2**31 - 1, 2**31, 2_208_988_800, 2**32 - 2])
def test_times_beyond_2038(tmp_path: Path, seconds: int) -> None:
    """Unsigned 32-bit seconds, in the file and in the trailer."""
    path = tmp_path / "c.pcap"
    whole = [(seconds + n // 4, n) for n in range(8)]
    path.write_bytes(made.pcap((s, n, FRAME) for s, n in whole))
    assert times(path) == ("pcap-ns", [(s, n, 10**9) for s, n in whole])
    path.write_bytes(made.pcap((s, n, FRAME + made.exablaze(s, n)) for s, n in whole))
    assert times(path) == ("exablaze", [(s, n, 2**40) for s, n in whole])


def test_a_trailer_that_begins_anew_in_2106(tmp_path: Path) -> None:
    """Its 32 bits wrap; pcapng's 64 say in which era."""
    path, data = tmp_path / "c.pcapng", interleaved(made.pcapng_interface(9))
    for n in range(6):
        s = 2**32 - 2 + n
        data += made.pcapng_packet(s * 10**9, FRAME + made.exablaze(s % 2**32, 7))
    path.write_bytes(data)
    name, found = times(path)
    assert name == "exablaze"
    assert [s for s, _, _ in found] == list(range(2**32 - 2, 2**32 + 4))


def test_two_snap_lengths_and_more_bytes_than_on_the_wire(tmp_path: Path) -> None:
    """Hardware stampers write the wire's length without what they append."""
    path = tmp_path / "c.pcap"
    data = made.pcap([])
    for n in range(8):
        frame = FRAME + made.exablaze(S, n)
        data += struct.pack("<IIII", S, n, len(frame), len(FRAME)) + frame
    path.write_bytes(data)
    assert times(path) == ("exablaze", [(S, n, 2**40) for n in range(8)])
    assert [p.bytes for p in summarise_timestamps(path, list_up_to=8).listed] == [len(FRAME)] * 8
    data = made.pcap([])
    for n in range(8):
        kept = (40, 60)[n % 2]
        data += struct.pack("<IIII", S, n, kept, len(FRAME)) + FRAME[:kept]
    path.write_bytes(data)
    assert times(path) == ("pcap-ns", [(S, n, 10**9) for n in range(8)])
