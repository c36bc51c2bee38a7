"""What a person follows meanwhile: the one logger and its file, and the callback for steps."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ShowStep = Callable[[str, int, int], None]
"""Called before each step of something long: title, steps done, steps in all."""

LOG = logging.getLogger("nashbed")

_FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)-7s %(threadName)s: %(message)s"


class _FileLog(logging.FileHandler):
    """A log that says nothing of a full disk: whoever meets it with data says it, once."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)

    def close(self) -> None:
        with suppress(OSError):  # of what could not be written
            super().close()


def log_to(path: Path) -> logging.Handler:
    """Write everything from now on to a file as well; returns the handler for `close_log`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = _FileLog(path, encoding="utf-8")
    formatter = logging.Formatter(_FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    LOG.setLevel(logging.DEBUG)
    LOG.propagate = False
    LOG.addHandler(handler)
    return handler


def close_log(handler: logging.Handler) -> None:
    """Stop writing to the handler's file."""
    LOG.removeHandler(handler)
    handler.close()
