"""`nashbed figure`: figures of a run as files."""

from __future__ import annotations

import typer

from .api_command import Call, command
from .options import Answer, app


@command(
    app,
    "runs.open_run",
    "figures.save",
    examples="Example: nashbed figure results/20260101T120000Z-quickstart throughput_by_mix "
    "--width 84mm --format pdf --format csv",
    formats=typer.Option("--format"),
    run=None,
)
def figure(open_run: Call, save: Call) -> Answer:
    """Write figures of a run for a paper, and the numbers that they show."""
    paths = [str(path) for path in save(open_run())]
    return Answer({"ok": True, "files": paths}, "\n".join(paths))
