"""What workers are called to do, by name."""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
import traceback
from typing import Any

from distributed import get_worker
from distributed.utils import sync
from distributed.worker import Worker

from ..contract.errors import Interrupted, NashbedError
from ..machine.log import LOG
from ..store.errors import DiskFullError, disk_errors
from .failures import failure_of
from .identity import KernelIdentity
from .kernels import install_kernel
from .parcel import pack
from .plugin import RunOnWorker, plugin_name
from .request import Failure, Sent, TrialAssignment, TrialOutcome
from .topics import STARTED, topic_of


def run_trial(text: str) -> TrialOutcome:
    """Run a trial on this worker.

    Args:
        text: A `TrialAssignment`, as JSON.

    Returns:
        The sealed trial, or why there is none: nothing is raised, so that a client can tell a trial
        that failed from a worker that is gone.
    """
    worker = get_worker()
    request = TrialAssignment.model_validate_json(text)
    tell_start(worker, request)
    try:
        return _outcome(worker, request)
    except NashbedError as error:
        if _takes_part(worker, request.run) and not isinstance(error, Interrupted):
            LOG.warning("%s failed: %s", request.trial.attempt_id(request.attempt), error.message)
        if _takes_part(worker, request.run) and isinstance(error, DiskFullError):
            _leave(worker, request.run, error.message)
        failure = _failure(worker, error, error.message)
    except Exception as error:
        if _takes_part(worker, request.run):  # else what it used has been taken away meanwhile
            LOG.exception("a trial failed on worker %s", worker.address)
        failure = _failure(worker, error, traceback.format_exc())
    return TrialOutcome(worker.address, failure=failure.model_dump_json())


def _leave(worker: Worker, run: str, reason: str) -> None:
    """Take no part in a run any more, before the client hands the trial out again."""
    plugin = worker.plugins[plugin_name(run)]
    assert isinstance(plugin, RunOnWorker)
    wait: Any = sync  # Dask has no types
    wait(worker.loop, plugin.leave, worker, reason)


def _takes_part(worker: Worker, run: str) -> bool:
    """Whether the run is still on this worker; if not, nobody waits for what fails here."""
    plugin = worker.plugins.get(plugin_name(run))
    return isinstance(plugin, RunOnWorker) and plugin.takes_part


def _outcome(worker: Worker, request: TrialAssignment) -> TrialOutcome:
    plugin = worker.plugins[plugin_name(request.run)]
    assert isinstance(plugin, RunOnWorker), "tasks come only to workers with the run's resource"
    workplace = plugin.workplace
    began_at = time.time()
    sealed = workplace.run(request)
    ended_at = time.time()
    try:
        with disk_errors(sealed.folder):
            parcel = pack(sealed.folder, plugin.shared).to_bytes()
    finally:
        shutil.rmtree(sealed.folder, ignore_errors=True)
    sent = Sent(lab=sealed.lab.facts(), ran_on=workplace.ran_on)
    return TrialOutcome(
        worker.address, sent.model_dump_json(), parcel, began_at=began_at, ended_at=ended_at
    )


async def take_kernels(
    run: str, kernels: list[tuple[str, bytes]], dask_worker: Worker | None = None
) -> None:
    """Install kernels of virtual time on this worker's machine, then take part in a run.

    Args:
        run: The run's name.
        kernels: A `KernelIdentity` as JSON and the kernel, each.
        dask_worker: This worker; Dask names it.
    """
    assert dask_worker is not None
    plugin = dask_worker.plugins[plugin_name(run)]
    assert isinstance(plugin, RunOnWorker)
    for identity, data in kernels:
        kernel = KernelIdentity.model_validate_json(identity)
        try:
            await asyncio.to_thread(install_kernel, kernel, data)
        except NashbedError as error:
            plugin.refuse(dask_worker, [error.message])
            return
    await plugin.join(dask_worker)


async def look_again(run: str, dask_worker: Worker | None = None) -> None:
    """Take part in a run if another worker of this machine was given the kernels meanwhile.

    Args:
        run: The run's name.
        dask_worker: This worker; Dask names it.
    """
    assert dask_worker is not None
    plugin = dask_worker.plugins[plugin_name(run)]
    assert isinstance(plugin, RunOnWorker)
    await plugin.setup(dask_worker)


async def answer_offer(run: str, refusal: str, dask_worker: Worker | None = None) -> None:
    """Take part in a run with this worker's real testbed, or give it back.

    Args:
        run: The run's name.
        refusal: Why not; empty: it takes part.
        dask_worker: This worker; Dask names it.
    """
    assert dask_worker is not None
    plugin = dask_worker.plugins[plugin_name(run)]
    assert isinstance(plugin, RunOnWorker)
    if refusal:
        await plugin.teardown(dask_worker)
        plugin.refuse(dask_worker, [refusal])
    else:
        await plugin.take_part(dask_worker)


def tell_start(worker: Worker, request: TrialAssignment) -> None:
    """Tell the client that a trial has begun here.

    Args:
        worker: This worker.
        request: The trial.
    """
    told = {
        "what": STARTED,
        "trial": request.trial.attempt_id(request.attempt),
        "worker": worker.address,
        "name": str(worker.name),
    }
    worker.log_event(topic_of(request.run), told)


def _failure(worker: Worker, error: Exception, words: str) -> Failure:
    where = f"worker {worker.name} on {socket.gethostname()}"
    return failure_of(error, f"{where}: {words}")
