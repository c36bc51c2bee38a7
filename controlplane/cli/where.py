"""Where trials run, for several commands: on this machine once it is free."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer
from nashbed import place
from nashbed.place import OnWait, RunState
from rich.console import Console

from ..contract.testbed import Testbed
from .console import duration_text


@contextmanager
def machine_for(testbed: Testbed, what: Path | str, wait: bool) -> Iterator[None]:
    """Have the machine while the block lasts; for whom this process waits is shown.

    Raises:
        HostError: This is not root, or another run is alive and not waited for.
    """
    with ExitStack() as stack:
        with waiting(wait) as show:
            stack.enter_context(place.machine_for(testbed, what, show))
        yield


@contextmanager
def waiting(wait: bool) -> Iterator[OnWait | None]:
    """Shows for whom this process waits: a line that is drawn anew, or one for each run elsewhere.

    Args:
        wait: Whether another run is waited for; if not, there is nothing to call.
    """
    if not wait:
        yield None
        return
    console = Console(stderr=True)
    line = console.status("")
    begun = time.monotonic()
    told: set[int] = set()

    def show(other: RunState) -> None:
        text = f"waiting for the run in {other.run_dir} (pid {other.pid}) to end"
        if console.is_terminal:
            line.update(f"{text}: {duration_text(time.monotonic() - begun)} so far")
            line.start()
        elif other.pid not in told:
            typer.echo(text, err=True)
        told.add(other.pid)

    try:
        yield show
    finally:
        line.stop()
