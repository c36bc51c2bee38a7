"""`nashbed figure`: figures of a run as files."""

from __future__ import annotations

import typer

from ..contract.errors import EXIT_OK
from .api_command import Call, command
from .options import AsJson, answer, app


@command(
    app,
    "runs.open_run",
    "figures.save",
    examples="Example: nashbed figure results/20260101T120000Z-quickstart throughput_by_mix "
    "--width 84mm --format pdf --format csv",
    formats=typer.Option("--format"),
    run=None,
)
def figure(open_run: Call, save: Call, as_json: AsJson = False) -> int:
    """Write figures of a run for a paper, and the numbers that they show."""
    paths = [str(path) for path in save(open_run())]
    answer({"ok": True, "files": paths}, as_json, "\n".join(paths))
    return EXIT_OK
