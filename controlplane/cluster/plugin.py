"""What makes a Dask worker one of a run: it is compared with the client, and declares a resource.

The plugin is registered by the client and so also comes to workers that join later. Tasks ask for
the resource, so that Dask gives them to workers that have been found fit, and to nobody else.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from distributed import WorkerPlugin
from distributed.worker import Worker

from ..config import parse_testbed
from ..contract.errors import NashbedError
from .identity import Identity, differences, identity_here, lacking
from .request import RunBundle
from .topics import JOINED, REFUSED, WANTS_KERNELS, topic_of
from .workplace import Workplace


def plugin_name(run: str) -> str:
    """The name that a run's plugin has on its workers.

    Args:
        run: The run's, as in `RunBundle`.
    """
    return f"nashbed-{run}"


class RunOnWorker(WorkerPlugin):
    """One run on one worker.

    Args:
        bundle: The run, as JSON.
    """

    def __init__(self, bundle: str) -> None:
        self._text = bundle
        self._workplace: Workplace | None = None
        self._bundle = RunBundle.model_validate_json(bundle)
        self.name = plugin_name(self._bundle.run)

    def __getstate__(self) -> dict[str, str]:
        return {"bundle": self._text}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__init__(state["bundle"])  # type: ignore[misc]

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
        if await asyncio.to_thread(lacking, self._bundle.identity):
            self._tell(worker, WANTS_KERNELS)
        else:
            await self.join(worker)

    async def join(self, worker: Worker) -> None:
        """Compare, and take part or say why not."""
        reasons = await asyncio.to_thread(self._prepare, worker)
        if reasons:
            self.refuse(worker, reasons)
            return
        seats = worker.state.nthreads
        await worker.set_resources(**{self._bundle.resource: seats})
        self._tell(worker, JOINED, seats=seats)

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
                self._workplace = Workplace(self._bundle, folder)
        except NashbedError as error:
            reasons = [error.message]
        return reasons

    def _own_identity(self) -> Identity:
        testbed = parse_testbed(self._bundle.testbed, "testbed.yaml").model
        return identity_here(testbed, [kernel.name for kernel in self._bundle.identity.kernels])

    async def teardown(self, worker: Worker) -> None:
        """End what is running, and give the machine back."""
        if self._workplace is not None:
            await asyncio.to_thread(self._workplace.close)
