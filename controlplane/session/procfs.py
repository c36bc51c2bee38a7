"""What /proc says about a process, enough to know it again after its pid was reused."""

from __future__ import annotations

from pathlib import Path


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and brackets: fields are counted after its last one.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def executable(pid: int) -> str | None:
    """Path of a process's executable, or None when it cannot be told."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None
