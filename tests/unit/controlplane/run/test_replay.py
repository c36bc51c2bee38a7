"""`nashbed replay`: tables from a capture, the same every time, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.store.postcards import POSTCARDS
from tests.support.capture import tcp_capture
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
