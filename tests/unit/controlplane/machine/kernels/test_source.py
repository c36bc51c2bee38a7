"""Where a kernel's source comes from: apt's answers, archives, trees."""

import tarfile
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.machine.kernels import source
from nashbed.controlplane.machine.kernels.source import (
    AptLists,
    Archive,
    DebianPackage,
    Tree,
    choose_release,
    find_source,
)

SEARCHED = """\
linux-source-6.1 - Linux kernel source for version 6.1 with Debian patches
linux-source-6.12 - Linux kernel source for version 6.12 with Debian patches
"""
SHOWN = "Package: linux-source-6.12\nVersion: 6.12.95-1~bpo12+1\nSize: 153476148\nSHA256: 0\n"


class Apt:
    """Stands for apt: answers of the machine's lists, and of those that are loaded."""

    def __init__(self, own: str, loaded: str = "", other: str = "") -> None:
        self.searched = {"own": own, "machine": loaded, "other": other}
        self.calls: list[tuple[str, ...]] = []

    def run(self, lists: AptLists, *args: str) -> str:
        name = lists.folder.name if lists.folder else "own"
        self.calls.append((name, *args[:2]))
        return {"search": self.searched[name], "show": SHOWN}.get(args[1], "")


def use(monkeypatch: pytest.MonkeyPatch, apt: Apt) -> Apt:
    def answer(lists: AptLists, *args: str) -> str:
        return apt.run(lists, *args)

    monkeypatch.setattr(AptLists, "run", answer)
    monkeypatch.setattr(source.shutil, "which", lambda name: f"/usr/bin/{name}")
    return apt


def test_the_usual_release_is_61_or_else_the_newest() -> None:
    assert choose_release(["6.12", "6.1"], "") == "6.1"
    assert choose_release(["7.3", "6.12"], "") == "7.3"
    assert choose_release(["6.12", "6.1"], "6.12") == "6.12"
    assert choose_release(["6.8.0"], "6.8") == "6.8.0"
    assert choose_release(["6.12", "6.1"], "5.10") == ""
    assert choose_release([], "") == ""


def test_what_the_machines_lists_know_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = use(monkeypatch, Apt(SEARCHED))
    source = find_source("6.12", tmp_path)
    assert source == DebianPackage(AptLists(), "linux-source-6.12", "6.12.95-1~bpo12+1", 153476148)
    assert source.package == "linux-source-6.12 6.12.95-1~bpo12+1"
    assert {call[0] for call in apt.calls} == {"own"}


def test_lists_are_loaded_where_the_machine_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = use(monkeypatch, Apt("", SEARCHED))
    source = find_source("", tmp_path)
    assert isinstance(source, DebianPackage)
    assert (source.name, source.lists.folder) == ("linux-source-6.1", tmp_path / "machine")
    assert ("machine", "apt-get", "-q") in apt.calls


def test_other_suites_are_asked_for_a_release_by_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apt = use(monkeypatch, Apt(SEARCHED, SEARCHED, "linux-source-5.10 - Linux kernel source\n"))
    source = find_source("5.10", tmp_path / "a")
    assert isinstance(source, DebianPackage)
    assert (source.name, source.lists.folder) == ("linux-source-5.10", tmp_path / "a" / "other")
    suites = (tmp_path / "a" / "other" / "parts" / "other.list").read_text()
    assert "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg" in suites
    apt.searched = {"own": "", "machine": "", "other": SEARCHED}
    with pytest.raises(HostError, match=r"^apt knows no package linux-source-X \(it knows none\)"):
        find_source("", tmp_path / "b")


def test_a_release_that_nobody_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Apt(SEARCHED, SEARCHED, SEARCHED))
    with pytest.raises(HostError) as none:
        find_source("5.4", tmp_path)
    assert none.value.message == (
        "apt knows no package linux-source-5.4 (it knows 6.1, 6.12): check the network and apt's "
        "sources, or give a source: make virtual KERNEL=/path/to/linux-source-X.tar.xz"
    )


def test_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source.shutil, "which", lambda name: None)
    with pytest.raises(HostError, match=r"apt-get: not installed.*KERNEL=/path"):
        find_source("", tmp_path)


@pytest.mark.parametrize("wanted", ["/no/such/file.tar.xz", "newest", "6"])
def test_what_is_neither_release_nor_path(wanted: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^KERNEL={wanted}: no such file or folder, and not a"):
        find_source(wanted, tmp_path)


def test_an_archive_is_unpacked_without_what_is_not_needed(tmp_path: Path) -> None:
    needed = ("Makefile", "drivers/gpu/Kconfig", "arch/um/time.c", "arch/arm64/Kconfig")
    spared = ("drivers/gpu/drm/a.c", "arch/arm64/kernel/a.c", "Documentation/a.rst")
    top = tmp_path / "linux-source-6.1"
    for name in (*needed, *spared):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    path = tmp_path / "source.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(top, top.name)
    source = find_source(str(path), tmp_path)
    assert source == Archive(path)
    assert source.package.startswith("sha256:")
    tree = tmp_path / "tree"
    tree.mkdir()
    source.unpack(tree, tmp_path / "log", print)
    assert {str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()} == set(needed)


def test_a_tree_is_copied_and_known_by_what_is_in_it(tmp_path: Path) -> None:
    top = tmp_path / "linux"
    (top / ".git").mkdir(parents=True)
    (top / ".git" / "HEAD").write_text("main")
    (top / "Makefile").write_text("VERSION = 6\n")
    source = find_source(str(top), tmp_path)
    assert source == Tree(top)
    before = source.package
    (top / ".git" / "HEAD").write_text("other")
    assert source.package == before
    (top / "Makefile").write_text("VERSION = 7\n")
    assert source.package != before
    tree = tmp_path / "copy"
    tree.mkdir()
    source.unpack(tree, tmp_path / "log", print)
    assert [p.name for p in tree.iterdir()] == ["Makefile"]
