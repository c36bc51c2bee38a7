"""A user's own discipline as a data plane is told it: its parameters in machine units."""

from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.disciplines import Discipline
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.machine.c_files import loadable as loadable_module
from nashbed.controlplane.machine.c_files.aqm_tool import DisciplineAbout
from nashbed.controlplane.machine.c_files.loadable import loadable, written
from nashbed.controlplane.machine.c_files.objects import CObject

KINDS = {
    "wait": ("time", 5e6, 1e3, 1e9),
    "depth": ("bytes", 30000, 64, 1e6),
    "room": ("packets", 3, 1, 100),
    "chance": ("probability", 0.1, 0, 1),
    "ecn": ("flag", 0, 0, 1),
    "gain": ("real", 1.5, -2, 8),
    "shift": ("number", 4, 0, 9),
}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the program of a discipline with one parameter of each kind, from what is written."""
    parameters = [
        {"name": name, "kind": kind, "default": usual, "min": low, "max": high, "help": ""}
        for name, (kind, usual, low, high) in KINDS.items()
    ]
    about = DisciplineAbout.model_validate({"name": "mine", "help": "", "parameters": parameters})
    made = CObject("mine", tmp_path / "mine.so", "d" * 64, "cc")
    monkeypatch.setattr(loadable_module, "shared_object", lambda _: made)
    monkeypatch.setattr(loadable_module, "about_object", lambda _: about)

    def tell(**params: Any) -> Discipline:
        asked = Discipline(name="mine", file="./mine.c", parameters=tuple(params.items()))
        return loadable(CFile("mine", tmp_path / "mine.c", "e" * 64), asked)

    return tell


def test_parameters_are_converted(told: Any, tmp_path: Path) -> None:
    program = told(wait="2ms", depth="15kB", room=7, chance="25%", ecn=True, gain=2)
    assert program.model_dump() == {
        "name": "mine", "file": str(tmp_path / "mine.so"), "wait_ns": 2_000_000,
        "depth_bytes": 15_000, "room": 7, "chance": 0.25, "ecn": True, "gain": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"waits": "2ms"}, "params.waits: there is no such parameter; it has wait, depth, room, "),
        ({"wait": 5}, "params.wait: '5' has no unit; write a duration such as 40ms"),
        ({"wait": "2s"}, "params.wait: 2s is out of range; write 1us to 1s"),
        ({"depth": "1MiB"}, "params.depth: 1.048576MB is out of range; write 64B to 1MB"),
        ({"room": 1.5}, "params.room: 1.5 is no whole number"),
        ({"room": True}, "params.room: True is no number"),
        ({"chance": "110%"}, "params.chance: 110% is out of range; write 0% to 100%"),
        ({"ecn": 1}, "params.ecn: 1 is neither true nor false"),
        ({"shift": 0.5}, "params.shift: 0.5 is no whole number"),
        ({"gain": "much"}, "params.gain: 'much' is no number"),
        ({"gain": -3}, "params.gain: -3 is out of range; write -2 to 8"),
    ],
)
def test_parameters_that_are_refused(told: Any, params: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        told(**params)
    assert caught.value.message.startswith(f"mine: {said}")


def test_parameters_are_shown_as_they_are_written() -> None:
    shown = [written(kind, default) for kind, default, *_ in KINDS.values()]
    assert shown == ["5ms", "30kB", "3", "10%", "false", "1.5", "4"]
