"""What `make fresh` takes from this machine, and what it never removes or writes."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.fresh import machine as machines
from tests.fresh.machine import (
    FreshError,
    Machine,
    hand_over,
    handed_on,
    mark,
    remove,
)


def test_only_how_the_network_is_reached_is_handed_on() -> None:
    ours = {"https_proxy": "p", "NO_PROXY": "n", "PIP_INDEX_URL": "i", "SSL_CERT_FILE": "c"}
    others = {"PATH": "x", "HOME": "h", "VIRTUAL_ENV": "v", "MAKEFLAGS": "-j", "AWS_SECRET": "s"}
    assert handed_on(ours | others) == ours


def test_a_command_starts_with_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CERT", "/c.pem")
    monkeypatch.setenv("MAKEFLAGS", "k")
    words = Machine("m", Path("/somewhere")).command("make run", "anna")
    at = words.index("env")
    assert words[at + 1] == "-i"
    variables = words[at + 2 : words.index("/bin/sh")]
    assert {"PIP_CERT=/c.pem", "HOME=/home/anna"} <= set(variables)
    assert not any(each.startswith("MAKEFLAGS") for each in variables)
    assert words[-3:] == ["/bin/sh", "-c", "cd /home/anna && make run"]


def test_a_file_is_handed_over_where_there_is_none(tmp_path: Path) -> None:
    ours = tmp_path / "ours" / "ca.pem"
    ours.parent.mkdir()
    ours.write_text("ours")
    root = tmp_path / "root"
    place = root / str(ours).lstrip("/")
    hand_over(ours, root)
    assert place.read_text() == "ours"
    place.write_text("its own")
    hand_over(ours, root)
    assert place.read_text() == "its own"
    hand_over(Path("180"), root)  # a variable's value that is no path
    assert [path.name for path in root.iterdir()] == [tmp_path.parts[1]]


@pytest.mark.parametrize("linked", ["", "ours"])
def test_nothing_is_written_through_a_roots_links(tmp_path: Path, linked: str) -> None:
    """Debian's roots have absolute ones, which mean the host's files when seen from outside."""
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    (hosts / "ca.pem").write_text("the host's")
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "ca.pem").write_text("ours")
    root = tmp_path / "root"
    place = root / str(ours / "ca.pem").lstrip("/")
    if linked:
        place.parent.parent.mkdir(parents=True)
        place.parent.symlink_to(hosts)
        (hosts / "ca.pem").unlink()
    else:
        place.parent.mkdir(parents=True)
        place.symlink_to(hosts / "ca.pem")
    before = sorted(hosts.iterdir())
    hand_over(ours / "ca.pem", root)
    assert sorted(hosts.iterdir()) == before
    assert all(path.read_text() == "the host's" for path in before)


def test_only_what_was_made_here_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    (theirs / "root").mkdir(parents=True)
    with pytest.raises(FreshError, match="was not made here"):
        remove(theirs)
    with pytest.raises(FreshError, match="was not made here"):
        mark(theirs)
    assert (theirs / "root").is_dir()
    ours = tmp_path / "ours"
    mark(ours)
    (ours / "root" / "etc").mkdir(parents=True)
    (ours / "root" / "etc" / "link").symlink_to(theirs)
    monkeypatch.setattr(machines, "mount_points", lambda: ["/", str(ours / "root" / "proc")])
    with pytest.raises(FreshError, match="proc is mounted there"):
        remove(ours)
    monkeypatch.setattr(machines, "mount_points", lambda: ["/", str(tmp_path / "ours-too")])
    remove(ours)
    assert not ours.exists()
    assert (theirs / "root").is_dir()
    remove(ours)


def test_it_needs_nothing_but_pythons_own_library() -> None:
    """Nothing is installed yet where it is called."""
    script = "import sys, tests.fresh.__main__; print(*sys.modules)"
    root = Path(__file__).resolve().parents[3]
    loaded = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True,
                            check=True, cwd=root).stdout.split()  # fmt: skip
    assert "tests.fresh.machine" in loaded
    ours = {"tests", "__main__"}
    others = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names - ours
    assert others == set()
