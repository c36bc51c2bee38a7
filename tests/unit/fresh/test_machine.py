"""What `make fresh` takes from this machine, and what it never removes or writes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fresh import machine as machines
from tests.fresh.__main__ import chosen_of
from tests.fresh.machine import (
    FreshError,
    Machine,
    follow,
    hand_over,
    handed_on,
    mark,
    remove,
    sources,
)


def test_a_suite_has_the_mirrors_of_this_machine() -> None:
    targets = "Node https://b.example\nDebian http://a.example/debian\n" + (
        "Debian http://later.example\nDebian-Security http://s.example\n"
    )
    lines = [line.split("] ")[1] for line in sources("trixie", targets)]
    assert lines == [
        "http://a.example/debian trixie main",
        "http://a.example/debian trixie-updates main",
        "http://s.example trixie-security main",
    ]
    assert [line.split("] ")[1] for line in sources("sid", targets)] == [
        "http://a.example/debian sid main"
    ]
    assert sources("trixie", "Ubuntu http://u.example\n") == []


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


def test_a_copy_has_a_name_of_its_own(tmp_path: Path) -> None:
    base, copy = (Machine(name, tmp_path / name) for name in ("base", "copy"))
    mark(base.folder)
    (base.root / "etc").mkdir(parents=True)
    (base.root / "etc" / "link").symlink_to("/nowhere")
    machines.copy_of(base, copy)
    assert "127.0.1.1 copy\n" in (copy.root / "etc" / "hosts").read_text()
    assert (copy.root / "etc" / "link").is_symlink()
    assert list((base.root / "etc").iterdir()) == [base.root / "etc" / "link"]


def test_a_command_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    script = "import subprocess as s; s.run(['sleep', '1000'])"
    shown: list[str] = []
    ended = follow([sys.executable, "-c", f"print('begun', flush=True); {script}"],
                   tmp_path / "log", shown.append, 1.5)  # fmt: skip
    assert ended.code is None
    assert shown[0] == "begun"


def test_a_command_that_ends_tells_its_code(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = follow(["sh", "-c", "echo one; echo two; exit 3"], log, lambda line: None, 60)
    assert (ended.code, log.read_text()) == (3, "one\ntwo\n")


def test_nothing_is_left_after_an_interruption(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        if line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(["sh", "-c", "echo $$; exec sleep 1000"], tmp_path / "log", interrupt, 60)
    pid = int((tmp_path / "log").read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_unknown_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen_of(["--roots", "trixie", "--steps", "test run"]).steps == ["test", "run"]
    with pytest.raises(SystemExit):
        chosen_of(["--into", "no-such-file.md"])
    assert "no-such-file.md: no such file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        chosen_of(["--roots", "trixie potato"])
    assert "--roots: potato: there are trixie bookworm sid" in capsys.readouterr().err


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
