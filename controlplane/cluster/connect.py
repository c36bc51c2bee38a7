"""A cluster -> a Dask client that is connected to its scheduler; all is ended afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from ..contract.cluster import Cluster, ClusterKind, ClusterTls
from ..contract.errors import HostError
from .jobqueue import jobqueue_cluster
from .local import local_cluster
from .patience import prefer_our_patience
from .quiet import quiet
from .reach import ANSWER_S, reach
from .security import certificates, check_address, dask_security
from .ssh import ssh_cluster

if TYPE_CHECKING:
    from distributed import Client

Started = Callable[[Cluster, ClusterTls | None], AbstractContextManager[Any]]
"""A way to a scheduler: yields its address, or a cluster of Dask's that was started."""


@contextmanager
def connected(cluster: Cluster) -> Iterator[Client]:
    """Reach a cluster, or start it, for as long as the context lasts.

    What was started here (workers, jobs, a scheduler) has ended when the context is left, however
    it is left; a scheduler that ran before goes on.

    Args:
        cluster: The cluster, with absolute paths.

    Yields:
        The client. It may have no worker yet.

    Raises:
        ConfigError: The cluster may not be reached like this: it is not encrypted, certificates
            are missing.
        HostError: Nobody is there, does not accept us, or a library is not installed.
    """
    tls = certificates(cluster.tls, "client") if cluster.is_encrypted else None
    prefer_our_patience()
    with quiet(), _START[cluster.kind](cluster, tls) as scheduler:
        client: Any = _client(scheduler, tls)
        try:
            yield client
        finally:
            client.close()


def _client(scheduler: Any, tls: ClusterTls | None) -> Client:
    import distributed  # noqa: PLC0415 - Dask takes long to import

    make: Any = distributed.Client  # Dask has no types
    try:
        client: Client = make(
            scheduler, security=dask_security(tls), timeout=ANSWER_S, set_as_default=False
        )
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
    check_address(cluster.scheduler, cluster.private_network)
    reach(cluster.scheduler, tls)
    yield cluster.scheduler


_START: dict[ClusterKind, Started] = {
    "scheduler": _running,
    "local": local_cluster,
    "ssh": ssh_cluster,
    "jobqueue": jobqueue_cluster,
}
