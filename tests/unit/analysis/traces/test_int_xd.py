"""INT-XD reports, read by our Wireshark dissector and by a parser in scapy.

The parser was written from the specification (P4.org, Telemetry Report Format 2.0), bit by bit, and
shares nothing with the writer.
"""

import os
import subprocess
from pathlib import Path

import pytest
from nashbed.analysis.traces import Selection
from nashbed.analysis.traces.int_xd import (
    LARGEST_LATENCY,
    LARGEST_QUEUE,
    individual_report,
    metadata,
    write_int_xd,
)
from nashbed.controlplane.contract.records import KIND_DROPPED
from scapy.fields import (
    BitEnumField,
    BitField,
    ByteField,
    ConditionalField,
    FlagsField,
    IntField,
    LongField,
    ShortField,
    ThreeBytesField,
)
from scapy.layers.inet import IP, TCP, UDP
from scapy.packet import Packet, bind_layers
from scapy.utils import PcapNgReader
from tests.support.programs import need_program

DISSECTOR = Path(__file__).parents[4] / "configs" / "wireshark" / "telemetry_report.lua"


WHY = (71, 73, 71, 71, 71, 72)
"""By a postcard's reason: p4lang/switch's traffic manager, WRED for the discipline, meter."""


def bit(n: int):
    """Whether bit n of RepMdBits is set; the specification counts from the most significant."""
    return lambda packet: packet.rep_md_bits & (1 << (15 - n))


class IntReport(Packet):
    """The individual report header with the main contents of INT."""

    fields_desc = [  # noqa: RUF012 - scapy's way
        BitEnumField("rep_type", 0, 4, {0: "inner only", 1: "INT", 2: "IOAM"}),
        BitEnumField("in_type", 0, 4, {0: "none", 3: "Ethernet", 4: "IPv4", 5: "IPv6"}),
        ByteField("report_length", 0),
        ByteField("md_length", 0),
        FlagsField("flags", 0, 4, ["I", "F", "Q", "D"]),
        BitField("reserved", 0, 4),
        ShortField("rep_md_bits", 0),
        ShortField("domain_id", 0),
        ShortField("ds_md_bits", 0),
        ShortField("ds_md_status", 0),
        ConditionalField(ShortField("level1_ingress", 0), bit(1)),
        ConditionalField(ShortField("level1_egress", 0), bit(1)),
        ConditionalField(IntField("hop_latency", 0), bit(2)),
        ConditionalField(ByteField("queue_id", 0), bit(3)),
        ConditionalField(ThreeBytesField("queue_occupancy", 0), bit(3)),
        ConditionalField(LongField("ingress", 0), bit(4)),
        ConditionalField(LongField("egress", 0), bit(5)),
        ConditionalField(IntField("level2_ingress", 0), bit(6)),
        ConditionalField(IntField("level2_egress", 0), bit(6)),
        ConditionalField(IntField("utilization", 0), bit(7)),
        ConditionalField(ByteField("buffer_id", 0), bit(8)),
        ConditionalField(ThreeBytesField("buffer_occupancy", 0), bit(8)),
        ConditionalField(ByteField("drop_queue_id", 0), bit(15)),
        ConditionalField(ByteField("drop_reason", 0), bit(15)),
        ConditionalField(ShortField("padding", 0), bit(15)),
    ]

    def guess_payload_class(self, payload: bytes):
        return {4: IP}[self.in_type]


class ReportGroup(Packet):
    """The telemetry report group header."""

    fields_desc = [  # noqa: RUF012 - scapy's way
        BitField("version", 0, 4),
        BitField("hw_id", 0, 6),
        BitField("sequence", 0, 22),
        IntField("node_id", 0),
    ]


bind_layers(UDP, ReportGroup, dport=32_766)
bind_layers(ReportGroup, IntReport)


