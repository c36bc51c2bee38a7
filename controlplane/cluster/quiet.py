"""Dask's log, kept off the user's terminal unless something is wrong."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

SLOW_FOLDER = "Creating scratch directories is taking"
"""Dask's warning of slow network file systems, which it gives on a busy machine, too."""
TALKERS = ("distributed", "tornado", "asyncssh", "asyncio", "dask_jobqueue")


@contextmanager
def quiet(level: int = logging.CRITICAL) -> Iterator[None]:
    """Let Dask and what it uses log only what is at least so bad, in this process.

    What happens to workers and trials is said by us, a line each; Dask says it as tracebacks.

    Args:
        level: What is still logged.
    """
    import distributed  # noqa: F401, PLC0415 - sets the levels up that are changed here

    warnings.filterwarnings("ignore", message=SLOW_FOLDER)
    before = {logger: logger.level for logger in _loggers()}
    silence(level)
    try:
        yield
    finally:
        for logger, was in before.items():
            logger.setLevel(was)


def silence(level: int = logging.CRITICAL) -> None:
    """The same for the rest of this process.

    Args:
        level: What is still logged.
    """
    for logger in _loggers():
        logger.setLevel(max(level, logger.level))


def _loggers() -> list[logging.Logger]:
    """The talkers' loggers that exist: a child may have a level of its own."""
    below = tuple(f"{name}." for name in TALKERS)
    children = [n for n in logging.root.manager.loggerDict if n.startswith(below)]
    return [logging.getLogger(name) for name in (*TALKERS, *children)]
