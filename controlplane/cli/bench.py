"""`nashbed bench`: measured speed and memory of this installation, one part at a time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..bench.replay import bench_replay
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK

app = typer.Typer(
    name="bench",
    help="Measure speed and memory of this installation.",
    epilog="Example: nashbed bench analysis --json",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _parts() -> None:
    """Measure speed and memory of this installation."""


@app.command(epilog="Example: nashbed bench replay --packets 5000000 --json")
def replay(
    packets: Annotated[int, typer.Option(min=1000, help="How many each time.")] = 2_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="How often.")] = 7,
    flows: Annotated[int, typer.Option(min=1, max=60000, help="Flows they belong to.")] = 50,
    burst: Annotated[int, typer.Option(min=1, max=64, help="Packets that arrive at once.")] = 32,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON on standard output.")
    ] = False,
) -> int:
    """Packets through P4 ingress, queue, P4 egress and postcard, in memory, on one core."""
    found = bench_replay(packets, repetitions, flows, burst)
    text = (
        f"{packets} packets of {flows} flows, {burst} at once, n = {repetitions}: median "
        f"{found.mpps_median:.2f} million per second ({found.mpps_low:.2f} to "
        f"{found.mpps_high:.2f}; at least 2 wanted), {found.ns_per_packet:.0f} ns a packet"
    )
    return _answer("replay", found.fast_enough, found.to_dict(), text, as_json)


@app.command(epilog="Example: nashbed bench analysis --postcards 20000000 --repetitions 3")
def analysis(
    postcards: Annotated[int, typer.Option(min=1000, help="How many to read.")] = 100_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="How often.")] = 5,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Where the data goes; it is removed.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON on standard output.")
    ] = False,
) -> int:
    """Postcards on disk to per-flow occupancy in 10 ms bins, on one core."""
    from nashbed.analysis.bench import bench_analysis  # noqa: PLC0415 - slow to import

    found = bench_analysis(postcards, repetitions, folder)
    met = found.fast_enough and found.small_enough
    text = (
        f"{found.postcards} postcards of {found.flows} flows to {found.bins} bins, "
        f"n = {repetitions}: median {found.per_s_median / 1e6:.1f} million per second "
        f"({found.per_s_low / 1e6:.1f} to {found.per_s_high / 1e6:.1f}; at least 5 wanted), "
        f"peak memory {found.peak_bytes / 2**20:.0f} MiB (below 1024 wanted), "
        f"file {found.file_bytes / 1e9:.2f} GB"
    )
    return _answer("analysis", met, found.to_dict(), text, as_json)


@app.command(epilog="Example: nashbed bench timestamps --packets 4000000")
def timestamps(
    packets: Annotated[int, typer.Option(min=1000, help="How many in each capture.")] = 4_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="How often.")] = 3,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Where the captures go; they are removed.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON on standard output.")
    ] = False,
) -> int:
    """Captures on disk to the stamp of every packet, each format, on one core."""
    from nashbed.analysis.bench_timestamps import bench_timestamps  # noqa: PLC0415 - slow to import

    found = bench_timestamps(packets, repetitions, folder)
    met = all(each.fast_enough for each in found)
    lines = [
        f"{each.form:9} {each.per_s_median / 1e6:5.2f} million packets per second "
        f"({each.file_bytes / 1e6:.0f} MB, n = {repetitions}; at least 1 wanted)"
        for each in found
    ]
    data = {"formats": [each.to_dict() for each in found]}
    return _answer("timestamps", met, data, "\n".join(lines), as_json)


def _answer(part: str, met: bool, data: dict[str, Any], text: str, as_json: bool) -> int:
    """Tell a part's result; the exit code says whether it reached what is wanted."""
    answer = {"ok": met, "part": part, **data}
    sys.stdout.write((json.dumps(answer, indent=1) if as_json else text) + "\n")
    return EXIT_OK if met else EXIT_ACCEPTANCE
