"""A cluster -> a Dask client that is connected to its scheduler; all is ended afterwards."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import distributed
from distributed import Client

from ..contract.cluster import Cluster, ClusterKind, ClusterTls
from ..contract.errors import HostError, need_extra
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..store.staging import scratch_folder
from .credentials import reached
from .jobqueue import jobqueue_cluster
from .security import ANSWER_S, close_http, reach
from .starting import PRELOAD, configured_dask

LOOPBACK = "127.0.0.1"
Started = Callable[[Cluster, ClusterTls | None], AbstractContextManager[Any]]
"""A way to a scheduler: yields its address, or a cluster of Dask's that was started."""


@contextmanager
def connected(cluster: Cluster) -> Iterator[Client]:
    """Reach a cluster, or start it, for as long as the context lasts.

    What was started here (workers, jobs, a scheduler) has ended when the context is left, however
    it is left; a scheduler that ran before goes on.

    Yields:
        The client. It may have no worker yet.

    Raises:
        ConfigError: The cluster may not be reached like this: it is not encrypted, certificates
            are missing.
        HostError: Nobody is there, does not accept us, or a library is not installed.
    """
    with (
        reached(cluster, "client") as (found, tls),
        configured_dask(tls),
        _START[cluster.kind](found, tls) as scheduler,
    ):
        close_http(getattr(scheduler, "scheduler", None))
        client: Any = _client(scheduler)
        try:
            yield client
        finally:
            client.close()


def _client(scheduler: Any) -> Client:
    make: Any = distributed.Client  # Dask has no types
    try:
        client: Client = make(scheduler, timeout=ANSWER_S, set_as_default=False)
    except OSError as error:
        name = scheduler if isinstance(scheduler, str) else scheduler.scheduler_address
        raise HostError(
            f"{name}: answers, but not as a Dask scheduler of our version; check the port, and "
            "which version of distributed is installed there"
        ) from error
    return client


@contextmanager
def _running(cluster: Cluster, tls: ClusterTls | None) -> Iterator[str]:
    """A scheduler that runs already."""
    assert cluster.scheduler is not None
    reach(cluster.scheduler, tls)
    yield cluster.scheduler


@contextmanager
def _local(cluster: Cluster, tls: ClusterTls | None) -> Iterator[Any]:
    """A scheduler in this process, and worker processes of one thread each, on the loopback.

    What they wrote is removed with them.
    """
    assert cluster.local is not None
    start: Any = distributed.LocalCluster  # Dask has no types
    with (
        scratch_folder("workers") as folder,
        start(
            n_workers=cluster.local.workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            scheduler_port=0,
            dashboard_address=f"{LOOPBACK}:0",
            # Memory is the trial's to plan; Dask would stop a worker in the middle of one.
            memory_limit=0,
            local_directory=str(folder),
            preload=[PRELOAD],
            protocol="tls://",
            silence_logs=logging.CRITICAL,
        ) as started,
    ):
        yield started
    remove_dead_sessions(guests_folder())  # of worker processes that were killed


def _by_ssh(cluster: Cluster, tls: ClusterTls | None) -> AbstractContextManager[Any]:
    """Hosts that ssh reaches."""
    need_extra("ssh", "asyncssh")
    from .ssh import ssh_cluster  # noqa: PLC0415 - needs asyncssh

    return ssh_cluster(cluster, tls)


_START: dict[ClusterKind, Started] = {
    "scheduler": _running,
    "local": _local,
    "ssh": _by_ssh,
    "jobqueue": jobqueue_cluster,
}
