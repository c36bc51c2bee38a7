"""The comparison with simple_switch: the same packets, timed between two looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.bench import simple_switch
from nashbed.controlplane.bench.simple_switch import Progress, lane_program, speed, write_capture
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.shared import SINK_PORT
from scapy.layers.inet import IP, TCP
from scapy.utils import rdpcap
from tests.support.programs import needs_program


def test_the_capture_holds_full_segments_of_flows_in_turn(tmp_path: Path) -> None:
    write_capture(tmp_path / "c.pcap", 7, 3)
    packets = rdpcap(str(tmp_path / "c.pcap"))
    assert [len(p) for p in packets] == [1514] * 7
    assert [p[TCP].sport for p in packets] == [1024 + i % 3 for i in range(7)]
    first = packets[0]
    assert (first[IP].src, first[IP].dst, first[IP].len) == ("10.64.0.1", "10.65.0.1", 1500)
    assert (first[TCP].dport, first[TCP].dataofs) == (SINK_PORT, 5)


def test_every_flow_of_the_capture_has_its_entry() -> None:
    entries = lane_program(3).flows
    assert [(e.flow, e.sport, e.src) for e in entries] == [
        (i, 1024 + i, "10.64.0.1") for i in range(3)
    ]


def test_speed_is_taken_between_the_first_look_and_the_last() -> None:
    looks = [Progress(10.0, 1000), Progress(10.5, 3000), Progress(11.0, 11_000)]
    assert speed(looks) == pytest.approx(0.01)
    with pytest.raises(TargetError, match="too few packets"):
        speed(looks[:1])


@pytest.mark.slow
def test_without_it_there_is_no_comparison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(simple_switch, "available", lambda: "")
    assert cli(["bench", "replay", "--packets", "10000", "--repetitions", "1"]) in (0, 20)
    told = capsys.readouterr()
    assert "simple_switch is not on PATH" in told.err
    assert "replay_mpps" in told.out
    assert "simple_switch" not in told.out


@pytest.mark.dataplane
@needs_program("simple_switch")
def test_every_packet_comes_through(tmp_path: Path) -> None:
    """measure() itself ends only when all have left, each counted by P4."""
    assert simple_switch.measure(tmp_path, 3000, 50, None) > 0
