"""Where trials run: on a cluster, or on this machine, which its caller then has to itself."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nashbed.controlplane.cluster.where import parse_where, testbed_cluster
from nashbed.controlplane.config import Loaded
from nashbed.controlplane.contract.cluster import Cluster
from nashbed.controlplane.contract.errors import ConfigError, need_extra
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.guest.scratch import guests_folder, remove_dead_sessions
from nashbed.controlplane.machine.host.preflight import require_root
from nashbed.controlplane.machine.host.runs import OnWait, RunState, reserved

if TYPE_CHECKING:
    from nashbed.controlplane.run.dispatcher import Executor

__all__ = [
    "LOG",
    "OnWait",
    "ReachedCluster",
    "RunState",
    "Say",
    "chosen_cluster",
    "machine_for",
    "reach_cluster",
]

LOG = logging.getLogger(__name__)
Say = Callable[[str], None]
"""Tells a person something in one line."""


@dataclass(frozen=True)
class ReachedCluster:
    """A cluster that is reached; each seat runs one trial at a time."""

    executor: Executor
    seats: int
    workers: int


def chosen_cluster(
    on: str | None, private_network: bool, testbed: Loaded[Testbed]
) -> Cluster | None:
    """The cluster that trials run on; None: this machine.

    Args:
        on: Where: `local:N`, `tcp://HOST:PORT`, `ssh:HOSTS.txt`, a cluster file, ...; None: as the
            testbed says.
        private_network: Whether a network of private addresses is used without TLS.
        testbed: The testbed, which may name one.

    Raises:
        ConfigError: What is named is no cluster, or cannot run this testbed.
    """
    if on is not None:
        cluster = parse_where(on, private_network=private_network)
    else:
        named = testbed_cluster(testbed)
        if named is None:
            return None
        cluster = named
    if not testbed.model.is_virtual and cluster.kind != "scheduler":
        raise ConfigError(
            f"--on: testbed {testbed.model.name} is in real time, and this cluster's workers are "
            "not: name a scheduler that workers joined with `nashbed worker ADDRESS --testbed "
            "FILE`, or write --testbed virtual"
        )
    return cluster


@contextmanager
def reach_cluster(
    cluster: Cluster, say: Say = LOG.info, first_worker_s: float | None = None
) -> Iterator[ReachedCluster]:
    """Reach a cluster, or start it, for as long as the block lasts; waits for its first worker.

    Args:
        cluster: The cluster.
        say: Tells what it is waiting for.
        first_worker_s: How long it waits, in seconds; None: as long as a batch system may take.

    Raises:
        NashbedError: It cannot be reached, or has no worker.
    """
    need_extra("cluster", "distributed")
    from nashbed.controlplane.cluster.connect import connected  # noqa: PLC0415 - Dask takes long to import
    from nashbed.controlplane.cluster.credentials import warning  # noqa: PLC0415
    from nashbed.controlplane.cluster.on_cluster import OnCluster  # noqa: PLC0415
    from nashbed.controlplane.cluster.roster import FIRST_WORKER_S, await_seats  # noqa: PLC0415

    cores = len(os.sched_getaffinity(0))
    if cluster.local is not None and cluster.local.workers > cores:
        say(
            f"local:{cluster.local.workers}: no faster than local:{cores}, the cores that there are"
        )
    if open_to_others := warning(cluster):
        say(open_to_others)
    with connected(cluster) as client:
        patience_s = FIRST_WORKER_S if first_worker_s is None else first_worker_s
        workers = await_seats(client, say, patience_s)
        executor = OnCluster(client, say, cluster.shared or "")
        yield ReachedCluster(executor, sum(workers.values()), len(workers))


@contextmanager
def machine_for(
    testbed: Testbed, what: Path | str, on_wait: OnWait | None = None
) -> Iterator[None]:
    """Have the machine while the block lasts, where the testbed is in real time.

    What dead runs left is removed, also where there is nothing more to run: a run may be killed
    between its last trial and its end.

    Args:
        what: What it is for, as others are told: the folder, or the command.
        on_wait: Another run is waited for, and this is called meanwhile; None: it is an error.

    Raises:
        HostError: This is not root, or another run is alive and not waited for.
    """
    if testbed.is_virtual:
        remove_dead_sessions(guests_folder())
        yield
        return
    require_root()
    with reserved(str(what.absolute()) if isinstance(what, Path) else what, on_wait):
        yield
