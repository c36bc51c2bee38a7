"""What a person follows meanwhile: the log, in a file or on standard error, and steps.

Each module logs by a logger of its own name, below `nashbed`. Importing configures nothing: a
command says where the log goes (`log_to`, `shown_log`), and so may a program that uses these
packages as a library.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..contract.errors import ConfigError

ShowStep = Callable[[str, int, int], None]
"""Called before each step of something long: title, steps done, steps in all."""

LOG = logging.getLogger("nashbed")
"""Above the loggers of all modules: what is attached to it hears all of them."""

LEVELS = ("debug", "info", "warning", "error")
"""What can be shown, from everything to next to nothing."""

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
    attach(handler, logging.DEBUG)
    return handler


def attach(handler: logging.Handler, level: int) -> None:
    """Have a handler hear the loggers of all modules from now on, and nobody above it."""
    LOG.setLevel(level)
    LOG.propagate = False
    LOG.addHandler(handler)


class _StandardError(logging.Handler):
    """Writes to what standard error is now: a display that is drawn anew stands in for it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:
            self.handleError(record)


@contextmanager
def shown_log(level: str = "info") -> Iterator[None]:
    """Show the log on standard error as well, while the block lasts.

    Args:
        level: The least that is shown: debug, info, warning or error.

    Raises:
        ConfigError: There is no such level.
    """
    if level not in LEVELS:
        raise ConfigError(f"{level!r} is no level; write {', '.join(LEVELS)}")
    handler = _StandardError(level.upper())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    LOG.setLevel(min(handler.level, LOG.level or handler.level))
    LOG.addHandler(handler)
    try:
        yield
    finally:
        close_log(handler)


def close_log(handler: logging.Handler) -> None:
    """Stop writing to the handler's place."""
    LOG.removeHandler(handler)
    handler.close()
