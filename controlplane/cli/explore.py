"""`nashbed explore`: a page on loopback that looks into a run."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..contract.errors import EXIT_OK
from .api_command import Call, command
from .options import app


@command(
    app,
    "runs.open_run",
    "runs.Run.explore",
    examples="Example: nashbed explore results/20260101T120000Z-quickstart",
    port=typer.Option(min=0, max=65535),
)
def explore(
    open_run: Call,
    explore: Call,
    view: Annotated[
        str, typer.Option("--view", help="What a link to a view has behind its #.")
    ] = "",
) -> int:
    """Open a run in the browser, down to single packets.

    It serves a page on loopback until Ctrl-C. The address that it writes has a random token: only
    who knows it gets in. docs/explanation/explorer.md says what is shown.
    """
    with explore(open_run()) as server:
        sys.stdout.write(server.address + (f"#{view.removeprefix('#')}" if view else "") + "\n")
        sys.stdout.flush()
        sys.stderr.write("open this address in a browser; Ctrl-C ends the explorer\n")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
    return EXIT_OK
