"""Remove what a run made: at its end, or when a later start finds it dead."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

from ..contract.errors import HostError
from . import namespaces
from .log import LOG
from .state import STATE_DIR, ChildProcess, RunState, read_states
from .waiting import poll

HUGE_PAGE_MOUNTS = Path("/proc/mounts")
RUNTIME_DIR = Path("/var/run/dpdk")


def remove_run(state: RunState) -> list[str]:
    """Remove a run's processes, interfaces, namespaces and files; returns what is left."""
    left = [f"process {child.pid}" for child in state.processes if not _end(child)]
    if state.namespaces:
        left += namespaces.remove(state.namespaces, state.interfaces)
    if state.huge_prefix:
        _remove_huge_files(state.huge_prefix)
    if state.scratch:
        shutil.rmtree(state.scratch, ignore_errors=True)
    return left


def remove_dead_runs(folder: Path = STATE_DIR) -> list[RunState]:
    """Find runs whose process is gone and remove what they left; returns them.

    Raises:
        HostError: A run is alive (two would spoil each other), or something stays.
    """
    dead = []
    for path, state in read_states(folder):
        if state is None:
            raise HostError(f"{path}: damaged state file; look what it names, then remove it")
        if state.pid != os.getpid() and state.is_alive():
            raise HostError(
                f"another run (pid {state.pid}, {state.run_dir}) is using this machine; "
                "wait for its end or stop it"
            )
        LOG.warning("removing what the dead run in %s left behind", state.run_dir)
        left = remove_run(state)
        if left:
            raise HostError(f"cannot remove {', '.join(left)}, left by a run that was killed")
        path.unlink(missing_ok=True)
        dead.append(state)
    return dead


def _end(child: ChildProcess) -> bool:
    """Kill exactly this process; a later one that has its pid is left alone."""
    if not child.is_alive():
        return True
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    poll(
        lambda: None if child.is_alive() else True,
        5.0,
        lambda: HostError(f"process {child.pid} does not end"),
    )
    return True


def _remove_huge_files(prefix: str) -> None:
    for mount in huge_page_mounts():
        for path in mount.glob(f"{prefix}map_*"):
            path.unlink(missing_ok=True)
    shutil.rmtree(RUNTIME_DIR / prefix, ignore_errors=True)


def huge_page_mounts(mounts: Path = HUGE_PAGE_MOUNTS) -> list[Path]:
    """Where hugetlbfs is mounted."""
    lines = (line.split() for line in mounts.read_text().splitlines())
    return [Path(fields[1]) for fields in lines if fields[2] == "hugetlbfs"]
