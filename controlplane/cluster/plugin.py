"""What makes a Dask worker one of a run: it is compared with the client, and declares a resource.

The plugin is registered by the client and so also comes to workers that join later. Tasks ask for
the resource, so that Dask gives them to workers that have been found fit, and to nobody else. A
worker whose run's client is gone drops the run by itself; nobody is left to tell it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import dask
from distributed import WorkerPlugin
from distributed.worker import WORKER_ANY_RUNNING, Worker

from ..config import load_testbed, parse_testbed
from ..contract.errors import NashbedError
from ..contract.testbed import Testbed
from .identity import Identity, differences, identity_here, lacking
from .request import JOINED, OFFERS, REFUSED, WANTS_KERNELS, RunBundle, topic_of
from .workplace import TestbedWorkplace, VirtualWorkplace, Workplace

LOG = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
"""How often a worker asks whether a run's client is still there."""


def plugin_name(run: str) -> str:
    """The name that a run's plugin has on its workers."""
    return f"nashbed-{run}"


def run_on(worker: Worker, run: str) -> RunOnWorker:
    """A run on a worker that has it."""
    plugin = worker.plugins[plugin_name(run)]
    assert isinstance(plugin, RunOnWorker), "tasks come only to workers with the run's resource"
    return plugin


def own_testbed() -> Path | None:
    """The testbed file of the real testbed that this worker is; None: virtual time."""
    settings: Any = dask.config  # Dask has no types
    file = settings.get("nashbed.testbed", None)
    return None if file is None else Path(file)


def misplaced(planned: Testbed, own: Path | None) -> str:
    """Why a worker is of the wrong kind for a run; empty: it is of the right one.

    Args:
        own: The testbed file of the real testbed that the worker is; None: virtual time.
    """
    if planned.is_virtual and own is not None:
        return "it is a real testbed, and the run is in virtual time"
    if not planned.is_virtual and own is None:
        return (
            f"it is in virtual time, and testbed {planned.name} is in real time: start workers "
            "with `nashbed worker ADDRESS --testbed FILE`"
        )
    return ""


