"""A user's own discipline on its way to a data plane: compiled once, its parameters converted."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.disciplines import DisciplineProgram
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.own_discipline import OwnDiscipline, read_own_discipline
from nashbed.controlplane.machine.aqm import loadable as loadable_module
from nashbed.controlplane.machine.aqm import objects
from nashbed.controlplane.machine.aqm.loadable import loadable, written
from nashbed.controlplane.machine.aqm.objects import discipline_object
from nashbed.controlplane.machine.aqm.tool import DisciplineAbout
from nashbed.controlplane.machine.paths import AQM_HEADERS

SOURCE = '#include "more.h"\nint own_thing(void);\nint own_thing(void) { return OWN; }\n'
KINDS = {
    "wait": ("time", 5e6, 1e3, 1e9),
    "depth": ("bytes", 30000, 64, 1e6),
    "room": ("packets", 3, 1, 100),
    "chance": ("probability", 0.1, 0, 1),
    "ecn": ("flag", 0, 0, 1),
    "gain": ("real", 1.5, -2, 8),
    "shift": ("number", 4, 0, 9),
}
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def own(folder: Path, value: int = 1) -> OwnDiscipline:
    folder.mkdir(exist_ok=True)
    (folder / "mine.c").write_text(SOURCE)
    (folder / "more.h").write_text(f"#define OWN {value}\n")
    return read_own_discipline(folder / "mine.c", AQM_HEADERS)


@needs_compiler
def test_it_is_compiled_once_wherever_it_stands(tmp_path: Path, monkeypatch: Any) -> None:
    first = discipline_object(own(tmp_path / "a"))
    assert discipline_object(own(tmp_path / "b", 2)).digest != first.digest
    monkeypatch.setattr(objects, "run_compiler", lambda *_: pytest.fail("compiled again"))
    assert discipline_object(own(tmp_path / "elsewhere")) == first


@needs_compiler
def test_a_damaged_one_is_compiled_again(tmp_path: Path) -> None:
    first = discipline_object(own(tmp_path / "a"))
    whole = first.path.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"own_thing", b"own_think")):
        first.path.write_bytes(damaged)
        assert discipline_object(own(tmp_path / "a")) == first
        assert first.path.read_bytes() == whole


@needs_compiler
def test_its_bytes_do_not_say_where_it_stood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for place in ("a", "longer"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"cache-{place}"))
        digests.add(discipline_object(own(tmp_path / place)).digest)
    assert len(digests) == 1


@needs_compiler
def test_the_compilers_words(tmp_path: Path) -> None:
    mine = own(tmp_path)
    mine.source.write_text("int broken(;\n")
    with pytest.raises(ConfigError, match=r"mine\.c: does not compile\n.*mine\.c:1:"):
        discipline_object(mine)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.c", "none.c: no such file; `nashbed aqm new NAME` writes one"),
        ("codel.c", "codel.c: nashbed has a codel of its own; rename the file"),
        ("mine.txt", "mine.txt: is no C file; write a path such as ./mine.c"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_own_discipline(tmp_path / name, AQM_HEADERS)
    assert caught.value.message.endswith(said)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the program of a discipline with one parameter of each kind, from what is written."""
    parameters = [
        {"name": name, "kind": kind, "default": usual, "min": low, "max": high, "help": ""}
        for name, (kind, usual, low, high) in KINDS.items()
    ]
    about = DisciplineAbout.model_validate({"name": "mine", "help": "", "parameters": parameters})
    made = objects.DisciplineObject(tmp_path / "mine.so", "d" * 64, "cc")
    monkeypatch.setattr(loadable_module, "discipline_object", lambda _: made)
    monkeypatch.setattr(loadable_module, "about_object", lambda _: about)

    def tell(**params: Any) -> DisciplineProgram:
        asked = DisciplineProgram(name="mine", file="./mine.c", parameters=tuple(params.items()))
        return loadable(OwnDiscipline("mine", tmp_path / "mine.c", "e" * 64), asked)

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
