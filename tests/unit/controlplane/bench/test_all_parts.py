"""All parts together: each is run, one that fails does not keep the others from running."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path

import pytest
from nashbed.controlplane.bench import all_parts, startup
from nashbed.controlplane.bench.all_parts import PartAnswer
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.benchmark import Benchmark
from nashbed.controlplane.contract.errors import ConfigError, Interrupted

BENCHMARK = Benchmark(
    name="speed", unit="m/s", values=(1.0, 3.0, 2.0), wanted=2.0, detail="as found"
)


def answers(part: Sequence[str]) -> PartAnswer:
    if part[0] == "lanes":
        return PartAnswer(ok=False, error="not root")
    return PartAnswer(ok=True, figures=(BENCHMARK,))


def test_a_part_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(all_parts, "call", lambda part: asked.append(part) or answers(part))
    out = tmp_path / "new" / "bench.json"
    assert cli(["bench", "all", "--out", str(out)]) == 20
    assert [part[0] for part in asked] == list(all_parts.PARTS)
    told = capsys.readouterr()
    assert "lanes: not measured: not root" in told.out
    assert told.out.count("as found") == len(all_parts.PARTS) - 1
    written = json.loads(out.read_text())
    assert not written["ok"]
    assert written["parts"][0]["figures"][0]["median"] == 2.0
    measured = all_parts.read_machine(out)
    assert measured.kernel == platform.release()
    assert measured.machine == platform.node()
    assert measured.parts[0].figures == (BENCHMARK,)
    assert {part.commit for part in measured.parts} == {all_parts.commit()}


def test_parts_are_measured_again_one_by_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(all_parts, "call", answers)
    out = tmp_path / "bench.json"
    ask = ["bench", "all", "--out", str(out), "--machine", "mine"]
    assert cli([*ask, "--part", "virtual", "--part", "replay"]) == 0
    first = all_parts.read_machine(out)
    assert [part.part for part in first.parts] == ["replay", "virtual"]

    faster = BENCHMARK.model_copy(update={"values": (9.0,)})
    again = PartAnswer(ok=True, figures=(faster,))
    monkeypatch.setattr(all_parts, "call", lambda part: again)
    assert cli([*ask, "--part", "replay"]) == 0
    second = all_parts.read_machine(out)
    assert second.parts[0].figures == (faster,)
    assert second.parts[1] == first.parts[1]

    capsys.readouterr()
    assert cli(["bench", "all", "--part", "flight"]) == 2
    assert "--part flight: must be one of startup, replay" in capsys.readouterr().err
    ask[-1] = "another"
    assert cli([*ask, "--part", "replay"]) == 2
    assert "is of another machine or kernel (mine: " in capsys.readouterr().err
    assert all_parts.read_machine(out) == second


def test_what_was_measured_before_an_interrupt_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(part: Sequence[str]) -> PartAnswer:
        if part[0] == "virtual":
            raise Interrupted("stopped")
        return answers(part)

    monkeypatch.setattr(all_parts, "call", stopped)
    out = tmp_path / "bench.json"
    assert cli(["bench", "all", "--out", str(out)]) == 130
    assert [part.part for part in all_parts.read_machine(out).parts] == ["startup", "replay"]


def test_what_bench_did_not_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.json: cannot be read: No such file"):
        all_parts.read_machine(tmp_path / "none.json")
    for text in ("", "[]", "{}", '{"parts": [{}]}', '{"parts": []}', '{"parts": 5}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ConfigError, match=r"x.json: is no file of `nashbed bench all`"):
            all_parts.read_machine(tmp_path / "x.json")


@pytest.mark.slow
def test_a_part_is_a_process_of_its_own() -> None:
    answer = all_parts.call(["analysis", "--postcards", "2000", "--repetitions", "1"])
    assert {each.name for each in answer.figures} == {
        "analysis_mpostcards_per_s", "analysis_peak_mib",
    }  # fmt: skip
    refused = all_parts.call(["analysis", "--postcards", "1"])
    assert (refused.ok, "--postcards" in refused.error) == (False, True)


def test_ctrl_c_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "SCRIPT", "raise SystemExit(130)")
    with pytest.raises(Interrupted):
        all_parts.call(["replay"])
