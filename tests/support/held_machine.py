"""A small scenario for runs from Python, and a machine that tells when it is taken."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from nashbed import running

SMALL = {
    "name": "small",
    "title": "A small one",
    "bottleneck": {"rate": "10mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 2, "base_rtt": "10ms"}],
    "strategies": ["cubic", "bbr"],
    "duration": "2s",
    "warmup": "500ms",
    "trials": 1,
}


def watch_machine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is taken and given back by runs from now on, in their order."""
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
