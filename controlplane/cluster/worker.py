"""A worker process of ours: what it does first (Dask's `preload`), its log, and its trials."""

import logging
import shutil
import signal
import socket
import time
import traceback
from contextlib import suppress
from typing import Any

from distributed import get_worker
from distributed.utils import sync
from distributed.worker import Worker

from ..contract.errors import Interrupted, NashbedError
from ..machine.log import attach
from ..store.errors import DiskFullError, disk_errors
from .parcel import pack
from .plugin import RunOnWorker, plugin_name, run_on
from .request import (
    LOGGED,
    STARTED,
    Failure,
    SentFacts,
    TrialAssignment,
    TrialOutcome,
    failure_of,
    topic_of,
)
from .security import close_http, guard_tls
from .starting import silence

LOG = logging.getLogger(__name__)

_STANDARD_ERROR = logging.StreamHandler()


def dask_setup(worker: Any) -> None:
    """Tell clients what is logged, and leave Ctrl-C to the command that the worker belongs to.

    That ends the worker in order; a terminal sends Ctrl-C to every process of the command.
    """
    guard_tls()
    close_http(worker)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    attach(ClientLogHandler(worker), logging.INFO)


def dask_teardown(worker: Any) -> None:
    """Say nothing more: Dask ends its own silence (`silence_logs`) before it has said its last."""
    silence()


class ClientLogHandler(logging.Handler):
    """Tells the clients of all runs that a worker has part in; without one, standard error."""

    def __init__(self, worker: Any) -> None:
        super().__init__(logging.INFO)
        self._worker = worker

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a line, and the traceback that belongs to it."""
        runs = [p.run for p in list(self._worker.plugins.values()) if isinstance(p, RunOnWorker)]
        told = {
            "what": LOGGED,
            "worker": self._worker.address,
            "name": str(self._worker.name),
            "level": record.levelno,
            "line": self.format(record),
        }
        for run in runs:
            with suppress(Exception):  # of a connection that has just ended
                self._worker.log_event(topic_of(run), told)
        if not runs and record.levelno >= logging.WARNING:
            _STANDARD_ERROR.handle(record)


def run_trial(text: str) -> TrialOutcome:
    """Run a trial on this worker; Dask calls it.

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


def tell_start(worker: Worker, request: TrialAssignment) -> None:
    """Tell the client that a trial has begun here."""
    told = {
        "what": STARTED,
        "trial": request.trial.attempt_id(request.attempt),
        "worker": worker.address,
        "name": str(worker.name),
    }
    worker.log_event(topic_of(request.run), told)


def _outcome(worker: Worker, request: TrialAssignment) -> TrialOutcome:
    plugin = run_on(worker, request.run)
    workplace = plugin.workplace
    began_at = time.time()
    sealed = workplace.run(request)
    ended_at = time.time()
    try:
        with disk_errors(sealed.folder):
            parcel = pack(sealed.folder, plugin.shared).to_bytes()
    finally:
        shutil.rmtree(sealed.folder, ignore_errors=True)
    sent = SentFacts(lab=sealed.lab.facts(), ran_on=workplace.ran_on)
    return TrialOutcome(
        worker.address, sent.model_dump_json(), parcel, began_at=began_at, ended_at=ended_at
    )


def _takes_part(worker: Worker, run: str) -> bool:
    """Whether the run is still on this worker; if not, nobody waits for what fails here."""
    plugin = worker.plugins.get(plugin_name(run))
    return isinstance(plugin, RunOnWorker) and plugin.takes_part


def _leave(worker: Worker, run: str, reason: str) -> None:
    """Take no part in a run any more, before the client hands the trial out again."""
    wait: Any = sync  # Dask has no types
    wait(worker.loop, run_on(worker, run).leave, worker, reason)


def _failure(worker: Worker, error: Exception, words: str) -> Failure:
    where = f"worker {worker.name} on {socket.gethostname()}"
    return failure_of(error, f"{where}: {words}")
