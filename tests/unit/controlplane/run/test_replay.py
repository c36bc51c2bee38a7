"""`nashbed replay`: tables from a capture, the same every time, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.store.postcards import POSTCARDS
from tests.support.capture import raw_capture, tcp_capture
from tests.support.made_frames import Flow, make, not_looked_at
from tests.unit.controlplane.conftest import SCENARIO

pytestmark = pytest.mark.dataplane

PACKETS = 200


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A capture, a scenario and where the replay goes."""
    times = np.arange(PACKETS, dtype=np.int64) * 50_000
    sizes = np.full(PACKETS, 1514, np.int64)
    capture = tmp_path / "a.pcap"
    capture.write_bytes(tcp_capture(times, sizes, np.arange(PACKETS, dtype=np.int64) % 3))
    scenario = tmp_path / "s.yaml"
    # 1514 bytes every 50 us are 242 Mbit/s: a quarter passes 100 Mbit/s, the rest is dropped
    # once 10 packets wait.
    scenario.write_text(SCENARIO.replace("2bdp", "10pkt"))
    return capture, scenario, tmp_path / "out"


def replay(capture: Path, scenario: Path, out: Path) -> int:
    return run(["replay", str(capture), "--scenario", str(scenario), "--out", str(out)])


def test_tables_and_summary(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(*files) == 0
    out = files[2]
    assert {p.name for p in out.iterdir()} == {
        "dataplane.json", "departures.pcap", "replay.json", "postcards.parquet",
        "counters.parquet",
    }  # fmt: skip
    summary = json.loads((out / "replay.json").read_text())
    cards = pq.read_table(out / "postcards.parquet")
    assert cards.schema.equals(POSTCARDS.without_marks().without_queues().schema)
    assert cards.num_rows == PACKETS == summary["departed"] + summary["dropped"]
    counters = pq.read_table(out / "counters.parquet").to_pydict()
    assert counters["flow"] == [0, 1, 2]
    assert sum(counters["departed_packets"]) == summary["departed"]
    assert cards["queue_bytes"].to_numpy().max() == 10 * 1514
    words = capsys.readouterr().out
    assert words.startswith(f"{PACKETS} packets, {summary['departed']} departed")


@pytest.mark.slow
def test_the_same_bytes_every_time(files: tuple[Path, Path, Path]) -> None:
    capture, scenario, out = files
    contents = []
    for _ in range(2):
        assert replay(capture, scenario, out) == 0  # an earlier replay is replaced
        contents.append({p.name: p.read_bytes() for p in out.iterdir() if p.suffix != ".json"})
    assert contents[0] == contents[1]


def damage_cut(data: bytes) -> bytes:
    return data[:-7]


def damage_foreign(data: bytes) -> bytes:
    return b"\x7fELF" + data[4:]


def damage_empty(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [damage_cut, damage_foreign, damage_empty])
def test_a_damaged_capture_is_one_line_and_leaves_nothing(
    files: tuple[Path, Path, Path], damage: object, capsys: pytest.CaptureFixture[str]
) -> None:
    capture, _, out = files
    capture.write_bytes(damage(capture.read_bytes()))  # type: ignore[operator]
    assert replay(*files) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert str(capture) in err
    assert {p.name for p in out.parent.iterdir()} == {"a.pcap", "s.yaml"}


def test_what_a_replay_refuses(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capture, scenario, out = files
    assert replay(capture.with_name("none.pcap"), scenario, out) == 2
    assert "no such capture file" in capsys.readouterr().err
    assert replay(capture, scenario, out / "deep" / "er") == 4
    assert "no such folder; make it or use another --out" in capsys.readouterr().err
    out.mkdir()
    (out / "mine.txt").write_text("keep me")
    assert replay(capture, scenario, out) == 4
    assert "exists and is not an earlier replay; use another --out" in capsys.readouterr().err
    assert (out / "mine.txt").read_text() == "keep me"
    scenario.write_text(SCENARIO.replace("sweep: {", "sweep: {buffer: [1bdp, 2bdp], "))
    assert replay(capture, scenario, out.with_name("out2")) == 2
    assert "makes 2 settings; a replay needs exactly one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ("queues: [{name: a, flows: [cubic]}, {name: b, flows: [bbr]}]", "a replay has one queue"),
        ("policer: {rate: 20mbit, burst: 100kB}", "a token bucket would count"),
        ("shaper: {burst: 100kB}", "a token bucket would count"),
        ("changes: [{at: 100ms, rate: 50mbit}]", "from which changes"),
    ],
)
def test_a_replay_has_one_queue_and_no_schedule(
    files: tuple[Path, Path, Path], keys: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files[1].write_text(SCENARIO.replace("2bdp}", f"2bdp, {keys}}}"))
    assert replay(*files) == 2
    assert why in capsys.readouterr().err
    assert not files[2].exists()


def write_pcap(path: Path, packets: list[tuple[int, bytes]]) -> None:
    path.write_bytes(raw_capture([(1_700_000_000 * 10**9 + t, frame) for t, frame in packets]))


SEGMENT = make(Flow(0), 1000)
ARP = not_looked_at(make(Flow(0), 60), "not_ip").data
ICMP = not_looked_at(make(Flow(0), 100), "other_protocol").data


@pytest.mark.slow
def test_what_is_not_looked_at_is_a_line_and_in_the_json(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capture, scenario, out = files
    write_pcap(capture, [(0, SEGMENT.data), (1, ARP), (2, ICMP), (3, ARP)])
    assert replay(capture, scenario, out) == 0
    said = capsys.readouterr()
    assert said.out == f"4 packets, 1 departed, 0 dropped, 3 passed unshaped: {out}\n"
    assert said.err == (
        f"{capture}: 3 of 4 packets were not looked at, because 2 are not IP, 1 are neither TCP nor"
        " UDP; they passed the queue by\n"
    )
    command = ["replay", str(capture), "--scenario", str(scenario), "--out", str(out), "--json"]
    assert run(command) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["departed"], answer["dropped"], answer["packets"]) == (1, 0, 4)
    assert answer["not_looked_at"] == {
        "not_ip": 2, "other_protocol": 1, "later_fragment": 0, "malformed": 0, "cut_short": 0
    }  # fmt: skip


def test_a_capture_of_which_nothing_is_looked_at_is_refused(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write_pcap(files[0], [(0, ARP), (1, ARP)])
    assert replay(*files) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "none of its 2 packets was looked at, because 2 are not IP; a replay needs TCP" in said
    assert not files[2].exists()


def test_what_was_done_to_packets_and_their_times_is_told(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    minute = 60 * 10**9
    stamped = SEGMENT.data + bytes(16)
    write_pcap(files[0], [(5000, stamped), (0, stamped), (2 * minute, SEGMENT.data)])
    assert replay(*files) == 0
    lines = [line.removeprefix(f"{files[0]}: ") for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "a trailer was taken off 2 packets: what is behind the end of IP's packet and of Ethernet's"
        " padding was not sent",
        "1 packets have times before an earlier one's, by up to 5 us; they come at that one's time "
        "(sort them with reordercap)",
        "packet 3 comes 119.999995 s after those before it; if a clock was set there, cut the "
        "capture in two with editcap",
    ]
