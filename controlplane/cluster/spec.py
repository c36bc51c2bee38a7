"""A Dask cluster of parts that are started one by one: hosts by ssh, or jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..contract.cluster import ClusterTls
from ..contract.errors import HostError
from .security import dask_security

Part = Mapping[str, Any]
"""As Dask writes it: class (`cls`), its arguments (`options`), and `group`, the endings of the
names of its workers where it has several."""


@contextmanager
def started(
    scheduler: Part,
    workers: Mapping[int, Part],
    tls: ClusterTls | None,
    explain: Callable[[Exception], str],
) -> Iterator[Any]:
    """Start a scheduler and workers, and end all of them when the context is left.

    Unlike Dask's own makers of such clusters, it fails when a part cannot be started, and each
    part has arguments of its own.

    Args:
        scheduler: The scheduler.
        workers: Hosts or jobs by number.
        tls: Certificates, if it has some.
        explain: What a part raised, for the user; it may be the cause of another error.

    Yields:
        Dask's SpecCluster.

    Raises:
        HostError: A part could not be started; what had been started has ended.
    """
    import distributed  # noqa: PLC0415 - Dask takes long to import

    make: Any = distributed.SpecCluster  # Dask has no types
    try:
        cluster = make(
            workers=dict(workers),
            scheduler=dict(scheduler),
            security=dask_security(tls),
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
    """Arguments of a scheduler on any free port; what is None is left out.

    Args:
        tls: Certificates, if it has some.
        options: More arguments of Dask's scheduler.
    """
    found = {"protocol": "tcp://" if tls is None else "tls://", "port": 0, **options}
    return {key: value for key, value in found.items() if value is not None}


def first_words(error: BaseException) -> str:
    """What an error says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
