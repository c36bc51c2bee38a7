"""What every worker process of ours does first; Dask imports this by its name (`preload`)."""

from __future__ import annotations

import logging
import signal
from typing import Any

from ..machine.log import LOG
from .quiet import silence
from .worker_log import ToldLog

PRELOAD = __name__
"""Its name, for Dask's `preload`."""


def dask_setup(worker: Any) -> None:
    """Tell clients what is logged, and leave Ctrl-C to the command that the worker belongs to.

    That ends the worker in order; a terminal sends Ctrl-C to every process of the command.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    LOG.addHandler(ToldLog(worker))


def dask_teardown(worker: Any) -> None:
    """Say nothing more: Dask ends its own silence (`silence_logs`) before it has said its last."""
    silence()
