"""Workers on this machine, as long as a command lasts."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..contract.cluster import Cluster, ClusterTls
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..store.staging import scratch_folder
from .security import dask_security
from .worker_process import PRELOAD

LOOPBACK = "127.0.0.1"


@contextmanager
def local_cluster(cluster: Cluster, tls: ClusterTls | None) -> Iterator[Any]:
    """Start a scheduler in this process, and worker processes of one thread each.

    They are reached over the loopback interface only. What they wrote is removed with them.

    Args:
        cluster: A cluster of kind local.
        tls: Certificates, if it has some.

    Yields:
        Dask's LocalCluster.
    """
    import distributed  # noqa: PLC0415 - Dask takes long to import

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
            protocol="tcp://" if tls is None else "tls://",
            security=dask_security(tls),
            silence_logs=logging.CRITICAL,
        ) as started,
    ):
        yield started
    remove_dead_sessions(guests_folder())  # of worker processes that were killed
