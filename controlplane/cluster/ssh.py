"""Hosts that ssh reaches: Dask's own ssh parts, with arguments of each host's own.

Imported only where ssh is asked for: it needs asyncssh.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import asyncssh
from distributed.deploy import ssh as dask_ssh

from ..contract.cluster import Cluster, ClusterTls, SshHosts, SshOptions
from ..contract.errors import HostError
from .security import check_host
from .starting import (
    CLOSE_S,
    PRELOAD,
    PRELOAD_KEEPER,
    Part,
    first_words,
    scheduler_options,
    started,
)
from .where import SshHost, ssh_hosts

CONNECT_S = 10
"""How long ssh may take to reach a host."""
IDLE_TIMEOUT = "1 hour"
"""A scheduler that has had nothing to do for so long ends, and its workers with it: of a command
that was killed nothing remains for longer."""
SCHEDULER_GONE = "60 s"


@contextmanager
def ssh_cluster(cluster: Cluster, tls: ClusterTls | None) -> Iterator[Any]:
    """Start a scheduler on the first host and workers on all of them; they end with the context.

    Args:
        tls: Certificates; the hosts read them under the same paths. None: no TLS.

    Raises:
        ConfigError: A host may not be used without TLS.
        HostError: A host cannot be reached, or has no nashbed.
    """
    assert cluster.ssh is not None
    hosts = ssh_hosts(cluster.ssh)
    addresses: list[str | None] = [None] * len(hosts)
    if cluster.tls is None:
        addresses = [check_host(host.name, cluster.private_network)[0] for host in hosts]
    scheduler = scheduler_part(cluster.ssh, hosts[0], addresses[0], tls)
    workers = worker_parts(cluster.ssh, hosts, addresses, tls)
    with started(scheduler, workers, _explain) as running:
        yield running


def scheduler_part(
    ssh: SshHosts, host: SshHost, address: str | None, tls: ClusterTls | None
) -> Part:
    """The scheduler on a host.

    Args:
        address: What it listens on; None: on every network, with TLS.
    """
    options = scheduler_options(
        tls,
        host=address,
        dashboard_address="127.0.0.1:0",
        idle_timeout=IDLE_TIMEOUT,
        preload=[PRELOAD_KEEPER],
    )
    return {
        "cls": RemoteScheduler,
        "options": _reached(ssh, host) | {"kwargs": options},
    }


def worker_parts(
    ssh: SshHosts,
    hosts: Sequence[SshHost],
    addresses: Sequence[str | None],
    tls: ClusterTls | None,
) -> dict[int, Part]:
    """The workers of each host, by its number.

    Args:
        addresses: What their workers listen on; None: on every network, with TLS.
    """
    return {
        number: {
            "cls": RemoteWorkers,
            "options": _reached(ssh, host) | {"kwargs": _worker_options(ssh, host, address, tls)},
        }
        for number, (host, address) in enumerate(zip(hosts, addresses, strict=True))
    }


def _worker_options(
    ssh: SshHosts, host: SshHost, address: str | None, tls: ClusterTls | None
) -> dict[str, Any]:
    options = {
        "n_workers": host.cores,
        "nthreads": 1,
        "host": address,
        "protocol": None if tls is None else "tls://",
        "memory_limit": 0,
        "local_directory": ssh.folder or "/tmp",  # noqa: S108 - of the host, by default
        "preload": [PRELOAD],
        "preload_nanny": [PRELOAD_KEEPER],
        "death_timeout": SCHEDULER_GONE,
    }
    return {key: value for key, value in options.items() if value is not None}


def _reached(ssh: SshHosts, host: SshHost) -> dict[str, Any]:
    return {
        "address": host.name,
        "connect_options": connect_options(ssh.options),
        "remote_python": ssh.python or sys.executable,
    }


def connect_options(options: SshOptions) -> dict[str, Any]:
    """Arguments of `asyncssh.connect`; what is left out is as in ~/.ssh/config."""
    given = {
        "username": options.username,
        "port": options.port,
        "client_keys": list(options.client_keys) or None,
        "known_hosts": options.known_hosts,
        "connect_timeout": CONNECT_S,
    }
    return {key: value for key, value in given.items() if value is not None}


def _explain(error: BaseException) -> str:
    """The line of a part, which Dask may have wrapped."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, HostError):
            return cause.message
        cause = cause.__cause__
    return f"ssh: {first_words(error)}"


class RemoteScheduler(dask_ssh.Scheduler):
    """A scheduler on a host."""

    async def start(self) -> None:
        """Start it and wait until it listens."""
        start: Any = super().start  # Dask has no types
        await _named(start(), str(self.address), str(self.remote_python))


class RemoteWorkers(dask_ssh.Worker):
    """The workers of a host."""

    async def start(self) -> None:
        """Start them and wait until they are there."""
        start: Any = super().start  # Dask has no types
        await _named(start(), str(self.address), str(self.remote_python))

    async def close(self) -> None:
        """Ask them to end before Dask kills their whole process group.

        Of a group that is killed nobody is left to remove the semaphores that keepers and workers
        share: they would stay in the host's memory.
        """
        process: Any = self.proc  # Dask has no types
        if process is not None:
            with suppress(asyncssh.Error, OSError, asyncio.TimeoutError):
                process.terminate()
                await asyncio.wait_for(process.wait_closed(), CLOSE_S)
        close: Any = super().close
        await close()


async def _named(start: Any, host: str, python: str) -> None:
    try:
        await start
    except asyncssh.HostKeyNotVerifiable as error:
        raise HostError(
            f"ssh {host}: its key is not in known_hosts; run `ssh {host}` once by hand, or name "
            "the file in ssh.options.known_hosts"
        ) from error
    except asyncssh.PermissionDenied as error:
        raise HostError(
            f"ssh {host}: permission denied; check ssh.options (username, client_keys), and that "
            f"`ssh {host}` works without a password"
        ) from error
    except (asyncssh.Error, OSError) as error:
        raise HostError(f"ssh {host}: {first_words(error)}; try `ssh {host}` by hand") from error
    except Exception as error:
        raise HostError(
            f"ssh {host}: {python} did not start Dask; is nashbed installed for it there? "
            "(ssh.python in the cluster file says which Python)"
        ) from error
