"""`nashbed worker`: this machine's workers of a scheduler that runs elsewhere, until stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contract.cluster import ClusterTls
from ..contract.errors import HostError
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..store.staging import scratch_folder
from .nannies import AGAIN_S, Nannies
from .quiet import quiet
from .reach import NobodyThereError, reach
from .security import dask_security
from .signals import stop_requested
from .spec import first_words
from .worker_process import PRELOAD

Say = Callable[[str], None]


@dataclass(frozen=True)
class Workers:
    """Workers of this machine.

    Attributes:
        address: The scheduler's.
        tls: Our certificates, with a tls:// address.
        processes: Worker processes.
        threads: Threads of each: trials at the same time.
        name: Their name at the scheduler, with a number if they are several; None: their address.
        folder: Where they make folders of their own; None: the system's temporary folder.
        testbed: The testbed file of a real testbed; None: for virtual time.
    """

    address: str
    tls: ClusterTls | None
    processes: int
    threads: int = 1
    name: str | None = None
    folder: Path | None = None
    testbed: Path | None = None


def serve_workers(workers: Workers, say: Say) -> None:
    """Run workers until Ctrl-C or SIGTERM. A killed one comes back; a scheduler may, too.

    Args:
        workers: The workers.
        say: Called with one line for the user now and then.

    Raises:
        HostError: The scheduler does not accept us.
    """
    try:
        with quiet():
            asyncio.run(_serve(workers, say))
    finally:  # of worker processes that were killed
        remove_dead_sessions(guests_folder())


async def _serve(workers: Workers, say: Say) -> None:
    stop = stop_requested()
    told, have_served = "", False

    def ready() -> None:
        nonlocal have_served
        have_served = True
        say(_ready(workers))

    while not stop.is_set():
        try:
            here = await asyncio.to_thread(reach, workers.address, workers.tls)
            await _check_name(workers)
            await _work(workers, here, stop, ready)
            why, told = f"{workers.address}: the scheduler is gone", ""
        except (HostError, OSError) as error:
            # Who has served may come again, though a scheduler may know the old connections for a
            # while after the network was cut.
            absent = isinstance(error, (NobodyThereError, OSError))
            if not (have_served or absent):
                raise
            why = told if told and absent else first_words(error)
        if why != told and not stop.is_set():
            say(f"{why}; waiting for it (Ctrl-C stops)")
        told = why
        await _pause(stop)


async def _pause(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), AGAIN_S)
    except TimeoutError:
        return


async def _work(
    workers: Workers, here: str, stop: asyncio.Event, ready: Callable[[], None]
) -> None:
    """Run the workers until they are asked to stop or their scheduler is gone."""
    asked = asyncio.create_task(stop.wait())
    with scratch_folder("workers", workers.folder) as folder:
        place = str(folder)
        crew = [_nanny(workers, here, place, name) for name in _names(workers)]
        nannies = Nannies(crew, lambda name: _nanny(workers, here, place, name), stop)
        running = asyncio.create_task(nannies.run(ready))
        try:
            await asyncio.wait({asked, running}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await nannies.close()
        running.cancel()
        asked.cancel()
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        await asyncio.gather(asked, return_exceptions=True)
    if isinstance(ended, Exception) and not stop.is_set():
        await _raise_if_there(workers, ended)


async def _raise_if_there(workers: Workers, error: Exception) -> None:
    """Workers that could not start are an error, unless the scheduler has just gone."""
    try:
        await asyncio.to_thread(reach, workers.address, workers.tls)
    except NobodyThereError:
        return
    raise HostError(
        f"{workers.address}: workers could not start: {first_words(error)}; is distributed of the "
        "same version there?"
    ) from error


async def _check_name(workers: Workers) -> None:
    """Refuse a name that the scheduler knows; Dask's own refusal does not say why."""
    if workers.name is None:
        return
    import distributed  # noqa: PLC0415 - Dask takes long to import

    ask: Any = distributed.rpc  # Dask has no types
    security = dask_security(workers.tls)
    shown = {} if security is None else security.get_connection_args("worker")
    async with ask(workers.address, connection_args=shown) as scheduler:
        known = (await scheduler.identity())["workers"].values()
    taken = {str(each["name"]) for each in known} & set(_names(workers))
    if taken:
        raise HostError(
            f"{workers.address}: there is a worker of the name {min(map(str, taken))} already; "
            "give another --name"
        )


def _nanny(workers: Workers, here: str, folder: str, name: str | None) -> Any:
    """Dask's keeper of a worker process: it starts it again when it is killed."""
    import distributed  # noqa: PLC0415 - Dask takes long to import

    make: Any = distributed.Nanny  # Dask has no types
    return make(
        workers.address,
        nthreads=workers.threads,
        name=name,
        host=here,
        security=dask_security(workers.tls),
        local_directory=folder,
        # Memory is the trial's to plan; Dask would stop a worker in the middle of one.
        memory_limit=0,
        preload=[PRELOAD],
        silence_logs=logging.CRITICAL,
        **_testbed(workers.testbed),
    )


def _testbed(testbed: Path | None) -> dict[str, Any]:
    """How a worker is told its testbed file: by Dask's configuration."""
    if testbed is None:
        return {}
    return {
        "config": {"nashbed": {"testbed": str(testbed)}},
        "env": {"DASK_NASHBED__TESTBED": str(testbed)},
    }


def _names(workers: Workers) -> list[str | None]:
    if workers.name is None or workers.processes == 1:
        return [workers.name] * workers.processes
    return [f"{workers.name}-{number}" for number in range(workers.processes)]


def _ready(workers: Workers) -> str:
    count = f"{workers.processes} worker{'s' if workers.processes > 1 else ''}"
    if workers.testbed is not None:
        lanes = f"{workers.threads} lane{'s' if workers.threads > 1 else ''}"
        count = f"testbed {workers.testbed} with {lanes}"
    return f"{count} at {workers.address} (Ctrl-C stops)"
