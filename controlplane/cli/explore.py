"""`nashbed explore`: a page on loopback that looks into a run."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..contract.errors import EXIT_OK, HostError
from ..machine.kernels.cache import kernel_cache
from .options import RunFolder, new_app

PYRAMIDS = "pyramids"
"""The folder beside the kernels' for what is made of runs that cannot be written to."""
app = new_app()


@app.command(epilog="Example: nashbed explore results/20260101T120000Z-quickstart")
def explore(
    run_dir: RunFolder,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free one.")] = 0,
    view: Annotated[
        str, typer.Option("--view", help="What a link to a view has behind its #.")
    ] = "",
) -> int:
    """Open a run in the browser, down to single packets.

    It serves a page on loopback until Ctrl-C. The address that it writes has a random token: only
    who knows it gets in.
    docs/explanation/explorer.md says what is shown.
    """
    from nashbed.analysis.explore.content import Explorer  # noqa: PLC0415 - slow to import
    from nashbed.analysis.explore.server import ExplorerServer  # noqa: PLC0415 - slow to import
    from nashbed.controlplane.store.finished_run import open_run  # noqa: PLC0415 - slow to import

    open_run(run_dir)
    explorer = Explorer(run_dir.resolve(), kernel_cache().with_name(PYRAMIDS))
    try:
        server = ExplorerServer(explorer, port)
    except OSError as error:
        raise HostError(f"port {port}: {error.strerror}; give another, or --port 0") from error
    sys.stdout.write(server.address + (f"#{view.removeprefix('#')}" if view else "") + "\n")
    sys.stdout.flush()
    sys.stderr.write("open this address in a browser; Ctrl-C ends the explorer\n")
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
    return EXIT_OK
