"""A run from Python that cannot start; those that do are in tests/e2e/test_from_python.py."""

from pathlib import Path

import nashbed as nb
import pytest
from nashbed import running
from tests.support.held_machine import SMALL, watch_machine


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was taken and given back."""
    return watch_machine(monkeypatch)


def test_what_cannot_start_gives_the_machine_back(
    held: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise nb.HostError("no room")

    monkeypatch.setattr(running, "check_host", refuse)
    with pytest.raises(nb.HostError, match="no room"):
        nb.start(SMALL, "virtual", tmp_path)
    assert held == ["taken", "given back"]
    assert list(tmp_path.iterdir()) == []
