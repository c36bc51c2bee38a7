"""Remove what a run made: at its end, or when a later start finds it dead."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

from ..contract.errors import HostError
from ..store.run_directory import RunDirectory
from ..store.staging import remove_stale, remove_stale_scratch
from . import namespaces
from .backlog import lower_backlog
from .control_build import control_cache
from .kernels import kernel_cache
from .log import LOG
from .nics import give_back
from .polling import poll
from .shield import lower_shield
from .state import STATE_DIR, ChildProcess, RunState, end_descendants, read_states


def remove_run(state: RunState) -> list[str]:
    """Remove a run's processes, interfaces, namespaces and files; returns what is left.

    NICs of this machine are given back as they were.

    The data plane holds its huge pages in anonymous memory (DPDK's --in-memory): they are
    free when its process has ended, and no file is left.
    """
    left = [f"process {child.pid}" for child in state.processes if not _end(child)]
    for nic in state.nics:
        left += give_back(nic)
    if state.namespaces:
        left += namespaces.remove(state.namespaces, state.interfaces)
    if state.shield:
        lower_shield(state.shield)
    if state.backlog:
        lower_backlog(state.backlog)
    if state.scratch:
        shutil.rmtree(state.scratch, ignore_errors=True)
    return left


def require_removed(state: RunState) -> None:
    """Remove what a dead run left, also what is unfinished in its directory.

    Raises:
        HostError: Something cannot be removed.
    """
    left = remove_run(state)
    if left:
        raise HostError(f"cannot remove {', '.join(left)}, left by a run that was killed")
    RunDirectory(Path(state.run_dir)).remove_unfinished()


class OtherRunError(HostError):
    """Another run is using this machine.

    Args:
        other: Its state.
    """

    def __init__(self, other: RunState) -> None:
        self.other = other
        super().__init__(
            f"another run (pid {other.pid}, {other.run_dir}) is using this machine; "
            "wait until it ends, or stop it"
        )


def refuse_live_runs(folder: Path = STATE_DIR) -> None:
    """Raise OtherRunError while another run is alive: two runs would disturb each other."""
    for path, state in read_states(folder):
        if state is None:
            raise HostError(
                f"{path}: the state file is damaged; remove what it lists, then the file"
            )
        if state.pid != os.getpid() and state.is_alive():
            raise OtherRunError(state)


def remove_dead_runs(folder: Path = STATE_DIR) -> list[RunState]:
    """Find runs whose process is gone and remove what they left; returns them.

    To be called in an `admission`, where nobody else begins meanwhile.

    Raises:
        HostError: A run is alive, or something cannot be removed.
    """
    refuse_live_runs(folder)
    remove_stale(folder)
    dead = []
    for path, state in read_states(folder):
        if state is None or (state.reserves and state.is_alive()):
            continue
        LOG.warning("removing what the dead run in %s left behind", state.run_dir)
        require_removed(state)
        path.unlink(missing_ok=True)
        dead.append(state)
    return dead


def remove_unfinished(*, dry_run: bool = False) -> list[Path]:
    """Remove what killed processes left in this user's caches, and of their scratch folders.

    Args:
        dry_run: Whether it is only listed.

    Returns:
        What was removed.
    """
    caches = (kernel_cache(), *kernel_cache().glob("*/modules"), *control_cache().glob("*"))
    removed = [left for cache in caches for left in remove_stale(cache, dry_run=dry_run)]
    return removed + remove_stale_scratch(dry_run=dry_run)


def _end(child: ChildProcess) -> bool:
    """Kill exactly this process and its descendants; a later one that has its pid is left alone."""
    end_descendants(child)
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
