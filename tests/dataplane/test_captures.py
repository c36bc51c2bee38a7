"""What a replay makes of captures as they are: tags, options, IPv6, FCS, trailers, any time.

Every value is known to the maker of the capture, and drops and times to the plain model.
"""

import dataclasses
import random
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.records import MARK_CE
from tests.model.disciplines import Packet, Step, serve
from tests.model.droptail import Arrival, droptail
from tests.support import timestamps as file_of
from tests.support.capture import read_capture
from tests.support.made_frames import (
    IPV4,
    IPV6,
    TCP,
    UDP,
    Flow,
    Made,
    checksum,
    make,
    random_frame,
)
from tests.support.replay import Bottleneck, Replayed, replay, start_replay, time_of

pytestmark = pytest.mark.dataplane

MAGIC_US, MAGIC_NS = 0xA1B2C3D4, 0xA1B23C4D
US = 1000
SECOND = 10**9
IN_2040 = 2_208_988_800 * SECOND
AROUND_2038 = (2**31 - 1) * SECOND + 999_990_000
LAST_FIRST = 2**32 * SECOND - 2**48
"""The latest start: 78 hours before a pcap file's seconds end."""


@dataclasses.dataclass(frozen=True)
class Form:
    """The form of a capture file.

    Attributes:
        order: Byte order as struct has it.
        fcs: Bytes of the FCS that it declares, and has.
        trailer: Bytes put behind each frame, of which it says nothing.
        beside: Whether the trailer was captured beyond the frame's stated length.
        snap: Bytes captured of each frame.
    """

    pcapng: bool = False
    order: str = "<"
    unit_ns: int = 1
    fcs: int = 0
    trailer: int = 0
    beside: bool = False
    snap: int = 65535

    def write(self, packets: list[tuple[int, Made]]) -> bytes:
        """The file; times in ns since 1970."""
        out = self._head()
        for time_ns, made in packets:
            data = made.data + b"\xa5" * (self.trailer + self.fcs)
            wire = len(data) - (self.trailer if self.beside else 0)
            out += self._packet(time_ns, data[: min(self.snap, made.captured or self.snap)], wire)
        return out

    def kept(self, made: Made) -> bytes:
        """What is left of a frame: only of a flow's is it known where a trailer begins."""
        trailer = 0 if made.why is None or self.beside else self.trailer
        return (made.data + b"\xa5" * trailer)[: made.captured]

    def _head(self) -> bytes:
        if self.pcapng:
            resolution = {1: 9, 1000: None}[self.unit_ns]
            interface = file_of.pcapng_interface(resolution, None, self.order, self.fcs or None)
            return file_of.pcapng_section(self.order) + interface
        magic = MAGIC_NS if self.unit_ns == 1 else MAGIC_US
        link = 1 | (1 << 26 | (self.fcs // 2) << 28 if self.fcs else 0)
        return struct.pack(f"{self.order}IHHiIII", magic, 2, 4, 0, 0, self.snap, link)

    def _packet(self, time_ns: int, data: bytes, wire: int) -> bytes:
        if self.pcapng:
            ticks = time_ns // self.unit_ns
            block = bytearray(file_of.pcapng_packet(ticks, data, 0, self.order))
            struct.pack_into(f"{self.order}I", block, 24, wire)
            return bytes(block)
        seconds, rest = divmod(time_ns, SECOND)
        head = (seconds, rest // self.unit_ns, len(data), wire)
        return struct.pack(f"{self.order}IIII", *head) + data


def check(
    replayed: Replayed, packets: list[tuple[int, Made]], bottleneck: Bottleneck, form: Form
) -> int:
    """Compare with the plain model and with what the maker knows; the number of drops."""
    start = packets[0][0]
    shaped = [(time - start, made) for time, made in packets if made.flow is not None]
    arrivals = [Arrival(time, len(made.data)) for time, made in shaped]
    outcomes = droptail(arrivals, bottleneck.rate_bps, bottleneck.limit)
    numbers = {made.flow: n for n, (_, made) in reversed(list(enumerate(shaped)))}
    flows = sorted(numbers, key=lambda flow: numbers[flow])
    cards = sorted(
        (o.departure_ns, o.dropped, n, time, flows.index(made.flow), len(made.data), made.payload,
         made.seq, o.queue_bytes)
        for n, ((time, made), o) in enumerate(zip(shaped, outcomes, strict=True))
    )  # fmt: skip
    got = replayed.postcards
    columns: list[Any] = [
        time_of(got, "dequeue"), got["kind"], time_of(got, "enqueue"), got["flow"],
        got["packet_bytes"], got["payload_bytes"], got["tcp_seq"], got["queue_bytes"],
    ]  # fmt: skip
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert rows == [(at, int(dropped), *rest) for at, dropped, _, *rest in cards]
    check_summary(replayed.summary, packets, flows, sum(o.dropped for o in outcomes))
    left = [(o.departure_ns, made) for (_, made), o in zip(shaped, outcomes, strict=True)
            if not o.dropped]  # fmt: skip
    left += [(time - start, made) for time, made in packets if made.why is not None]
    departures = Counter(read_capture(replayed.departures))
    assert departures == Counter((start + time, form.kept(made)) for time, made in left)
    return sum(o.dropped for o in outcomes)


def check_summary(
    summary: dict[str, Any], packets: list[tuple[int, Made]], flows: list[Any], drops: int
) -> None:
    shaped = sum(made.flow is not None for _, made in packets)
    assert summary["packets"] == len(packets)
    assert (summary["departed"], summary["dropped"]) == (shaped - drops, drops)
    assert summary["first_ns"] == packets[0][0]
    listed = [{name: each[name] for name in flow.listed}
              for each, flow in zip(summary["flows"], flows, strict=True)]  # fmt: skip
    assert listed == [flow.listed for flow in flows]
    reasons = Counter(made.why for _, made in packets if made.why is not None)
    assert {name: n for name, n in summary["not_looked_at"].items() if n} == reasons


def thousand(flow: Flow, **form: Any) -> list[tuple[int, Made]]:
    """1,000 frames of 1,514 bytes, every 88.1 us."""
    frames = [make(flow, 1514, seq=n, **form) for n in range(1000)]
    return [(1_700_000_000 * SECOND + n * 88_100, made) for n, made in enumerate(frames)]


FORMS: dict[str, tuple[Flow, dict[str, Any]]] = {
    "plain": (Flow(0), {}),
    "vlan": (Flow(0), {"tags": (0x8100,)}),
    "qinq": (Flow(0), {"tags": (0x88A8, 0x8100)}),
    "options": (Flow(0), {"options": bytes([148, 4, 0, 0])}),
    "ipv6": (Flow(0, IPV6), {}),
    "ipv6-udp": (Flow(0, IPV6, UDP), {}),
    "ipv6-extensions": (Flow(0, IPV6), {"extensions": (0, 43, 44, 51, 60), "tags": (0x9100,)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_as_many_drops_as_of_plain_frames(tmp_path: Path, form: str) -> None:
    """A frame takes 100 us: 880 have left when the last one comes, 10 are there, so 110 are not."""
    flow, fields = FORMS[form]
    packets = thousand(flow, **fields)
    bottleneck = Bottleneck(rate_bps=121_120_000, limit=15_140)
    replayed = replay(tmp_path, Form().write(packets), bottleneck)
    assert check(replayed, packets, bottleneck, Form()) == 110


def any_packets(rng: random.Random, n: int, start_ns: int, unit_ns: int) -> list[tuple[int, Made]]:
    """Frames of every form, at gaps of 0 to 200 us."""
    flows = [
        Flow(n, version, protocol)
        for n, (version, protocol) in enumerate([(v, p) for v in (IPV4, IPV6) for p in (TCP, UDP)])
    ]
    time_ns, seen, packets = start_ns // unit_ns * unit_ns, [], []
    for seq in range(n):
        made = random_frame(rng, flows, seen, seq)
        if made.flow is not None:
            seen.append(made.flow)
        packets.append((time_ns, made))
        time_ns += rng.choice([0, rng.randrange(200 * US)]) // unit_ns * unit_ns
    return packets


forms = st.builds(
    Form,
    pcapng=st.booleans(),
    order=st.sampled_from("<>"),
    unit_ns=st.sampled_from([1, 1000]),
    fcs=st.sampled_from([0, 4]),
    trailer=st.sampled_from([0, 4, 12, 16, 28]),
    beside=st.booleans(),
)
starts = st.sampled_from([0, 1_700_000_000 * SECOND + 1, AROUND_2038, IN_2040, LAST_FIRST])


def check_any(folder: Path, seed: int, n: int, form: Form, start_ns: int) -> None:
    packets = any_packets(random.Random(seed), n, start_ns, form.unit_ns)
    bottleneck = Bottleneck(rate_bps=100_000_000, limit=20_000)
    replayed = replay(folder, form.write(packets), bottleneck)
    check(replayed, packets, bottleneck, form)
    assert replayed.summary["fcs_packets"] == (len(packets) if form.fcs else 0)
    trailing = [made.captured is None if form.beside else made.why is None for _, made in packets]
    assert replayed.summary["trailer_packets"] == (sum(trailing) if form.trailer else 0)


fuzzed = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@settings(fuzzed, max_examples=10)
@given(st.integers(0, 2**32), st.integers(1, 300), forms, starts)
def test_any_capture_is_as_the_model(
    tmp_path: Path, seed: int, n: int, form: Form, start_ns: int
) -> None:
    check_any(tmp_path, seed, n, form, start_ns)


@pytest.mark.slow
@settings(fuzzed, max_examples=4)
@given(st.integers(0, 2**32), st.integers(1, 10_000), forms, starts)
def test_many_captures_are_as_the_model(
    tmp_path: Path, seed: int, n: int, form: Form, start_ns: int
) -> None:
    check_any(tmp_path, seed, n, form, start_ns)


FRAME = make(Flow(0), 1000)
LATE = make(Flow(0), 1000, seq=1)
START = 1_700_000_000 * SECOND


def sizes(folder: Path, capture: bytes) -> list[int]:
    """The bytes that each packet has in the queue."""
    found: list[int] = replay(folder, capture, Bottleneck()).postcards["packet_bytes"].tolist()
    return found


@pytest.mark.parametrize(
    "form",
    [
        Form(fcs=4),
        Form(fcs=4, order=">"),
        Form(pcapng=True, fcs=4),
        Form(pcapng=True, fcs=32),
        Form(trailer=16),
        Form(trailer=16, fcs=4),
        Form(trailer=16, beside=True),
        Form(trailer=16, beside=True, pcapng=True, fcs=4),
        Form(snap=96, trailer=16, fcs=4),
    ],
    ids=str,
)
def test_bytes_are_those_of_the_frame_as_it_was_sent(tmp_path: Path, form: Form) -> None:
    in_bits = dataclasses.replace(form, fcs=4) if form.fcs == 32 else form
    data = form.write([]) + in_bits.write([(START, FRAME)])[len(in_bits.write([])) :]
    replayed = replay(tmp_path, data, Bottleneck())
    assert replayed.postcards["packet_bytes"].tolist() == [1000]
    assert read_capture(replayed.departures) == [(START + 80 * US, FRAME.data[: form.snap])]
    assert replayed.summary["fcs_packets"] == (form.fcs > 0)
    assert replayed.summary["trailer_packets"] == (form.trailer > 0)


def test_the_flags_of_a_packet_say_more_of_its_fcs_than_its_interface(tmp_path: Path) -> None:
    block = file_of.pcapng_packet(START // US, FRAME.data + bytes(4))
    flags = struct.pack("<HHIHH", 2, 4, 4 << 5, 0, 0)
    length = struct.pack("<I", len(block) + len(flags))
    block = block[:4] + length + block[8:-4] + flags + length
    capture = file_of.pcapng_section() + file_of.pcapng_interface() + block
    assert sizes(tmp_path, capture) == [1000]


@pytest.mark.slow
@pytest.mark.parametrize("size", [60, 61, 64, 68])
def test_padding_to_ethernets_minimum_was_sent(tmp_path: Path, size: int) -> None:
    """A tag may be put in behind it, so that the frame is 4 bytes longer; the rest is a trailer."""
    for tags, most in (((), 60), ((0x8100,), 64), ((0x88A8, 0x8100), 68)):
        made = make(Flow(0, IPV4, UDP), tags=tags)
        padded = dataclasses.replace(made, data=made.data[:60].ljust(size, b"\0"))
        assert sizes(tmp_path / str(most), Form().write([(START, padded)])) == [min(size, most)]


def test_interfaces_of_two_snap_lengths_fcs_and_resolutions(tmp_path: Path) -> None:
    def interface(snap: int, **fields: Any) -> bytes:
        block = bytearray(file_of.pcapng_interface(**fields))
        struct.pack_into("<I", block, 12, snap)
        return bytes(block)

    capture = file_of.pcapng_section() + interface(96) + interface(65535, tsresol=9, fcs=4)
    for n in range(4):
        ticks = (START + n * SECOND) // (1 if n % 2 else US)
        capture += file_of.pcapng_packet(ticks, FRAME.data + bytes(4 * (n % 2)), n % 2)
    replayed = replay(tmp_path, capture, Bottleneck())
    assert replayed.postcards["packet_bytes"].tolist() == [1000] * 4
    assert time_of(replayed.postcards, "enqueue").tolist() == [n * SECOND for n in range(4)]


@pytest.mark.parametrize("form", [Form(unit_ns=US), Form(pcapng=True)], ids=str)
@pytest.mark.parametrize("start_ns", [AROUND_2038, IN_2040, LAST_FIRST // US * US])
def test_any_time_to_2106(tmp_path: Path, start_ns: int, form: Form) -> None:
    replayed = replay(
        tmp_path, form.write([(start_ns, FRAME), (start_ns + SECOND, LATE)]), Bottleneck()
    )
    assert replayed.summary["first_ns"] == start_ns
    assert [time for time, _ in read_capture(replayed.departures)] == [
        start_ns + 80 * US,
        start_ns + SECOND + 80 * US,
    ]


def refused(folder: Path, capture: bytes) -> str:
    run = start_replay(folder, capture, Bottleneck())
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1), run
    return run.stderr


def test_beyond_2106_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path, Form(pcapng=True).write([(LAST_FIRST + 1, FRAME)]))
    assert "begins after the 3rd of February 2106" in said
    said = refused(tmp_path, Form(pcapng=True).write([(2**63, FRAME)]))
    assert "packet 1 is not of the years 1970 to 2262" in said


def test_nanoseconds_in_a_file_of_microseconds_are_refused(tmp_path: Path) -> None:
    wrong = bytearray(Form(unit_ns=US).write([(START, FRAME), (START + SECOND, LATE)]))
    struct.pack_into("<I", wrong, 24 + 16 + 1000 + 4, 1_000_000)
    said = refused(tmp_path, bytes(wrong))
    assert "packet 2 has 1000000 microseconds in a second" in said
    assert "magic number a1b23c4d" in said


def test_one_wrong_time_is_refused(tmp_path: Path) -> None:
    packets = [(START + n * US, FRAME) for n in range(1000)]
    packets[1] = (packets[1][0] + 65_536 * SECOND, FRAME)
    said = refused(tmp_path, Form().write(packets))
    assert "packet 3 is 65535.999999 s before packet 2, which is 65536.000001 s after" in said


def test_a_looped_capture_is_refused(tmp_path: Path) -> None:
    packets = [(START + n * SECOND, FRAME) for n in range(10)]
    assert "packet 11 is 9.000000 s before packet 10" in refused(
        tmp_path, Form().write(packets * 2)
    )


@pytest.mark.parametrize(("back_ns", "is_tolerated"), [(1_000_000, True), (1_000_001, False)])
def test_packets_may_be_a_millisecond_out_of_order(
    tmp_path: Path, back_ns: int, is_tolerated: bool
) -> None:
    at = START + SECOND
    capture = Form().write([(START, FRAME), (at, FRAME), (at - back_ns, LATE), (at + 1, LATE)])
    if not is_tolerated:
        assert "packet 3 is 0.001000 s before packet 2" in refused(tmp_path, capture)
        return
    replayed = replay(tmp_path, capture, Bottleneck())
    assert replayed.summary["times_backwards"] == 1
    assert replayed.summary["furthest_back_ns"] == back_ns
    assert time_of(replayed.postcards, "enqueue").tolist() == [0, SECOND, SECOND, SECOND + 1]


def test_a_long_pause_is_in_the_summary(tmp_path: Path) -> None:
    capture = Form().write([(START, FRAME), (START + 7, FRAME), (START + 61 * SECOND, LATE)])
    summary = replay(tmp_path, capture, Bottleneck()).summary
    assert (summary["longest_pause_ns"], summary["longest_pause_packet"]) == (61 * SECOND - 7, 3)


@pytest.mark.parametrize("form", FORMS)
def test_a_mark_is_set_in_the_frame_itself(tmp_path: Path, form: str) -> None:
    flow, fields = FORMS[form]
    frames = [make(flow, 1514, seq=n, tos=0xB9, **fields) for n in range(200)]
    bottleneck = Bottleneck(limit=400_000, discipline=("step", {"threshold_bytes": 20_000}))
    times = [n * 60 * US for n in range(len(frames))]
    packets = [(START + time, made) for time, made in zip(times, frames, strict=True)]
    replayed = replay(tmp_path, Form().write(packets), bottleneck)
    arrivals = [Packet(time, 1514, 1) for time in times]
    expected = serve(arrivals, bottleneck.rate_bps, bottleneck.limit, Step(20_000))
    is_marked = [each.mark for each in expected]
    assert 0 < sum(is_marked) < len(frames)
    assert (replayed.postcards["marks"] & MARK_CE != 0).tolist() == is_marked
    for (_, frame), made, marked in zip(
        read_capture(replayed.departures), frames, is_marked, strict=True
    ):
        at = made.ip
        if flow.version == IPV4:
            written = 12  # to behind the checksum
            assert frame[at + 1] == (0xBB if marked else 0xB9)
            assert checksum(frame[at : at + 4 * (frame[at] & 15)]) == 0
        else:
            written = 2
            assert frame[at : at + 2] == (b"\x6b\xb0" if marked else b"\x6b\x90")
        assert frame[:at] + frame[at + written :] == made.data[:at] + made.data[at + written :]