class RunOnWorker(WorkerPlugin):
    """One run on one worker."""

    def __init__(self, bundle: str, client: str) -> None:
        self._text = bundle
        self._client = client
        self._workplace: Workplace | None = None
        self._changing = asyncio.Lock()
        self._has_ended = False
        self._watch: asyncio.Task[None] | None = None
        self._bundle = RunBundle.model_validate_json(bundle)
        self._planned = parse_testbed(self._bundle.testbed, "testbed.yaml").model
        self.name = plugin_name(self._bundle.run)

    def __getstate__(self) -> dict[str, str]:
        return {"bundle": self._text, "client": self._client}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__init__(state["bundle"], state["client"])  # type: ignore[misc]

    @property
    def run(self) -> str:
        """The run's name, as in `RunBundle`."""
        return self._bundle.run

    @property
    def takes_part(self) -> bool:
        """Whether there is a place for the run's trials here."""
        return self._workplace is not None

    @property
    def workplace(self) -> Workplace:
        """Where the run's trials are run; of a worker that takes part."""
        assert self._workplace is not None, "the worker was refused"
        return self._workplace

    @property
    def shared(self) -> Path | None:
        """The run's folder on a shared file system; None: there is none."""
        return self._bundle.shared_folder

    async def setup(self, worker: Worker) -> None:
        """Compare, and take part, or say what is lacking, or why not."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_client(worker))
        wrong = misplaced(self._planned, own_testbed())
        await drop_abandoned(worker)
        if self._has_ended:  # a cluster keeps plugins of dead clients for workers that come later
            return
        if wrong:
            self.refuse(worker, [wrong])
        elif await asyncio.to_thread(self._lacks_kernels_alone):
            self._tell(worker, WANTS_KERNELS)
        else:
            await self.join(worker)

    async def _watch_client(self, worker: Worker) -> None:
        while not self._has_ended:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.drop_if_abandoned(worker)

    async def drop_if_abandoned(self, worker: Worker) -> None:
        """End what this worker keeps for the run if its client is gone, and forget the run.

        `resume` brings a plugin of the same name, so that only this very one is forgotten.
        """
        try:
            abandoned = await client_is_gone(worker, self._client)
        except OSError:
            return  # when the scheduler is gone, Dask ends the worker
        if abandoned and worker.plugins.get(self.name) is self:
            await worker.plugin_remove(self.name)
            LOG.warning("the client of %s is gone: that run was dropped", self._bundle.directory)

    def _lacks_kernels_alone(self) -> bool:
        """Whether kernels are all that this worker lacks; else they would be given for nothing."""
        client = self._bundle.identity
        if not lacking(client):
            return False
        try:
            here = identity_here(self._planned, [])
        except NashbedError:
            return False  # the comparison that follows says why
        return not differences(client.model_copy(update={"kernels": ()}), here)

    async def join(self, worker: Worker) -> None:
        """Compare, and take part or say why not; a real testbed waits for the client's answer."""
        async with self._changing:
            if self._has_ended:
                return
            reasons = await asyncio.to_thread(self._prepare, worker)
        if reasons:
            self.refuse(worker, reasons)
        elif isinstance(self._workplace, TestbedWorkplace):
            self._tell(worker, OFFERS, offer=self._workplace.offer.model_dump_json())
        else:
            await self.take_part(worker)

    async def take_part(self, worker: Worker) -> None:
        """Declare the run's resource, and say so."""
        if self._has_ended:
            return
        seats, testbed = self.workplace.seats(worker.state.nthreads), self._own_name
        await worker.set_resources(**{self._bundle.resource(testbed): seats})
        self._tell(worker, JOINED, seats=seats, testbed=testbed)

    @property
    def _own_name(self) -> str:
        """The name of the real testbed that this worker is; empty: virtual time."""
        place = self._workplace
        return place.ran_on.testbed if isinstance(place, TestbedWorkplace) else ""

    async def leave(self, worker: Worker, reason: str) -> None:
        """Get no more trials, and say why; those that run here go on to their end."""
        await self._withdraw(worker)
        self.refuse(worker, [reason])

    async def _withdraw(self, worker: Worker) -> None:
        await worker.set_resources(**{self._bundle.resource(self._own_name): 0})

    def refuse(self, worker: Worker, reasons: list[str]) -> None:
        """Take no part, and say why."""
        self._tell(worker, REFUSED, reasons=reasons)

    def _tell(self, worker: Worker, what: str, **more: object) -> None:
        told = {"what": what, "worker": worker.address, "name": str(worker.name)}
        worker.log_event(topic_of(self._bundle.run), told | {"host": socket.gethostname()} | more)

    def _prepare(self, worker: Worker) -> list[str]:
        """Make the workplace; returns why that cannot be."""
        try:
            reasons = differences(self._bundle.identity, self._own_identity())
            if not reasons:
                folder = Path(worker.local_directory) / self.name
                self._workplace = self._made(folder)
        except NashbedError as error:
            reasons = [error.message]
        return reasons

    def _made(self, folder: Path) -> Workplace:
        own = own_testbed()
        if own is None:
            return VirtualWorkplace(self._bundle, folder)
        return TestbedWorkplace(self._bundle, folder, own)

    def _own_identity(self) -> Identity:
        """Identity of this worker; a real testbed has its own target, and only sources count."""
        own, client = own_testbed(), self._bundle.identity
        if own is None:
            return identity_here(self._planned, [kernel.name for kernel in client.kernels])
        here = identity_here(load_testbed(own).model, [])
        same = {"artefact": client.artefact, "architecture": client.architecture}
        return here.model_copy(update=same)

    async def teardown(self, worker: Worker) -> None:
        """End what is running, and give the machine back."""
        self._has_ended = True
        if self._watch is not None and self._watch is not asyncio.current_task():
            self._watch.cancel()
        async with self._changing:
            if self._workplace is not None and worker.status in WORKER_ANY_RUNNING:
                with suppress(OSError):
                    await self._withdraw(worker)
            workplace, self._workplace = self._workplace, None
        if workplace is not None:
            await asyncio.to_thread(workplace.close)


async def client_is_gone(worker: Worker, key: str) -> bool:
    """Whether a run's client is gone.

    Args:
        worker: A worker of the cluster, to ask for.
        key: What `in_touch` has yielded to the client.

    Raises:
        OSError: The scheduler does not answer.
    """
    scheduler: Any = worker.scheduler  # Dask has no types
    known = await scheduler.get_task_status(keys=[key])
    return known[key] is None


async def drop_abandoned(worker: Worker) -> None:
    """Make room on a worker: what belongs to runs whose clients are gone ends."""
    for plugin in list(worker.plugins.values()):
        if isinstance(plugin, RunOnWorker):
            await plugin.drop_if_abandoned(worker)


async def answer_offer(run: str, refusal: str, dask_worker: Worker | None = None) -> None:
    """Take part in a run with this worker's real testbed, or give it back.

    Args:
        refusal: Why not; empty: it takes part.
        dask_worker: This worker; Dask names it.
    """
    assert dask_worker is not None
    plugin = run_on(dask_worker, run)
    if refusal:
        await plugin.teardown(dask_worker)
        plugin.refuse(dask_worker, [refusal])
    else:
        await plugin.take_part(dask_worker)
