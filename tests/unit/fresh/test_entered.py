"""A command in a machine: what it sees of this one, and what is left of it. Root."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fresh import machine as machines
from tests.fresh.machine import FreshError, Machine, mark, remove

pytestmark = pytest.mark.root

NAMESPACES = ("mnt", "pid", "ipc", "uts")


def quiet(line: str) -> None:
    """Shows nothing."""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine whose root is this one's files, seen through a layer that takes what it writes."""
    made = Machine("bare-test", tmp_path / "machine")
    mark(made.folder)
    (tmp_path / "layer").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "layer", tmp_path / "layer"], check=True)
    for folder in (made.root, tmp_path / "layer" / "upper", tmp_path / "layer" / "work"):
        folder.mkdir()
    layers = f"lowerdir=/,upperdir={tmp_path}/layer/upper,workdir={tmp_path}/layer/work"
    mounted = subprocess.run(
        ["mount", "-t", "overlay", "-o", layers, "overlay", made.root], check=False
    )
    try:
        if mounted.returncode != 0:
            pytest.skip("this kernel has no overlay file system")
        yield made
    finally:
        subprocess.run(["umount", made.root], check=mounted.returncode == 0)
        subprocess.run(["umount", tmp_path / "layer"], check=True)
        remove(made.folder)


def said(machine: Machine, script: str, log: Path) -> str:
    """What a script says that must succeed."""
    ended = machine.run(script, log, quiet, 60)
    assert ended.code == 0, log.read_text()
    return log.read_text()


def test_a_command_is_alone(machine: Machine, tmp_path: Path) -> None:
    links = " ".join(f"/proc/self/ns/{name}" for name in NAMESPACES)
    script = f"readlink {links}; cat /proc/sys/kernel/hostname; ls /dev/shm; echo /proc/[0-9]*"
    *inside, name, processes = said(machine, script, tmp_path / "log").splitlines()
    assert len(inside) == len(NAMESPACES)
    assert not set(inside) & {str(Path(f"/proc/self/ns/{name}").readlink()) for name in NAMESPACES}
    assert name == "bare-test"
    assert "/proc/1" in processes.split()
    assert len(processes.split()) < 5


def test_this_machine_does_not_see_what_it_writes_and_mounts(
    machine: Machine, tmp_path: Path
) -> None:
    before = machines.mount_points()
    script = "echo x > /etc/of-the-machine; mkdir /run/there; mount -t tmpfs none /mnt; ls /run"
    assert "there" in said(machine, script, tmp_path / "log")
    assert (tmp_path / "layer" / "upper" / "etc" / "of-the-machine").read_text() == "x\n"
    assert not Path("/etc/of-the-machine").exists()
    assert not Path("/run/there").exists()
    assert machines.mount_points() == before


def test_its_processes_end_with_it_or_with_its_time(machine: Machine, tmp_path: Path) -> None:
    seconds = "4321.25"
    script = f"setsid sleep {seconds} > /dev/null 2>&1 & [ $1 ] && sleep {seconds}"
    ends, stays = (script.replace("$1", word) for word in ("", "1"))
    assert machine.run(f"{ends} || true", tmp_path / "log", quiet, 60).code == 0
    assert sleeping(seconds) == []
    assert machine.run(stays, tmp_path / "log", quiet, 1).code is None
    assert sleeping(seconds) == []


def test_its_processes_end_with_who_started_it(machine: Machine, tmp_path: Path) -> None:
    """Even where that is killed and can end nothing itself."""
    seconds = "4322.25"
    script = machine.command(f"sleep {seconds}")
    starter = subprocess.Popen(
        ["python3", "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])", *script]
    )
    wait_until(lambda: sleeping(seconds) != [])
    starter.kill()
    starter.wait()
    wait_until(lambda: sleeping(seconds) == [])


def test_what_is_mounted_is_not_removed(machine: Machine) -> None:
    with pytest.raises(FreshError, match="is mounted there"):
        remove(machine.folder)
    assert (machine.root / "etc" / "passwd").is_file()


def sleeping(seconds: str) -> list[str]:
    """The processes that sleep so long."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", seconds.encode()]:
            found.append(path.parent.name)
    return found


def wait_until(condition: object) -> None:
    """Wait for something to be so."""
    assert callable(condition)
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
