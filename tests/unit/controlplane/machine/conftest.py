"""Sessions in virtual time with the stand-in for a guest."""

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.machine.guest.session import GuestSession
from nashbed.controlplane.machine.process.managed import ManagedProcess
from tests.support import guests


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sessions have their folders; its path is short, as sockets need it."""
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


@pytest.fixture
def make_session(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., GuestSession]]:
    """Opens sessions whose guests are the stand-in."""
    guests.use_kernel(monkeypatch.setattr, guests.fake_kernel(tmp_path))
    made: list[GuestSession] = []

    def make(standstill_s: float = 60.0, **changes: Any) -> GuestSession:
        made.append(GuestSession(guests.session_request(tmp_path, **changes), standstill_s))
        made[-1].open()
        return made[-1]

    yield make
    for session in made:
        session.close()


@pytest.fixture
def session(make_session: Callable[..., GuestSession]) -> GuestSession:
    made = make_session()
    guests.boot(made)
    return made


Start = Callable[..., ManagedProcess]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a process that goes by its steps."""

    def start_one(session: GuestSession, *steps: dict[str, Any]) -> ManagedProcess:
        config = tmp_path / f"steps-{len(list(tmp_path.glob('steps-*')))}.json"
        config.write_text(json.dumps(steps))
        return session.start_flows("snd", config, 0)

    return start_one
