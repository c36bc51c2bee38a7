"""A command that needs the machine for itself: who waits says for whom."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from nashbed import place
from nashbed.controlplane.cli import where
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.host.runs import OnWait, StateFile, own_state, read_states

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the machine was reserved for; another run ends after it was asked three times."""
    asked: list[str] = []

    @contextmanager
    def reserved(what: str, on_wait: OnWait | None) -> Iterator[None]:
        asked.append(what)
        for _ in range(3 if on_wait else 0):
            assert on_wait is not None
            on_wait(own_state("ab12", "/results/other"))
        yield

    monkeypatch.setattr(place, "reserved", reserved)
    monkeypatch.setattr(place, "require_root", lambda: None)
    return asked


def test_who_waits_says_for_whom_once(asked: list[str], testbed: Testbed, capsys: Capture) -> None:
    with where.machine_for(testbed, Path("/results"), wait=True):
        assert asked == ["/results"]
    said = capsys.readouterr().err.splitlines()
    pid = own_state("", "").pid
    assert said == [f"waiting for the run in /results/other (pid {pid}) to end"]


def test_who_does_not_wait_says_nothing(
    asked: list[str], testbed: Testbed, capsys: Capture
) -> None:
    with where.machine_for(testbed, "nashbed bench lanes", wait=False):
        assert asked == ["nashbed bench lanes"]
    assert capsys.readouterr().err == ""


def test_virtual_time_excludes_nobody_and_clears_up(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "guests_folder", lambda: tmp_path)
    dead = own_state("ab12-1-0", "/results/gone").model_copy(update={"pid": 2**22 + 1})
    StateFile(dead, tmp_path)
    with where.machine_for(Testbed(name="v", target="virtual"), "x", wait=False):
        assert asked == []
        assert read_states(tmp_path) == []
