"""`nashbed bench`: measured speed and memory of this installation, one part at a time."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..bench.replay import bench_replay
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from ..contract.figure import Figure
from .bench_table import show_figures

app = typer.Typer(
    name="bench",
    help="Measure speed and memory of this installation.",
    epilog="Example: nashbed bench analysis --json",
    no_args_is_help=True,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]
Repetitions = Annotated[int, typer.Option(min=1, help="How often.")]
Folder = Annotated[Path | None, typer.Option("--dir", help="Where the data goes; it is removed.")]


@app.callback()
def _parts() -> None:
    """Measure speed and memory of this installation."""


@app.command(epilog="Example: nashbed bench replay --packets 5000000 --json")
def replay(
    packets: Annotated[int, typer.Option(min=1000, help="How many each time.")] = 2_000_000,
    repetitions: Repetitions = 7,
    flows: Annotated[int, typer.Option(min=1, max=60000, help="Flows they belong to.")] = 50,
    burst: Annotated[int, typer.Option(min=1, max=64, help="Packets that arrive at once.")] = 32,
    as_json: AsJson = False,
) -> int:
    """Packets through P4 ingress, queue, P4 egress and postcard, in memory, on one core."""
    return _answer("replay", bench_replay(packets, repetitions, flows, burst), as_json)


@app.command(epilog="Example: nashbed bench analysis --postcards 20000000 --repetitions 3")
def analysis(
    postcards: Annotated[int, typer.Option(min=1000, help="How many to read.")] = 100_000_000,
    repetitions: Repetitions = 5,
    folder: Folder = None,
    as_json: AsJson = False,
) -> int:
    """Postcards on disk to per-flow occupancy in 10 ms bins, on one core."""
    from nashbed.analysis.bench import bench_analysis  # noqa: PLC0415 - slow to import

    return _answer("analysis", bench_analysis(postcards, repetitions, folder), as_json)


@app.command(epilog="Example: nashbed bench timestamps --packets 4000000")
def timestamps(
    packets: Annotated[int, typer.Option(min=1000, help="How many in each capture.")] = 4_000_000,
    repetitions: Repetitions = 3,
    folder: Folder = None,
    as_json: AsJson = False,
) -> int:
    """Captures on disk to the stamp of every packet, each format, on one core."""
    from nashbed.analysis.bench_timestamps import bench_timestamps  # noqa: PLC0415 - slow to import

    return _answer("timestamps", bench_timestamps(packets, repetitions, folder), as_json)


def _answer(part: str, figures: Sequence[Figure], as_json: bool) -> int:
    """Tell a part's figures; the exit code says whether they reached what is wanted."""
    met = all(figure.met for figure in figures)
    answer = {"ok": met, "part": part, "figures": [figure.to_dict() for figure in figures]}
    if as_json:
        sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    else:
        show_figures(figures)
    return EXIT_OK if met else EXIT_ACCEPTANCE
