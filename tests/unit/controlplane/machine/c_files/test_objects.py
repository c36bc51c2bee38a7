"""What is loaded of a C file: which object is taken, and what is refused."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.machine.c_files import kinds, objects
from nashbed.controlplane.machine.c_files.kinds import CCA, DISCIPLINE, Kind
from nashbed.controlplane.machine.c_files.objects import (
    CObject,
    ebpf_object,
    find_clang,
    require_object_at_hand,
    shared_object,
)
from nashbed.controlplane.machine.paths import AQM_TEMPLATE, CCA_TEMPLATE
from tests.support.programs import needs_program


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CFile:
    """A CCA that is shipped in a folder of its own, with neither object."""
    folder = tmp_path / "cc"
    (folder / "objects").mkdir(parents=True)
    (folder / "bbr3.c").write_text("int bbr3;\n")
    for module in (kinds, objects):
        monkeypatch.setattr(module, "CCA", replace(CCA, headers=folder))
    monkeypatch.setattr(objects, "BUILT_CCAS", tmp_path / "built")
    return kinds.CCA.read(folder / "bbr3.c")


def commit(shipped: CFile, digest: str) -> Path:
    folder = shipped.source.parent / "objects"
    (folder / "digests.json").write_text(json.dumps({shipped.name: digest}))
    (folder / "bbr3.bpf.o").write_bytes(b"committed")
    return folder / "bbr3.bpf.o"


def test_the_committed_object_is_taken_while_it_is_of_the_sources(shipped: CFile) -> None:
    with pytest.raises(HostError, match="bbr3: has no eBPF object here; `apt install clang"):
        ebpf_object(shipped)
    path = commit(shipped, shipped.digest)
    made = ebpf_object(shipped)
    assert (made.name, made.path, made.made_by) == ("bbr3", path, "committed")
    commit(shipped, "0" * 64)
    with pytest.raises(HostError, match=r"bbr3\.bpf\.o: is not of bbr3\.c as it is now"):
        require_object_at_hand(shipped)


def test_what_meson_built_comes_first_unless_it_is_older(shipped: CFile) -> None:
    commit(shipped, shipped.digest)
    built = objects.BUILT_CCAS / "bbr3.bpf.o"
    built.parent.mkdir()
    built.write_bytes(b"built")
    changed_ns = shipped.source.stat().st_mtime_ns
    os.utime(built, ns=(changed_ns, changed_ns))
    assert ebpf_object(shipped).made_by == "built by meson"
    os.utime(built, ns=(changed_ns - 10**9, changed_ns - 10**9))
    assert ebpf_object(shipped).made_by == "committed"


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
KINDS = [
    pytest.param(CCA, CCA_TEMPLATE, ebpf_object, "clang", marks=needs_program("clang")),
    pytest.param(DISCIPLINE, AQM_TEMPLATE, shared_object, "", marks=needs_compiler),
]
Make = Callable[[CFile], CObject]
each_kind = pytest.mark.parametrize(("kind", "template", "make", "made_by"), KINDS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def own(kind: Kind, folder: Path, text: str) -> CFile:
    folder.mkdir(exist_ok=True)
    (folder / "mine.c").write_text(text)
    return kind.read(folder / "mine.c")


@pytest.mark.slow
@each_kind
def test_ones_own_is_compiled_once_and_alike_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    kind: Kind, template: Path, make: Make, made_by: str,
) -> None:  # fmt: skip
    text = template.read_text()
    made = make(own(kind, tmp_path / "one", text))
    assert made.path.read_bytes()[:4] == b"\x7fELF"
    assert made_by in made.made_by
    assert make(own(kind, tmp_path / "changed", f"{text}/* */\n")).path != made.path
    with monkeypatch.context() as context:
        context.setattr(objects, "run_compiler", lambda *_: pytest.fail("in the cache"))
        assert make(own(kind, tmp_path / "another", text)) == made
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another-cache"))
    assert make(own(kind, tmp_path / "another", text)).digest == made.digest


@pytest.mark.slow
@each_kind
def test_a_damaged_object_is_compiled_again(
    tmp_path: Path, kind: Kind, template: Path, make: Make, made_by: str
) -> None:
    mine = own(kind, tmp_path / "one", template.read_text())
    made = make(mine)
    whole = made.path.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"mine", b"mind")):
        made.path.write_bytes(damaged)
        assert make(mine) == made
        assert made.path.read_bytes() == whole


@each_kind
def test_what_does_not_compile_is_shown_and_leaves_nothing(
    tmp_path: Path, cache: Path, kind: Kind, template: Path, make: Make, made_by: str
) -> None:
    said = r"mine\.c: does not compile\n(.*\n)*.*mine\.c:1:.*error(.*\n)*.*int broken"
    with pytest.raises(ConfigError, match=said):
        make(own(kind, tmp_path / "one", "int broken(;\n"))
    assert [path for path in cache.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (CCA, "none.c", "none.c: no such file; `nashbed cc new NAME` writes one"),
        (CCA, "Mine.c", "Mine.c: a congestion control has the name of its file, at most 15 of a-z, "
         "0-9 and _ of which the first is a letter; rename the file"),
        (DISCIPLINE, "none.c", "none.c: no such file; `nashbed aqm new NAME` writes one"),
        (DISCIPLINE, "codel.c", "codel.c: nashbed has a codel of its own; rename the file"),
        (DISCIPLINE, "mine.txt", "mine.txt: is no C file; write a path such as ./mine.c"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, kind: Kind, name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kind.read(tmp_path / name)
    assert caught.value.message == f"{tmp_path}/{said}"


def test_without_clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_clang.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    try:
        with pytest.raises(HostError, match=r"clang is not installed.*`apt install clang llvm lib"):
            require_object_at_hand(own(CCA, tmp_path / "own", CCA_TEMPLATE.read_text()))
    finally:
        find_clang.cache_clear()
