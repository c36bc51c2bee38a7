"""What /proc says about a process: its fields, and enough to recognise it later."""

from __future__ import annotations

import contextlib
from pathlib import Path


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None when there is none."""
    fields = stat_fields(pid)
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


def session_members(session: int) -> list[int]:
    """Processes of a session, its leader included."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if (fields := stat_fields(pid)) and int(fields[3]) == session]


def stat_fields(pid: int) -> list[str] | None:
    """The fields of a process's stat from its state on, or None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and brackets: fields are counted after its last one.
    return stat.rpartition(")")[2].split()


def executable(pid: int) -> str | None:
    """Path of a process's executable, or None when it cannot be read."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None


def peak_memory_bytes(pid: int) -> int:
    """The most memory that a process has had (VmHWM of proc(5)); 0 where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    lines = (line.split() for line in status.splitlines() if line.startswith("VmHWM:"))
    return next((int(words[1]) * 1024 for words in lines), 0)


def threads_named(prefix: str, folder: Path = Path("/proc")) -> dict[str, int]:
    """Processes and kernel threads whose names begin with a prefix: name -> process id."""
    found = {}
    for path in folder.glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            name = path.read_text(errors="replace").strip()
            if name.startswith(prefix):
                found[name] = int(path.parent.name)
    return found


def command_lines(folder: Path = Path("/proc")) -> dict[int, list[str]]:
    """The arguments of every process that this user may see, by its id."""
    found = {}
    for path in folder.glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found[int(path.parent.name)] = path.read_text(errors="replace").split("\0")[:-1]
    return found
