"""Dask's ssh parts, with errors that name the host; imported only where ssh is asked for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import asyncssh
from distributed.deploy import ssh

from ..contract.errors import HostError
from .nannies import CLOSE_S
from .spec import first_words


class RemoteScheduler(ssh.Scheduler):
    """A scheduler on a host."""

    async def start(self) -> None:
        """Start it and wait until it listens."""
        start: Any = super().start  # Dask has no types
        await _named(start(), str(self.address), str(self.remote_python))


class RemoteWorkers(ssh.Worker):
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