@pytest.fixture(scope="module")
def reports(whole: Selection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "reports.pcapng"
    write_int_xd(whole, path)
    return path


@pytest.mark.slow
def test_a_parser_of_the_specification_reads_what_the_postcards_say(
    whole: Selection, reports: Path
) -> None:
    cards = whole.trial.arrays("postcards")
    with PcapNgReader(str(reports)) as packets:
        found = list(packets)
    assert len(found) == len(cards["kind"])
    for n, packet in enumerate(found):
        group, report = packet[ReportGroup], packet[IntReport]
        dropped = cards["kind"][n] == KIND_DROPPED
        assert (group.version, group.hw_id, group.sequence, group.node_id) == (2, 0, n, 1)
        assert (report.rep_type, report.in_type, report.reserved) == (1, 4, 0)
        assert str(report.flags) == ("F+D" if dropped else "F")
        assert (report.domain_id, report.ds_md_bits, report.ds_md_status) == (0, 0, 0)
        assert (report.queue_id, report.queue_occupancy) == (0, cards["queue_bytes"][n])
        assert report.ingress - whole.base_ns == cards["enqueue_ns"][n]
        if dropped:
            assert report.rep_md_bits == 0b0001_1000_0000_0001
            why = WHY[cards["marks"][n] & 15]
            assert (report.drop_queue_id, report.drop_reason, report.padding) == (0, why, 0)
            assert report.md_length == 4
        else:
            assert report.rep_md_bits == 0b0011_1100_0000_0000
            assert report.egress - whole.base_ns == cards["dequeue_ns"][n]
            assert report.hop_latency == report.egress - report.ingress
            assert report.md_length == 6
        inner = bytes(report.payload)
        assert report.report_length == 2 + report.md_length + len(inner) // 4
        assert packet[UDP].len == 8 + 8 + 4 + 4 * report.report_length
        assert report[IP].src == f"10.1.0.{1 + int(cards['flow'][n])}"
        assert report[TCP].seq == cards["tcp_seq"][n]
        assert packet[IP].flags == "DF"
        ecn = 3 if cards["marks"][n] & 128 else 2 if cards["marks"][n] & 64 else 0
        assert report[IP].tos == ecn
    assert {int(packet[IntReport][IP].tos) for packet in found} == {0, 2, 3}
    assert {p[IntReport].drop_reason for p in found if p[IntReport].flags.D} == {71, 72, 73}


def dissect(path: Path, fields: list[str]) -> list[list[str]]:
    """What tshark reads with our dissector; as nobody where we are root.

    Since 4.2 it loads no Lua script as root.
    """
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    environment = {**os.environ, "TZ": "UTC", "HOME": "/nonexistent"}
    command = ["tshark", "-n", "-r", "-", "-T", "fields"]
    command += [word for name in fields for word in ("-e", name)]
    script = os.memfd_create("telemetry_report.lua")
    try:
        os.write(script, DISSECTOR.read_bytes())
        with path.open("rb") as capture:
            done = subprocess.run(
                [*command, "-X", f"lua_script:/dev/fd/{script}"],
                stdin=capture, capture_output=True, text=True, timeout=120, check=False,
                env=environment, cwd="/", pass_fds=[script], **nobody,
            )  # fmt: skip
    finally:
        os.close(script)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_dissector_agrees_with_the_parser(reports: Path) -> None:
    need_program("tshark")
    names = ("version", "sequence", "node_id", "rep_type", "in_type", "length", "md_length",
             "dropped", "tracked", "md_bits", "hop_latency", "queue_occupancy", "ingress_ns",
             "egress_ns", "drop_reason", "too_short")  # fmt: skip
    others = ("tcp.seq_raw", "ip.dsfield.ecn", "_ws.malformed", "_ws.lua.error")
    rows = dissect(reports, [*(f"p4_report.{n}" for n in names), *others])
    with PcapNgReader(str(reports)) as packets:
        for row, packet in zip(rows, packets, strict=True):
            group, report = packet[ReportGroup], packet[IntReport]
            dropped = report.flags.D
            theirs = [
                group.version, group.sequence, group.node_id, report.rep_type, report.in_type,
                report.report_length, report.md_length, int(dropped), int(report.flags.F),
                f"0x{report.rep_md_bits:04x}", "" if dropped else report.hop_latency,
                report.queue_occupancy, report.ingress, "" if dropped else report.egress,
                report.drop_reason if dropped else "", "", report[TCP].seq,
                f"0,{report[IP].tos}", "", "",
            ]  # fmt: skip
            shown = [{"True": "1", "False": "0"}.get(cell, cell) for cell in row]
            assert shown == [str(cell) for cell in theirs]


@pytest.mark.slow
def test_a_cut_report_is_said_to_be_too_short(reports: Path, tmp_path: Path) -> None:
    """The length of the first report is raised beyond its UDP datagram."""
    need_program("tshark")
    content = bytearray(reports.read_bytes())
    at = content.index(b"\x20\x00\x00\x00\x00\x00\x00\x01") + 9
    content[at] += 1
    damaged = tmp_path / "damaged.pcapng"
    damaged.write_bytes(content)
    rows = dissect(damaged, ["p4_report.too_short", "_ws.lua.error"])
    assert rows[0] != ["", ""]
    assert rows[0][1] == ""
    assert all(row == ["", ""] for row in rows[1:])


def test_what_does_not_fit_is_the_largest_number() -> None:
    data = metadata(None, 1 << 30, 0, 1 << 40)
    report = IntReport(individual_report(False, data, bytes(IP() / TCP())))
    assert (report.queue_id, report.queue_occupancy) == (0, LARGEST_QUEUE)
    assert report.hop_latency == LARGEST_LATENCY
    assert report.egress == 1 << 40
