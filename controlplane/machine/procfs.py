"""What /proc says about a process: its fields, and enough to recognise it later."""

from __future__ import annotations

from pathlib import Path


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None when there is none."""
    fields = stat_fields(pid)
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


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
