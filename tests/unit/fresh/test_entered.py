"""A command in a machine: what it sees of this one, and what is left of it. Root."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fresh import machine as machines
from tests.fresh.machine import FreshError, Machine, mark, remove

pytestmark = pytest.mark.root


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


def test_what_is_mounted_is_not_removed(machine: Machine) -> None:
    with pytest.raises(FreshError, match="is mounted there"):
        remove(machine.folder)
    assert (machine.root / "etc" / "passwd").is_file()
