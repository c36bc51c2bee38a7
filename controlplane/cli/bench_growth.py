"""`nashbed bench growth`: how cost grows with lanes, flows and postcards, and a plot of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..bench.growth import Series, by_flows, by_lanes, by_postcards
from ..bench.site import BenchSite
from ..config import load_testbed
from ..contract.errors import EXIT_OK
from .bench_answer import AsJson, Folder, OnTestbed
from .bench_table import short
from .calibrate import find_testbed, step_display, work_folder


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: nashbed bench growth --plot growth.png")(growth)


def growth(
    testbed: OnTestbed = "embedded",
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it (png, svg, pdf).")] = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> int:
    """Cost by lanes (1 to 64), flows (10 to 5,000) and postcards (10^5 to 10^8). 5 min, root."""
    from ..bench.postcards import bench_analysis  # noqa: PLC0415 - slow to import

    bed = load_testbed(find_testbed(testbed))
    with work_folder(None) as work, step_display() as tell:
        series = by_lanes(BenchSite(bed, work), tell)
        series += by_flows(tell)
        series += by_postcards(bench_analysis, folder, tell)
    if plot is not None:
        from nashbed.analysis.figures.growth import draw_growth  # noqa: PLC0415

        draw_growth([each.to_dict() for each in series], plot)
    told = {"ok": True, "part": "growth", "series": [each.to_dict() for each in series]}
    sys.stdout.write(json.dumps(told, indent=1) + "\n" if as_json else as_text(series))
    return EXIT_OK


def as_text(series: Sequence[Series]) -> str:
    """Each series in a few lines."""
    lines = []
    for each in series:
        lines.append(f"{each.label}, {each.y_label} by {each.x_label}:")
        pairs = zip(each.x, each.y, strict=True)
        lines.append("  " + "   ".join(f"{x:,}: {short(y)}" for x, y in pairs))
    return "\n".join(lines) + "\n"
