"""What memory is left: of the machine, of /dev/shm, and of control groups of both versions."""

import threading
from pathlib import Path

import pytest
from nashbed.controlplane.machine.guest.memory import MemoryRoom, await_memory, memory_room
from nashbed.controlplane.machine.process.table import oom_kills

MIB = 2**20
MOUNT = "30 23 0:26 {shown} {point} rw,nosuid shared:9 - {kind} {kind} rw,{options}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with 8 GiB of which 6 are left, and no control group."""
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text(
        f"MemTotal:  {8 * 2**20} kB\nMemFree: 12 kB\nMemAvailable:   {6 * 2**20} kB\n"
    )
    (proc / "vmstat").write_text("nr_free_pages 5\noom_kill 3\n")
    return tmp_path


def group(folder: Path, names: tuple[str, str, str], limit: str, usage: int, cached: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names[:2], (limit, str(usage)), strict=True):
        (folder / name).write_text(f"{text}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cached}\nshmem 6\n")


V2 = ("memory.max", "memory.current", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file")


def mounted(root: Path, ours: str, kind: str, shown: str = "/") -> Path:
    """Mount a hierarchy; returns where."""
    point = "/sys/fs/cgroup" if kind == "cgroup2" else "/sys/fs/cgroup/memory"
    options = "memory" if kind == "cgroup" else "nsdelegate"
    (root / "proc/self/cgroup").write_text(ours)
    line = MOUNT.format(shown=shown, point=point, kind=kind, options=options)
    (root / "proc/self/mountinfo").write_text(line)
    return root / point[1:]


def test_without_groups_the_machine_is_the_limit(root: Path) -> None:
    assert memory_room(root) == MemoryRoom(6 * 2**30, 8 * 2**30, "this machine")
    assert oom_kills(root / "proc/vmstat") == 3


def test_a_group_of_version_2_limits_up_the_tree(root: Path) -> None:
    top = mounted(root, "0::/user/run\n", "cgroup2")
    group(top / "user/run", V2, "max", 100 * MIB, 0)
    group(top / "user", V2, str(2**30), 900 * MIB, 50 * MIB)
    assert memory_room(root) == MemoryRoom(
        (1024 - 900 + 50) * MIB, 2**30, f"control group {top / 'user'}"
    )
    group(top / "user/run", V2, str(300 * MIB), 200 * MIB, 0)
    assert memory_room(root).place == f"control group {top / 'user/run'}"
    assert memory_room(root).free_bytes == 100 * MIB


def test_a_group_of_version_1_limits_too(root: Path) -> None:
    top = mounted(root, "5:cpu,cpuacct:/other\n4:memory:/run\n0::/\n", "cgroup")
    group(top, V1, str(2**63 - 4096), 5 * 2**30, 0)
    group(top / "run", V1, str(2**30), 2**30, 256 * MIB)
    assert memory_room(root) == MemoryRoom(256 * MIB, 2**30, f"control group {top / 'run'}")


def test_a_container_sees_its_own_group_at_the_top(root: Path) -> None:
    top = mounted(root, "4:memory:/docker/ab\n", "cgroup", shown="/docker/ab")
    group(top, V1, str(2**30), 2**29, 0)
    assert memory_room(root).free_bytes == 2**29
    top = mounted(root, "0::/../elsewhere\n", "cgroup2")
    group(top, V2, str(2**28), 0, 0)
    assert memory_room(root).free_bytes == 2**28


def test_shared_memory_limits_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dev/shm").mkdir(parents=True)
    monkeypatch.setattr(
        "nashbed.controlplane.machine.guest.memory.os.statvfs",
        lambda path: type("S", (), {"f_bavail": 64, "f_blocks": 128, "f_frsize": MIB}),
    )
    assert memory_room(root) == MemoryRoom(64 * MIB, 128 * MIB, "/dev/shm")


def test_this_machine_has_some() -> None:
    room = memory_room()
    assert room.free_bytes > 0
    assert room.total_bytes > 0


def test_a_wait_ends_when_memory_is_there() -> None:
    looks = iter([1, 2, 5])
    await_memory(5, 60.0, room=lambda: MemoryRoom(next(looks), 10, "a test"))
    assert next(looks, None) is None


def test_a_wait_is_neither_for_ever_nor_for_more_than_there_is() -> None:
    await_memory(5, 0.01, room=lambda: MemoryRoom(1, 10, "a test"))
    await_memory(5, 3600.0, room=lambda: MemoryRoom(1, 4, "a test"))


def test_a_wait_can_be_stopped() -> None:
    stop = threading.Event()
    stop.set()
    await_memory(5, 3600.0, stop, lambda: MemoryRoom(1, 10, "a test"))
