"""Whether a run's client is still there: a scheduler forgets a task that nobody wants any more.

A client wants one task as long as it is there, which no worker may run. When its connection ends,
however that comes, the scheduler lets go of what it wanted, and forgets that task. So workers ask
for the task's state. This is the scheduler's own knowledge, one word to each who asks, and needs
no code of ours there.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client
from distributed.worker import Worker

from .roster import address_of, scheduler_is_gone

NOBODY = "nashbed-nobody"
"""A Dask resource that no worker declares."""
POLL_S = 0.02


@contextmanager
def client_is_there(client: Client, run: str) -> Iterator[str]:
    """Let workers know that a run's client is there, until the block ends or the client dies.

    Args:
        client: The client.
        run: The run's name, as in `RunBundle`.

    Yields:
        What workers ask for: the task's key. The scheduler knows it by now.

    Raises:
        HostError: The scheduler is gone.
    """
    key = f"nashbed-client-{run}-{uuid.uuid4().hex[:8]}"
    wanted = client.submit(bool, key=key, pure=False, resources={NOBODY: 1})
    try:
        _await_known(client, key)
        yield key
    finally:
        wanted.release()


def _await_known(client: Client, key: str) -> None:
    """What is submitted takes another way than what is asked, and may be later."""
    address = address_of(client)
    scheduler: Any = client.scheduler  # Dask has no types
    ask: Any = client.sync
    try:
        while ask(scheduler.get_task_status, keys=[key])[key] is None:
            time.sleep(POLL_S)
    except OSError as error:
        raise scheduler_is_gone(address) from error


async def is_gone(worker: Worker, key: str) -> bool:
    """Whether a run's client is gone.

    Args:
        worker: A worker of the cluster, to ask for.
        key: What `client_is_there` has yielded.

    Raises:
        OSError: The scheduler does not answer.
    """
    scheduler: Any = worker.scheduler  # Dask has no types
    known = await scheduler.get_task_status(keys=[key])
    return known[key] is None
