"""Memory that is left for guests: of the machine, of our control groups, and of /dev/shm."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - where the kernel maps the guest's memory from
"""Where a guest's kernel keeps its memory: a file without a name."""
NO_LIMIT_BYTES = 2**60
"""A control group's limit from here on is none: version 1 writes the largest number there is."""

MEMORY_PAUSE_S = 60.0
"""How long an attempt waits for memory at most once one before it has failed."""
POLL_S = 0.5


@dataclass(frozen=True)
class MemoryRoom:
    """Memory somewhere.

    Attributes:
        free_bytes: What may still be taken; below 0 where there is more in use than there should.
        total_bytes: What there would be if nobody else had any.
        place: What limits it, in words.
    """

    free_bytes: int
    total_bytes: int
    place: str


@dataclass(frozen=True)
class _GroupFiles:
    """The names that a version of control groups gives to the same things."""

    limit: str
    usage: str
    caches: tuple[str, ...]


_VERSIONS = {
    "cgroup2": _GroupFiles("memory.max", "memory.current", ("inactive_file", "active_file")),
    "cgroup": _GroupFiles(
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
    ),
}


def memory_room(root: Path = ROOT) -> MemoryRoom:
    """What is left here, by whichever limit is the nearest.

    Args:
        root: Below it are /proc, /sys and /dev.
    """
    rooms = [_machine(root), *_shared_memory(root), *_groups(root)]
    nearest = min(rooms, key=lambda room: room.free_bytes)
    total_bytes = min(room.total_bytes for room in rooms)
    return MemoryRoom(nearest.free_bytes, total_bytes, nearest.place)


def await_memory(
    needed_bytes: int,
    timeout_s: float,
    stop: threading.Event | None = None,
    room: Callable[[], MemoryRoom] = memory_room,
) -> None:
    """Wait until so much is left, though not for ever, and not for more than there is.

    Args:
        stop: Ends the wait when set.
    """
    stop = stop or threading.Event()
    deadline = time.monotonic() + timeout_s
    while (now := room()).free_bytes < needed_bytes <= now.total_bytes:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or stop.wait(min(POLL_S, left_s)):
            return


def _machine(root: Path) -> MemoryRoom:
    fields = _numbers(root / "proc/meminfo")
    total_bytes = fields.get("MemTotal", NO_LIMIT_BYTES // 1024) * 1024
    free_bytes = fields.get("MemAvailable", total_bytes // 1024) * 1024
    return MemoryRoom(free_bytes, total_bytes, "this machine")


def _shared_memory(root: Path) -> Iterator[MemoryRoom]:
    try:
        status = os.statvfs(root / MEMORY_FOLDER.relative_to("/"))
    except OSError:
        return
    unit = status.f_frsize
    yield MemoryRoom(status.f_bavail * unit, status.f_blocks * unit, str(MEMORY_FOLDER))


def _groups(root: Path) -> Iterator[MemoryRoom]:
    """Our control groups that limit memory, up the tree."""
    try:
        ours = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
        mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    paths = {
        "cgroup2" if not controllers else "cgroup": path
        for _, controllers, path in (line.split(":", 2) for line in ours)
        if not controllers or "memory" in controllers.split(",")
    }
    for version, shown, point in _hierarchies(mounts):
        top = root / point.lstrip("/")
        below = os.path.relpath(paths.get(version, "/"), shown)
        folder = top if below.startswith("..") else top / below
        while folder != top.parent:
            yield from _group(folder, _VERSIONS[version])
            folder = folder.parent


def _hierarchies(mounts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Version, the group that is shown, and where, of each that may limit memory."""
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            _, _, _, shown, point, *_ = fields.split(" ")
            yield kind, shown, point


def _group(folder: Path, files: _GroupFiles) -> Iterator[MemoryRoom]:
    """A group's room, if it has a limit; what files have cached is given up before that."""
    try:
        limit = int((folder / files.limit).read_text(encoding="utf-8"))
        usage = int((folder / files.usage).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # "max", or the top of the tree, which has no such file
        return
    if limit < NO_LIMIT_BYTES:
        stat = _numbers(folder / "memory.stat")
        cached = sum(stat.get(name, 0) for name in files.caches)
        yield MemoryRoom(limit - usage + cached, limit, f"control group {folder}")


def _numbers(path: Path) -> dict[str, int]:
    """Name -> number, of a file with one of each in a line; empty where there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    words = (line.replace(":", " ").split() for line in lines)
    return {each[0]: int(each[1]) for each in words if len(each) > 1 and each[1].isdigit()}


def peak_memory_bytes(pid: int) -> int:
    """The most memory that a process has had (VmHWM of proc(5)); 0 where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    lines = (line.split() for line in status.splitlines() if line.startswith("VmHWM:"))
    return next((int(words[1]) * 1024 for words in lines), 0)
