"""The part `startup`: every command is timed in a process of its own, a failure is an error."""

import json

import pytest
from nashbed.controlplane.bench import startup
from nashbed.controlplane.bench.startup import COMMANDS, bench_startup
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.errors import InternalError


@pytest.mark.slow
def test_help_and_validate_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "SCRIPT", "import time; time.sleep(0.05)")
    steps: list[tuple[str, int, int]] = []
    benchmarks = bench_startup(2, lambda *step: steps.append(step))
    assert [each.name for each in benchmarks] == list(COMMANDS)
    assert [(each.wanted, each.sense) for each in benchmarks] == [
        (0.3, "at most"),
        (0.8, "at most"),
    ]
    for each in benchmarks:
        assert len(each.values) == 2  # the warm-up does not count
        assert each.low > 0.05
    assert steps == [("warm-up", 0, 3), ("start-up", 1, 3), ("start-up", 2, 3)]


def test_a_command_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "SCRIPT", "raise SystemExit('no scenario')")
    with pytest.raises(InternalError, match=r"`nashbed --help` failed: no scenario"):
        bench_startup(1, lambda *_: None)


@pytest.mark.slow
def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["bench", "startup", "--repetitions", "1", "--json"]) in (0, 20)
    assert json.loads(capsys.readouterr().out)["part"] == "startup"
