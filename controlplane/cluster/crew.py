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
ASKED_AGAIN = 10
"""Times that Dask is asked for its workers, where the answer is of its totals."""


def address_of(client: Client) -> str:
    """The address of a client's scheduler."""
    scheduler: Any = client.scheduler  # Dask has no types
    return str(scheduler.address)


def workers_there(client: Client) -> dict[str, Any]:
    """The workers of a client's cluster: address -> what Dask says of it.

    Raises:
        ConnectionError: The client has lost its scheduler, and has given up.
    """
    for _ in range(ASKED_AGAIN):
        told: Any = client.scheduler_info()
        if "workers" not in told:
            break
        workers: dict[str, Any] = told["workers"]
        # Every other second Dask asks for totals alone, without workers, and keeps them in the same
        # place: they may have replaced the answer before it was read.
        if len(workers) >= told.get("n_workers", 0):
            return workers
    raise ConnectionError("the client has given up")


def scheduler_is_gone(address: str) -> HostError:
    """What the user is told when a cluster's scheduler is gone, or the network to it.

    Args:
        address: Its address.
    """
    return HostError(
        f"{address}: the cluster's scheduler is gone; finished trials are kept, and `nashbed "
        "resume` goes on once there is one again"
    )


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
        HostError: None has come, or the scheduler has gone.
    """
    address = address_of(client)  # a client that has given up does not know it any more
    deadline = time.monotonic() + first_worker_s
    told, seen, since = False, 0, time.monotonic()
    while True:
        try:
            workers = workers_there(client)
        except OSError as error:
            raise scheduler_is_gone(address) from error
        now = time.monotonic()
        if len(workers) != seen:
            seen, since = len(workers), now
        if workers and now - since >= settle_s:
            return {worker: int(facts["nthreads"]) for worker, facts in workers.items()}
        if not workers and now > deadline:
            raise HostError(
                f"{address}: no worker has come within {first_worker_s:.0f} s; "
                f"start some with `nashbed worker {address}`"
            )
        if not workers and not told and now - since > 2 * settle_s:
            told = True
            say(f"{address}: waiting for workers")
        time.sleep(POLL_S)
