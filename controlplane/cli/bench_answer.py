"""What the parts of `nashbed bench` have in common on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..contract.benchmark import Figure
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from .bench_table import show_figures

AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]
Repetitions = Annotated[int, typer.Option(min=1, help="How often.")]
Folder = Annotated[Path | None, typer.Option("--dir", help="Where the data goes; it is removed.")]
OnTestbed = Annotated[
    str, typer.Option("--testbed", help="Testbed file, or the name of one in configs/testbeds/.")
]
Seconds = Annotated[float, typer.Option(min=0.2, max=3600.0, help="Measured, each time.")]
Warmup = Annotated[float, typer.Option(min=0.0, max=600.0, help="Seconds before that.")]


def answer(part: str, figures: Sequence[Figure], as_json: bool) -> int:
    """Tell a part's figures; the exit code says whether they reached what is wanted."""
    met = all(figure.met for figure in figures)
    told = {"ok": met, "part": part, "figures": [figure.to_dict() for figure in figures]}
    if as_json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    else:
        show_figures(figures)
    return EXIT_OK if met else EXIT_ACCEPTANCE
