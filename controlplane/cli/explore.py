"""`nashbed explore`: a page on loopback that looks into a run, opened in the browser."""

from __future__ import annotations

import html
import os
import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile

import typer

from ..contract.errors import EXIT_OK
from .api_command import Call, command
from .console import say
from .options import app

DISPLAYS = {"DISPLAY", "WAYLAND_DISPLAY"}
"""Without any of these variables there is no window to open."""


@command(
    app,
    "runs.open_run",
    "runs.Run.explore",
    examples="Example: nashbed explore results/20260101T120000Z-quickstart",
    port=typer.Option(min=0, max=65535),
)
def explore(open_run: Call, explore: Call, view: str = "", browser: bool = True) -> int:
    """Open a run in the browser, down to single packets.

    It serves a page on loopback until Ctrl-C. The address that it writes has a random token: only
    who knows it gets in. docs/explanation/explorer.md says what is shown.

    Args:
        view: What a link to a view has behind its #.
        browser: Open a window of the browser.
    """
    run = open_run()
    with explore(run) as server, ExitStack() as held:
        address = server.address + (f"#{view.removeprefix('#')}" if view else "")
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        is_open = browser and open_page(address, run.path, held)
        say(f"{'' if is_open else 'open this address in a browser; '}Ctrl-C ends the explorer")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
    return EXIT_OK


def open_page(address: str, folder: Path, held: ExitStack) -> bool:
    """Open an address in the browser, if there is one with windows; returns whether it was.

    Args:
        folder: A folder that the browser can read: one that is packaged cannot read /tmp.
        held: Removes what the browser has read.
    """
    if not DISPLAYS & os.environ.keys():
        return False
    try:
        # `ps` shows everybody a browser's arguments, but nobody else can read this file.
        page = NamedTemporaryFile("w", dir=folder, prefix="explore-", suffix=".html")  # noqa: SIM115
    except OSError:
        return False
    held.enter_context(page)
    page.write(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">\n')
    page.flush()
    return webbrowser.open(Path(page.name).absolute().as_uri())
