"""A run from Python: an iterator that holds what it runs on, and gives it back."""

import re
from pathlib import Path
from typing import Any

import nashbed as nb
import pytest
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.store.documents import read_document
from tests.support.held_machine import SMALL, watch_machine

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]
TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "python.md"


def _manifest(path: Path) -> Manifest:
    return read_document(path / "manifest.json", Manifest, "run again")


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was taken and given back."""
    return watch_machine(monkeypatch)


def test_a_run_is_iterated_to_its_end(held: list[str], tmp_path: Path) -> None:
    going = nb.start(SMALL, "virtual", tmp_path)
    assert (held, going.plan.expected_trials) == (["taken"], 3)
    states = list(going)
    assert held == ["taken", "given back"]
    assert [states[0].finished, states[-1].finished, states[-1].total] == [0, 3, 3]
    run = going.finish()
    assert [trial.mix["bbr"] for trial in run.trials] == [0, 1, 2]
    assert all(trial.counted for trial in run.trials)
    assert _manifest(run.path).status == "complete"


@pytest.mark.long
def test_what_was_closed_is_resumed(held: list[str], tmp_path: Path) -> None:
    with nb.start(SMALL, "virtual", tmp_path) as going:
        next(going)
        assert held == ["taken"]
    assert held == ["taken", "given back"]
    assert _manifest(going.path).status == "interrupted"
    assert list(going) == []
    with nb.resume(going.path) as again:
        run = again.finish()
    assert held == ["taken", "given back"] * 2
    assert len(run.trials) == 3
    told: list[int] = []
    whole = nb.run(SMALL, "virtual", tmp_path, on_progress=lambda s: told.append(s.finished))
    assert told[-1] == 3
    digests = [[trial.record.digests for trial in each.trials] for each in (run, whole)]
    assert digests[0] == digests[1]


def test_an_error_of_the_caller_stops_the_run(held: list[str], tmp_path: Path) -> None:
    def fail(state: nb.Snapshot) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        nb.run(SMALL, "virtual", tmp_path, on_progress=fail)
    assert held == ["taken", "given back"]
    (path,) = tmp_path.iterdir()
    assert _manifest(path).status == "interrupted"


def test_the_tutorial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that it types, one after the other, with shorter trials."""
    blocks = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks)
    for old, new in (('duration="20s"', 'duration="2s"'), ('warmup="5s"', 'warmup="1s"')):
        assert old in code
        code = code.replace(old, new, 1)  # the models are asked as it says
    monkeypatch.chdir(tmp_path)
    said: dict[str, Any] = {}
    exec(compile(code, TUTORIAL.name, "exec"), said)
    assert "5 of 5" in capsys.readouterr().out
    assert said["trial"].mix == {"cubic": 2, "bbr": 2}
    assert said["figure"].axes
