"""A run from Python that cannot start; those that do are in tests/e2e/test_from_python.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nashbed as nb
import pytest
from nashbed import running

SCENARIO = {
    "name": "small",
    "title": "A small one",
    "bottleneck": {"rate": "10mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 2, "base_rtt": "10ms"}],
    "strategies": ["cubic", "bbr"],
    "duration": "2s",
    "warmup": "500ms",
}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was taken and given back."""
    events: list[str] = []

    @contextmanager
    def machine_for(testbed: object, what: object, on_wait: object) -> Iterator[None]:
        events.append("taken")
        try:
            yield
        finally:
            events.append("given back")

    monkeypatch.setattr(running, "machine_for", machine_for)
    return events


def test_what_cannot_start_gives_the_machine_back(
    held: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise nb.HostError("no room")

    monkeypatch.setattr(running, "check_host", refuse)
    with pytest.raises(nb.HostError, match="no room"):
        nb.start(SCENARIO, "virtual", tmp_path)
    assert held == ["taken", "given back"]
    assert list(tmp_path.iterdir()) == []
