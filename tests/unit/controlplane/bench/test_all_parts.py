"""All parts together: each is run, one that fails does not keep the others from running."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.bench import all_parts, own_process
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.benchmark import Benchmark
from nashbed.controlplane.contract.errors import Interrupted

BENCHMARK = Benchmark(
    name="speed", unit="m/s", values=(1.0, 3.0, 2.0), wanted=2.0, detail="as found"
)


def answers(part: Sequence[str]) -> dict[str, Any]:
    if part[0] == "cpu":
        return {"ok": False, "error": "not root", "exit_code": 4}
    return {"ok": True, "part": part[0], "figures": [BENCHMARK.to_dict()]}


def test_a_part_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(all_parts, "call", lambda part: asked.append(part) or answers(part))
    out = tmp_path / "new" / "bench.json"
    assert cli(["bench", "all", "--out", str(out), "--full"]) == 20
    assert [part[0] for part in asked] == list(all_parts.PARTS)
    assert ("panel", "--full") in asked
    told = capsys.readouterr()
    assert "cpu: not measured: not root" in told.out
    assert told.out.count("as found") == len(all_parts.PARTS) - 1
    written = json.loads(out.read_text())
    assert not written["ok"]
    assert written["kernel"]
    assert Benchmark.from_dict(written["parts"][0]["figures"][0]) == BENCHMARK


@pytest.mark.slow
def test_a_part_is_a_process_of_its_own() -> None:
    answer = all_parts.call(["analysis", "--postcards", "2000", "--repetitions", "1"])
    assert {each["name"] for each in answer["figures"]} == {
        "analysis_mpostcards_per_s", "analysis_peak_mib",
    }  # fmt: skip
    assert all_parts.call(["analysis", "--postcards", "1"])["exit_code"] == 2


def test_ctrl_c_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_process, "SCRIPT", "raise SystemExit(130)")
    with pytest.raises(Interrupted):
        all_parts.call(["replay"])
