"""hosts/uml/edits.py: the edits of a kernel's source, on small fake trees."""

import subprocess
import sys
from pathlib import Path

import pytest
from nashbed.controlplane.machine.paths import UML
from tests.support.kernel_source import EDITS, make_tree

RELEASES = [(5, 10), (6, 1), (6, 12), (7, 2), (7, 3)]


def contents(tree: Path) -> dict[str, bytes]:
    return {str(p.relative_to(tree)): p.read_bytes() for p in tree.rglob("*") if p.is_file()}


@pytest.mark.parametrize("release", RELEASES)
def test_every_edit_of_a_release_is_made(release: tuple[int, int], tmp_path: Path) -> None:
    tree = make_tree(tmp_path, release)
    assert EDITS.edit_tree(tree) == release
    for edit in EDITS.edits_of(release):
        for change in edit.changes:
            assert change.text in (tree / change.path).read_text()
    for name in EDITS.DRIVER:
        assert (tree / EDITS.DRIVERS / name).read_bytes() == (UML / name).read_bytes()


@pytest.mark.parametrize("release", RELEASES)
def test_each_missing_anchor_is_named_with_its_file(
    release: tuple[int, int], tmp_path: Path
) -> None:
    """And nothing has been written: the other files are as they were."""
    for number, edit in enumerate(EDITS.edits_of(release)):
        change = edit.changes[0]
        tree = make_tree(tmp_path / str(number), release)
        path = tree / change.path
        path.write_text(path.read_text().replace(change.anchor, ""))
        before = contents(tree)
        with pytest.raises(EDITS.EditError) as unknown:
            EDITS.edit_tree(tree)
        message = str(unknown.value)
        assert message.startswith(f"{change.path}: `{change.anchor.strip().splitlines()[0]}` is ")
        assert edit.reason in message
        assert f"release {release[0]}.{release[1]} is not one" in message
        assert "hosts/uml/README.md" in message
        assert contents(tree) == before


def test_an_anchor_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, (6, 1))
    change = EDITS.MEMORY.changes[0]
    path = tree / change.path
    path.write_text(path.read_text() + change.anchor)
    with pytest.raises(EDITS.EditError, match=f"^{change.path}: .* is there 2 times"):
        EDITS.edit_tree(tree)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, (6, 1))
    (tree / "drivers/char/random.c").unlink()
    with pytest.raises(EDITS.EditError, match=r"^drivers/char/random.c: missing; .*release 6\.1 "):
        EDITS.edit_tree(tree)


def test_twice_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, (6, 1))
    EDITS.edit_tree(tree)
    before = contents(tree)
    with pytest.raises(EDITS.EditError, match="has been edited before; start from a fresh"):
        EDITS.edit_tree(tree)
    assert contents(tree) == before


def test_what_is_no_source_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EDITS.EditError, match="not a Linux source tree: it has no Makefile"):
        EDITS.edit_tree(tmp_path)
    (tmp_path / "Makefile").write_text("all:\n")
    with pytest.raises(EDITS.EditError, match="not a Linux source tree, or one without arch/um"):
        EDITS.edit_tree(tmp_path)


def test_the_script_tells_what_it_does_and_why(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, (6, 1))
    command = [sys.executable, str(UML / "edits.py"), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == len(EDITS.edits_of((6, 1)))
    assert (
        "what is random depends on the seed alone, not on the host (arch/um/os-Linux/util.c)"
        in (done.stdout)
    )
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.startswith(f"edits.py: {tree}: has been edited before")
