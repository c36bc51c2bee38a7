"""Packets as pcapng, read by tshark: frames, times to the nanosecond, comments."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.captures import TimestampSource
from nashbed.analysis.traces import Selection
from nashbed.analysis.traces.headers import Frames, ip_checksum
from nashbed.analysis.traces.pcapng import write_pcapng
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.contract.shared import DROP_REASONS
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader
from tests.support.programs import need_program
from tests.support.tshark import known, tshark

FIELDS = [
    "frame.interface_name", "frame.time_epoch", "frame.len", "ip.src", "tcp.srcport", "tcp.seq_raw",
    "tcp.len", "frame.comment", "ip.dsfield.ecn", "_ws.malformed",
]  # fmt: skip
COMMENT = re.compile(
    r"(left|dropped) after (\d+) ns in the queue; arrived at (-?\d+) ns after t0, "
    r"(\d+) B before it; flow (\d+) \((\w+)\), postcard (\d+)(?:; (why: \w+|CE set here))?"
)


def exact_ns(text: str) -> int:
    """tshark's seconds with nine digits, without a float."""
    seconds, _, part = text.partition(".")
    return int(seconds) * 10**9 + int(part.ljust(9, "0"))


@pytest.mark.slow
def test_tshark_sees_what_the_postcards_say(whole: Selection, tmp_path: Path) -> None:
    need_program("tshark")
    path = tmp_path / "packets.pcapng"
    counts = write_pcapng(whole, path)
    cards = whole.trial.arrays("postcards")
    dropped = cards["kind"] == KIND_DROPPED
    assert counts == {"departed packets": (~dropped).sum(), "dropped packets": dropped.sum()}
    assert 0 < dropped.sum() < len(dropped)
    fields = [known("tcp.seq_raw", "tcp.seq") if f == "tcp.seq_raw" else f for f in FIELDS]
    rows = tshark(path, fields, None, fcs=False)
    assert len(rows) == len(dropped)
    for n, row in enumerate(rows):
        name, time, size, source, port, seq, payload, comment, ecn, malformed = row
        flow = int(cards["flow"][n])
        assert name == ("dropped" if dropped[n] else "bottleneck")
        assert exact_ns(time) - whole.base_ns == cards["dequeue_ns"][n]
        assert int(size) == cards["packet_bytes"][n]
        assert (source, int(port)) == (f"10.1.0.{1 + flow}", 10_000 + flow)
        assert int(seq) == cards["tcp_seq"][n]
        assert int(payload) == cards["payload_bytes"][n]
        assert malformed == ""
        found = COMMENT.fullmatch(comment)
        assert found
        assert found[1] == ("dropped" if dropped[n] else "left")
        assert int(found[2]) == cards["dequeue_ns"][n] - cards["enqueue_ns"][n]
        assert int(found[3]) == cards["enqueue_ns"][n]
        assert int(found[4]) == cards["queue_bytes"][n]
        assert (int(found[5]), found[6]) == (flow, whole.control[flow])
        assert int(found[7]) == cards["seq"][n]
        marks = int(cards["marks"][n])
        fate = "CE set here" if marks & 128 else None
        fate = f"why: {DROP_REASONS[marks & 15]}" if dropped[n] else fate
        assert found[8] == fate
        assert int(ecn) == (3 if marks & 128 else 2 if marks & 64 else 0)
    assert {row[8] for row in rows} == {"0", "2", "3"}
    assert {COMMENT.fullmatch(row[7])[8] for row in rows} == {  # type: ignore[index]
        None, "CE set here", *(f"why: {reason}" for reason in DROP_REASONS)}  # fmt: skip


def test_without_marks_ecn_is_nothing(unmarked: Selection, tmp_path: Path) -> None:
    write_pcapng(unmarked, tmp_path / "packets.pcapng")
    assert b"CE set here" not in (tmp_path / "packets.pcapng").read_bytes()
    with PcapNgReader(str(tmp_path / "packets.pcapng")) as packets:
        assert {packet[IP].tos for packet in packets} == {0}


def test_what_is_made_up_is_said(whole: Selection, tmp_path: Path) -> None:
    path = tmp_path / "packets.pcapng"
    write_pcapng(whole, path)
    head = path.read_bytes()[:1200]
    assert b"Made up: MAC and IP addresses and ports" in head
    assert f"t0 is {whole.base_ns} ns since 1970".encode() in head


def test_our_own_reader_and_scapy_read_it(whole: Selection, tmp_path: Path) -> None:
    path = tmp_path / "packets.pcapng"
    write_pcapng(replace(whole, flows=(1,)), path)
    cards = whole.trial.arrays("postcards")
    mine = cards["flow"] == 1
    times = [source.times for _, source in TimestampSource(path, "file").chunks()]
    ours = np.concatenate([t.seconds * 10**9 + t.fraction.astype(np.int64) for t in times])
    assert np.array_equal(ours - whole.base_ns, cards["dequeue_ns"][mine])
    with PcapNgReader(str(path)) as packets:
        for packet, seq in zip(packets, cards["tcp_seq"][mine].tolist(), strict=True):
            assert packet[TCP].seq == seq
            given = packet[IP].chksum
            del packet[IP].chksum
            assert Ether(packet.build())[IP].chksum == given


@pytest.mark.parametrize(("size", "payload", "header"), [
    (1514, 1448, 32), (74, 0, 40), (66, 0, 32), (60, 0, 20), (60, 1, 20), (54, 0, 20),
])  # fmt: skip
def test_the_headers_have_the_length_that_the_frame_leaves(size, payload, header) -> None:
    """A frame that is padded, or leaves no whole words, has the shortest header."""
    columns = {"flow": 70_000, "packet_bytes": size, "payload_bytes": payload, "tcp_seq": 2**32 - 1,
               "tcp_flags": 0x18, "kind": 0, "marks": 0x40}  # fmt: skip
    frames = Frames({name: np.array([value]) for name, value in columns.items()})
    packet = Ether(frames.frame(0))
    assert len(frames.frame(0)) == 14 + 20 + header
    assert packet[TCP].dataofs * 4 == header
    assert packet[IP].len == 20 + header + payload
    assert (packet[IP].src, packet[TCP].sport) == ("10.2.17.113", 30_000)
    assert packet[TCP].seq == 2**32 - 1
    assert packet[TCP].flags == "PA"
    assert packet[IP].tos == 2


def test_the_checksum_of_a_known_header() -> None:
    """The example of Wikipedia's page on the IPv4 header checksum, 0xb861."""
    header = bytes.fromhex("4500007300004000401100 00c0a80001c0a800c7".replace(" ", ""))
    assert ip_checksum(np.frombuffer(header, "V20"))[0] == 0xB861
