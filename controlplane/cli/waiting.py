"""One run at a time on this machine: a command has it to itself, and may wait until it is free."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..contract.testbed import Testbed
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..machine.host.preflight import require_root
from ..machine.host.runs import OnWait, RunState, reserved
from .console import duration_text

Wait = Annotated[
    bool, typer.Option("--wait", help="Wait for another run on this machine, instead of failing.")
]


@contextmanager
def machine_for(testbed: Testbed, what: Path | str, wait: bool) -> Iterator[None]:
    """Have the machine while the block lasts, where the testbed is in real time.

    What dead runs left is removed, also where there is nothing more to run: a run may be killed
    between its last trial and its end.

    Args:
        testbed: The testbed; in virtual time it shares nothing with others.
        what: What it is for, as others are told: the folder, or the command.
        wait: Whether another run is waited for.

    Raises:
        HostError: This is not root, or another run is alive and not waited for.
    """
    if testbed.is_virtual:
        remove_dead_sessions(guests_folder())
        yield
        return
    require_root()
    told = str(what.absolute()) if isinstance(what, Path) else what
    with ExitStack() as stack:
        with _display() as show:
            stack.enter_context(reserved(told, show if wait else None))
        yield


@contextmanager
def _display() -> Iterator[OnWait]:
    """For whom this process waits: a line that is drawn anew, or one for each run elsewhere."""
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
            console.print(text, highlight=False, markup=False, soft_wrap=True)
        told.add(other.pid)

    try:
        yield show
    finally:
        line.stop()
