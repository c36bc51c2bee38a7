"""What all ways to start parts of a Dask cluster share: our defaults, a quiet log, their set-up."""

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dask.config
import distributed

from ..contract.cluster import ClusterTls
from ..contract.errors import HostError
from .security import guard_tls

PRELOAD = f"{__package__}.worker"
"""What Dask imports first in every worker process of ours."""
PRELOAD_KEEPER = f"{__package__}.security"
"""What it imports first in a scheduler or a nanny of ours that is in a process of its own."""
CLOSE_S = 10.0
"""How long a worker may take to end before it is killed."""
WORKER_TTL = "60 s"
"""A worker whose connection lives but which says nothing for so long is started anew (Dask looks
once in that time, so it may take twice as long). Dask's own five minutes are long where one that
hangs holds a trial up; a worker says something at least every 6 s, with a thousand of them."""
SLOW_FOLDER = "Creating scratch directories is taking"
"""Dask's warning of slow network file systems, which it gives on a busy machine, too."""
TALKERS = ("distributed", "tornado", "asyncssh", "asyncio", "dask_jobqueue")
Part = Mapping[str, Any]
"""As Dask writes it: class (`cls`), its arguments (`options`), and `group`, the endings of the
names of its workers where it has several."""


@contextmanager
def started(
    scheduler: Part,
    workers: Mapping[int, Part],
    explain: Callable[[Exception], str],
) -> Iterator[Any]:
    """Start a scheduler and workers (hosts by ssh, or jobs), and end all when the context is left.

    Unlike Dask's own makers of such clusters, it fails when a part cannot be started, and each
    part has arguments of its own.

    Args:
        workers: Hosts or jobs by number.
        explain: What a part raised, for the user; it may be the cause of another error.

    Raises:
        HostError: A part could not be started; what had been started has ended.
    """
    make: Any = distributed.SpecCluster  # Dask has no types
    try:
        cluster = make(
            workers=dict(workers),
            scheduler=dict(scheduler),
            silence_logs=logging.CRITICAL,
        )
    except Exception as error:
        raise HostError(explain(_first(error))) from error
    with cluster:
        yield cluster


def _first(error: Exception) -> Exception:
    """What went wrong first: Dask then closes parts that never started, and asserts they had."""
    while isinstance(error, AssertionError) and isinstance(error.__context__, Exception):
        error = error.__context__
    return error


def scheduler_options(tls: ClusterTls | None, **options: Any) -> dict[str, Any]:
    """Arguments of a scheduler on any free port; what is None is left out."""
    found = {"protocol": "tcp://" if tls is None else "tls://", "port": 0, **options}
    return {key: value for key, value in found.items() if value is not None}


def first_words(error: BaseException) -> str:
    """What an error says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def configured_dask(tls: ClusterTls | None = None) -> Iterator[None]:
    """Have Dask as we use it in this process, with its log kept off the user's terminal.

    Every part of a cluster takes its certificates from Dask's configuration, also what ssh starts.

    What happens to workers and trials is said by us, a line each; Dask says it as tracebacks, in
    loggers of several libraries, which its own `silence_logs` does not reach. Its configuration
    gets our default of `worker-ttl`; what the user has configured stays.
    """
    guard_tls()
    change: Any = dask.config.update_defaults  # Dask has no types
    change({"distributed": {"scheduler": {"worker-ttl": WORKER_TTL}}})
    warnings.filterwarnings("ignore", message=SLOW_FOLDER)
    before = {logger: logger.level for logger in _loggers()}
    silence()
    try:
        with dask.config.set(_encryption(tls)):
            yield
    finally:
        for logger, was in before.items():
            logger.setLevel(was)


def _encryption(tls: ClusterTls | None) -> dict[str, Any]:
    if tls is None:
        return {}
    keys: dict[str, Any] = {"require-encryption": True, "tls.ca-file": tls.ca}
    for role in ("scheduler", "worker", "client"):
        keys |= {f"tls.{role}.cert": tls.certificate, f"tls.{role}.key": tls.key}
    return {f"distributed.comm.{key}": value for key, value in keys.items()}


def silence() -> None:
    """Let Dask and what it uses log only what is critical, for the rest of this process."""
    for logger in _loggers():
        logger.setLevel(max(logging.CRITICAL, logger.level))


def _loggers() -> list[logging.Logger]:
    """The talkers' loggers that exist: a child may have a level of its own."""
    below = tuple(f"{name}." for name in TALKERS)
    children = [n for n in logging.root.manager.loggerDict if n.startswith(below)]
    return [logging.getLogger(name) for name in (*TALKERS, *children)]
