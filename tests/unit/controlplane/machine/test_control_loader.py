"""The process that holds controls: what it says, how it refuses, and its end. With a fake."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.contract.control import ControlFile
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.machine.controls import loader
from nashbed.controlplane.machine.controls.loader import (
    ControlsLostError,
    RegisteredControls,
    try_loading,
)
from nashbed.controlplane.machine.controls.objects import ControlObject
from nashbed.controlplane.machine.host.runs import StateFile, own_state

FAKE = Path(__file__).resolve().parents[3] / "fakes" / "nashbed_cc.py"


def made(control: ControlFile) -> ControlObject:
    return ControlObject(control.name, Path(f"/x/{control.name}.bpf.o"), "", "a test")


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "CONTROL_LOADER", FAKE)
    monkeypatch.setattr(loader, "object_of", made)


def controls(*names: str) -> list[ControlFile]:
    return [ControlFile(name, Path(f"{name}.c"), "") for name in names]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[RegisteredControls, StateFile]]:
    state = StateFile(own_state("ab12", tmp_path), tmp_path)
    registered = RegisteredControls(controls("bbr3", "mycc"), state)
    yield registered, state
    registered.close()


def test_it_holds_them_until_it_is_closed(held: tuple[RegisteredControls, StateFile]) -> None:
    registered, state = held
    assert registered.maps == {"bbr3": 40, "mycc": 41}
    assert [child.pid for child in state.state.processes] == [registered.pid]
    registered.require_held()
    registered.close()
    assert state.state.processes == ()
    registered.close()


def test_its_death_is_said(held: tuple[RegisteredControls, StateFile]) -> None:
    registered, _ = held
    os.kill(registered.pid, signal.SIGKILL)
    os.waitid(os.P_PID, registered.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(
        ControlsLostError, match="nashbed-cc ended in mid-trial, and with it went bbr3"
    ):
        registered.require_held()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("verifier", "bbr3: the verifier refuses it: R6 invalid mem access 'scalar', at mycc.c:22"),
        ("name_taken", "bbr3: not taken: bbr3; rename the file"),
        ("not_permitted", "bbr3: not taken: bbr3"),
    ],
)
def test_a_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch, fault: str, said: str) -> None:
    monkeypatch.setenv("FAKE_CC", fault)
    with pytest.raises(HostError) as caught:
        RegisteredControls(controls("bbr3"))
    assert caught.value.message.startswith(said)
    kind = HostError if fault == "not_permitted" else ConfigError
    with pytest.raises(kind) as tried:
        try_loading(made(controls("bbr3")[0]))
    assert tried.value.message.startswith(said)


def test_one_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CC", "silent")
    monkeypatch.setattr(loader, "READY_TIMEOUT_S", 0.3)
    with pytest.raises(HostError, match="nashbed-cc did not report 'ready' within"):
        RegisteredControls(controls("bbr3"))


def test_trying_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    try_loading(made(controls("bbr3")[0]))
    monkeypatch.setenv("FAKE_CC", "dies")
    with pytest.raises(HostError, match="nashbed-cc: nashbed-cc: dying as asked"):
        try_loading(made(controls("bbr3")[0]))


def test_it_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "CONTROL_LOADER", Path("/nowhere/nashbed-cc"))
    with pytest.raises(HostError, match="/nowhere/nashbed-cc: not built; run `make build`"):
        RegisteredControls(controls("bbr3"))
