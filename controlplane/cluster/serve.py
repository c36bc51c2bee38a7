"""`nashbed scheduler` and `nashbed worker`: parts of a cluster on this machine, until stopped."""

import asyncio
import logging
import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed
from tornado.httputil import HTTPServerRequest
from tornado.web import ErrorHandler, RequestHandler

from ..contract.cluster import ClusterTls
from ..contract.errors import HostError
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..store.staging import scratch_folder
from .security import UnreachableError, close_http, reach
from .starting import CLOSE_S, PRELOAD, configured_dask, first_words

DEFAULT_PORT = 8786
COOKIE = "nashbed-dashboard"
Say = Callable[[str], None]
AGAIN_S = 2.0
"""How long to wait before a scheduler that is not there is looked for again."""


def serve_scheduler(
    host: str, port: int, dashboard: str | None, tls: ClusterTls | None, say: Say
) -> None:
    """Run a scheduler until Ctrl-C or SIGTERM.

    Args:
        host: Name or address that it listens on; with TLS also 0.0.0.0, every network.
        port: Its port; 0: any free one.
        dashboard: ADDRESS:PORT of the dashboard, which is not encrypted; None: there is none.
        tls: Its certificates; None: no TLS, as the user has said.

    Raises:
        HostError: The port is taken, or the address is not of this machine.
    """
    options = {
        "host": host,
        "port": port,
        "protocol": "tcp://" if tls is None else "tls://",
        "dashboard_address": dashboard or "127.0.0.1:0",
    }
    with configured_dask(tls):
        asyncio.run(_run_scheduler(options, dashboard is not None, say))


async def _run_scheduler(options: dict[str, Any], has_dashboard: bool, say: Say) -> None:
    stop = stop_requested()
    make: Any = distributed.Scheduler  # Dask has no types
    scheduler = make(**options)
    try:
        await scheduler
    except Exception as error:
        raise HostError(_not_started(options, error)) from error
    try:
        if has_dashboard:
            say(f"dashboard at {guarded_dashboard(scheduler)}")
        else:
            close_http(scheduler)
        say(f"scheduler at {scheduler.address} (Ctrl-C stops)")
        finished = asyncio.create_task(scheduler.finished())
        asked = asyncio.create_task(stop.wait())
        await asyncio.wait({finished, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await scheduler.close(reason="nashbed-scheduler-stops")


def guarded_dashboard(scheduler: Any) -> str:
    """Let only those into a scheduler's dashboard who know a secret; returns the address with it.

    A browser that opens it gets the secret as a cookie, which it then shows with every request.
    Whether the scheduler lives (/health) is told to everybody.
    """
    secret = secrets.token_urlsafe(24)
    application = scheduler.http_application
    find = application.find_handler

    class Enter(RequestHandler):
        def get(self) -> None:
            self.set_cookie(COOKIE, secret, httponly=True, samesite="Strict")
            self.redirect("/status")

    def find_if_let_in(request: HTTPServerRequest, **more: Any) -> Any:
        shown = request.cookies.get(COOKIE)
        knows = shown is not None and secrets.compare_digest(shown.value.encode(), secret.encode())
        if knows or request.path == "/health":
            return find(request, **more)
        if secrets.compare_digest(request.path.encode(), f"/{secret}".encode()):
            return application.get_handler_delegate(request, Enter)
        return application.get_handler_delegate(request, ErrorHandler, {"status_code": 403})

    application.find_handler = find_if_let_in
    http = scheduler.http_server
    return f"http://{http.address}:{http.port}/{secret}"


def _not_started(options: dict[str, Any], error: BaseException) -> str:
    place = f"{options['protocol']}{options['host']}:{options['port']}"
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    reason = (cause.strerror or str(cause)) if isinstance(cause, OSError) else str(error)
    return f"{place}: cannot listen there: {reason}; give another --host or --port"


@dataclass(frozen=True)
class Workers:
    """Workers of this machine.

    Attributes:
        tls: Our certificates, with a tls:// address.
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

    Raises:
        HostError: The scheduler does not accept us.
    """
    try:
        with configured_dask(workers.tls):
            asyncio.run(_run_workers(workers, say))
    finally:  # of worker processes that were killed
        remove_dead_sessions(guests_folder())


async def _run_workers(workers: Workers, say: Say) -> None:
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
            absent = isinstance(error, (UnreachableError, OSError))
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
        started = [_nanny(workers, here, place, name) for name in _names(workers)]
        nannies = Nannies(started, lambda name: _nanny(workers, here, place, name), stop)
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
    except UnreachableError:
        return
    raise HostError(
        f"{workers.address}: workers could not start: {first_words(error)}; is distributed of the "
        "same version there?"
    ) from error


async def _check_name(workers: Workers) -> None:
    """Refuse a name that the scheduler knows; Dask's own refusal does not say why."""
    if workers.name is None:
        return
    ask: Any = distributed.rpc  # Dask has no types
    shown = distributed.Security().get_connection_args("worker")
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
    make: Any = distributed.Nanny  # Dask has no types
    return make(
        workers.address,
        nthreads=workers.threads,
        name=name,
        host=here,
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


class Nannies:
    """Dask's nannies, each of which starts its worker process again when it is killed.

    A worker ends with its connection to the scheduler, and Dask's nanny with it: a machine would be
    lost to the cluster by a cut of the network. When it was cut for about as long as TCP is
    patient, that may be one worker of several: it is started anew, and the others go on.

    Args:
        make: Makes one of a worker's name.
        stop: Set when they are about to be closed.
    """

    def __init__(
        self, nannies: list[Any], make: Callable[[str | None], Any], stop: asyncio.Event
    ) -> None:
        self._nannies = nannies
        self._make = make
        self._stop = stop

    async def run(self, ready: Callable[[], None]) -> None:
        """Start them; returns when all have ended.

        Args:
            ready: Called when all have started.
        """
        await asyncio.gather(*self._nannies)
        ready()
        await asyncio.gather(*map(self._keep, range(len(self._nannies))))

    async def _keep(self, place: int) -> None:
        name = self._nannies[place].name
        await self._nannies[place].finished()
        while self._others_go_on:
            self._nannies[place] = self._make(name)
            with suppress(Exception):  # the scheduler may be gone, or know the old one still
                await self._nannies[place]
                await self._nannies[place].finished()
            await asyncio.sleep(AGAIN_S)

    @property
    def _others_go_on(self) -> bool:
        running = any(nanny.status.name == "running" for nanny in self._nannies)
        return running and not self._stop.is_set()

    async def close(self) -> None:
        """End them, also those that have not started; one that fails to does not keep others."""
        closing = (n.close(timeout=CLOSE_S, reason="nashbed-worker-stops") for n in self._nannies)
        await asyncio.gather(*closing, return_exceptions=True)


def stop_requested() -> asyncio.Event:
    """An event that is set when the user or the system asks this process to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    return stop
