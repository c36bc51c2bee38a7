"""The object of a CCA: which one is taken, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from nashbed.controlplane.contract.cca import CcaFile, read_cca
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.machine.cca import objects
from nashbed.controlplane.machine.cca.objects import (
    find_clang,
    object_of,
    require_object_at_hand,
)
from nashbed.controlplane.machine.paths import CCA_FOLDER, CCA_TEMPLATE
from tests.support.programs import needs_program


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CcaFile:
    """A CCA that is shipped in a folder of its own, with neither object."""
    folder = tmp_path / "cc"
    (folder / "objects").mkdir(parents=True)
    (folder / "bbr3.c").write_text("int bbr3;\n")
    monkeypatch.setattr(objects, "CCA_FOLDER", folder)
    monkeypatch.setattr(objects, "BUILT_CCAS", tmp_path / "built")
    return read_cca(folder / "bbr3.c", folder)


def commit(shipped: CcaFile, digest: str) -> Path:
    folder = shipped.source.parent / "objects"
    (folder / "digests.json").write_text(json.dumps({shipped.name: digest}))
    (folder / "bbr3.bpf.o").write_bytes(b"committed")
    return folder / "bbr3.bpf.o"


def test_the_committed_object_is_taken_while_it_is_of_the_sources(shipped: CcaFile) -> None:
    with pytest.raises(HostError, match="bbr3: has no eBPF object here; `apt install clang"):
        object_of(shipped)
    path = commit(shipped, shipped.digest)
    made = object_of(shipped)
    assert (made.name, made.path, made.made_by) == ("bbr3", path, "committed")
    commit(shipped, "0" * 64)
    with pytest.raises(HostError, match=r"bbr3\.bpf\.o: is not of bbr3\.c as it is now"):
        require_object_at_hand(shipped)


def test_what_meson_built_comes_first_unless_it_is_older(shipped: CcaFile) -> None:
    commit(shipped, shipped.digest)
    built = objects.BUILT_CCAS / "bbr3.bpf.o"
    built.parent.mkdir()
    built.write_bytes(b"built")
    changed_ns = shipped.source.stat().st_mtime_ns
    os.utime(built, ns=(changed_ns, changed_ns))
    assert object_of(shipped).made_by == "built by meson"
    os.utime(built, ns=(changed_ns - 10**9, changed_ns - 10**9))
    assert object_of(shipped).made_by == "committed"


def own(folder: Path, text: str = "") -> CcaFile:
    folder.mkdir(exist_ok=True)
    (folder / "mycc.c").write_text(text or CCA_TEMPLATE.read_text())
    return read_cca(folder / "mycc.c", CCA_FOLDER)


@needs_program("clang")
def test_ones_own_is_compiled_once_and_alike_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = object_of(own(tmp_path / "one"))
    assert made.path.read_bytes()[:4] == b"\x7fELF"
    assert "clang" in made.made_by
    monkeypatch.setattr(objects, "compile_object", lambda *_: pytest.fail("in the cache"))
    assert object_of(own(tmp_path / "two")) == made
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another-cache"))
    assert object_of(own(tmp_path / "two")).digest == made.digest


def test_a_damaged_object_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "require_clang", lambda: "clang")
    monkeypatch.setattr(objects, "compiler_version", lambda clang: "clang 16")
    monkeypatch.setattr(
        objects, "run_compiler", lambda source, words: Path(words[-1]).write_text("made")
    )
    made = object_of(own(tmp_path / "one"))
    for damaged in ("", "mad", "mode"):
        made.path.write_text(damaged)
        assert object_of(own(tmp_path / "one")) == made
        assert made.path.read_text() == "made"


@needs_program("clang")
def test_what_does_not_compile_is_shown_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(
        ConfigError, match=r"mycc\.c: does not compile\n.*mycc\.c:1:.*error"
    ) as caught:
        object_of(own(tmp_path / "own", "int x\n"))
    assert "int x" in caught.value.message
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_without_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_clang.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    try:
        with pytest.raises(HostError, match=r"clang is not installed.*`apt install clang llvm lib"):
            require_object_at_hand(own(tmp_path / "own"))
    finally:
        find_clang.cache_clear()
