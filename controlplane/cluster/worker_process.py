"""What every worker process of ours does first; Dask imports this by its name (`preload`)."""

from __future__ import annotations

import signal
from typing import Any

PRELOAD = __name__
"""Its name, for Dask's `preload`."""


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the command that the worker belongs to, which ends the worker in order.

    A terminal sends it to every process of the command.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
