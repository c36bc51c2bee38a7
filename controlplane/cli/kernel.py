"""`nashbed kernel`: the kernels for virtual time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from nashbed import kernels
from nashbed.steps import ShowStep
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .api_command import Call, command
from .console import duration_text
from .options import Answer, new_app

LINE_EVERY_S = 15.0

app = new_app(
    "kernel",
    help="Build the kernel for virtual time, or list those there are.",
    epilog="Example: nashbed kernel build 6.12",
    no_args_is_help=True,
)


@contextmanager
def build_display() -> Iterator[ShowStep]:
    """A bar on a terminal, a line now and then elsewhere; on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console).show
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[files]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=None, files="")

        def show(what: str, done: int, total: int) -> None:
            files = f"{done} of about {total} files" if total else ""
            progress.update(
                task, description=what, completed=done, total=total or None, files=files
            )

        yield show


class _Lines:
    """Plain lines: one for each step, and while a step takes long."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""
        self._said_s = 0.0

    def show(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if what == self._last and now - self._said_s < LINE_EVERY_S:
            return
        self._last, self._said_s = what, now
        files = f": {done} of about {total} files" if total else ""
        self._console.print(f"kernel: {what}{files}", highlight=False, soft_wrap=True)


@command(
    app,
    "kernels.build",
    examples="Example: nashbed kernel build 6.12",
    display=build_display,
    source=typer.Argument(),
    jobs=typer.Option("--jobs", "-j", min=0),
)
def build(build: Call) -> Answer:
    """Build a kernel, unless it is built already."""
    started = time.monotonic()
    kernel, is_new = build()
    taken = f" (in {duration_text(time.monotonic() - started)})" if is_new else ""
    text = f"kernel {kernel.release} is built{taken}: {kernel.binary}"
    return Answer({"ok": True, "built_now": is_new, "kernel": kernel}, text)


@command(app, name="list", examples="Example: nashbed kernel list --json")
def list_kernels() -> Answer:
    """List the kernels that are built."""
    built = kernels.built()
    lines = [f"{k.release}  {k.package}  {k.digest[:12]}  {k.binary}" for k in built]
    text = "\n".join(lines) or f"none in {kernels.folder()}; run `make virtual`"
    return Answer({"ok": True, "kernels": built}, text)
