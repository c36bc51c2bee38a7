"""The benchmark of the analysis measures what it says, and leaves nothing behind."""

from pathlib import Path

import pytest
from nashbed.controlplane.bench.postcards import FLOWS, bench_analysis
from nashbed.controlplane.cli.main import run as cli


def test_a_small_one(tmp_path: Path) -> None:
    speed, memory = bench_analysis(50_000, 3, tmp_path)
    # 50,000 frames of 12.112 us each are 605.6 ms: 61 bins of 10 ms.
    told = (speed.data["postcards"], speed.data["flows"], speed.data["bins"])
    assert told == (50_000, FLOWS, 61)
    assert len(speed.values) == 3
    assert speed.data["file_bytes"] > 100_000
    assert memory.median > 10
    assert list(tmp_path.iterdir()) == []


def test_too_little_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nashbed.controlplane.bench.postcards.DISK_BYTES_EACH", 10**15)
    assert cli(["bench", "analysis", "--postcards", "2000", "--dir", str(tmp_path)]) == 4
    assert "GB free" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
