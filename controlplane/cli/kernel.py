"""`nashbed kernel`: the kernels for virtual time."""

from __future__ import annotations

import time

import typer
from nashbed import kernels

from .api_command import Call, command
from .console import duration_text
from .options import Answer, new_app

app = new_app(
    "kernel",
    help="Build the kernel for virtual time, or list those there are.",
    epilog="Example: nashbed kernel build 6.12",
    no_args_is_help=True,
)


@command(
    app,
    "kernels.build",
    examples="Example: nashbed kernel build 6.12",
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
