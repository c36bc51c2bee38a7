"""The workers that a cluster has before a run begins."""

from __future__ import annotations

import time
from typing import Any

from distributed import Client

from ..contract.errors import HostError
from .roster import Say

FIRST_WORKER_S = 900.0
"""How long the first worker is waited for: a batch system may let it queue."""
SETTLE_S = 1.0
"""After the first worker others are given this long: they are started together."""
POLL_S = 0.1


def address_of(client: Client) -> str:
    """The address of a client's scheduler."""
    scheduler: Any = client.scheduler  # Dask has no types
    return str(scheduler.address)


def await_seats(
    client: Client, say: Say, first_worker_s: float = FIRST_WORKER_S, settle_s: float = SETTLE_S
) -> dict[str, int]:
    """Wait until a cluster has workers; returns their addresses and threads.

    Args:
        client: Of the cluster.
        say: Told that there is a wait.
        first_worker_s: How long, at most.
        settle_s: How long the number of workers must have stayed the same.

    Raises:
        HostError: None has come.
    """
    deadline = time.monotonic() + first_worker_s
    told, seen, since = False, 0, time.monotonic()
    while True:
        workers = client.scheduler_info()["workers"]
        now = time.monotonic()
        if len(workers) != seen:
            seen, since = len(workers), now
        if workers and now - since >= settle_s:
            return {address: int(facts["nthreads"]) for address, facts in workers.items()}
        if not workers and now > deadline:
            raise HostError(
                f"{address_of(client)}: no worker has come within {first_worker_s:.0f} s; "
                f"start some with `nashbed worker {address_of(client)}`"
            )
        if not workers and not told and now - since > 2 * settle_s:
            told = True
            say(f"{address_of(client)}: waiting for workers")
        time.sleep(POLL_S)
