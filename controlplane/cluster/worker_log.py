"""What a worker logs stands in the log of the run that it works for, with the worker's name."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from .plugin import RunOnWorker
from .topics import LOGGED, topic_of

_STANDARD_ERROR = logging.StreamHandler()


class ToldLog(logging.Handler):
    """Tells the clients of all runs that a worker has part in; without one, standard error.

    Args:
        worker: Dask's worker, the only one of its process.
    """

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
