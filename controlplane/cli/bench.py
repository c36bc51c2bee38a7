"""`nashbed bench`: measured speed and memory of this installation, one part at a time."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..bench import simple_switch
from ..bench.cpu import bench_cpu, cpu_traffic
from ..bench.forward import bench_forward
from ..bench.lanes import bench_lanes
from ..bench.replay import Pipeline, bench_against_simple_switch, bench_replay
from ..bench.site import BenchSite
from ..calibrate.capacity import Capacities, Lanes, check_machine
from ..config import load_testbed
from ..contract.benchmark import Figure
from ..contract.testbed import MAX_LANES
from ..contract.units import Buffer, Duration, Rate
from . import bench_all, bench_growth, bench_panel
from .bench_answer import AsJson, Folder, OnTestbed, Repetitions, Seconds, Warmup, answer
from .calibrate import find_testbed, step_display, work_folder
from .quantity import quantity

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
    repetitions: Repetitions = 7,
    flows: Annotated[int, typer.Option(min=1, max=60000, help="Flows they belong to.")] = 50,
    burst: Annotated[int, typer.Option(min=1, max=64, help="Packets that arrive at once.")] = 32,
    against: Annotated[
        bool, typer.Option("--simple-switch/--alone", help="Compare with it, where it is.")
    ] = True,
    pipeline: Annotated[Pipeline, typer.Option(help="How P4 is run.")] = Pipeline.AUTO,
    as_json: AsJson = False,
) -> int:
    """Packets through P4 ingress, queue, P4 egress and postcard, in memory, on one core.

    Where simple_switch is on PATH, the same packets go through it too, in turns.
    """
    figures = bench_replay(packets, repetitions, flows, burst, pipeline)
    if against:
        figures += _against_simple_switch(flows, pipeline)
    return answer("replay", figures, as_json)


def _against_simple_switch(flows: int, pipeline: Pipeline) -> tuple[Figure, ...]:
    if not simple_switch.available():
        _say("simple_switch is not on PATH: no comparison with it (see `nashbed doctor`)")
        return ()
    if flows > simple_switch.MAX_FLOWS:
        _say(f"simple_switch has {simple_switch.MAX_FLOWS} flow entries: no comparison with it")
        return ()
    with step_display() as tell:
        return bench_against_simple_switch(40_000, 3, flows, pipeline, tell)


@app.command(epilog="Example: nashbed bench analysis --postcards 20000000 --repetitions 3")
def analysis(
    postcards: Annotated[int, typer.Option(min=1000, help="How many to read.")] = 100_000_000,
    repetitions: Repetitions = 5,
    folder: Folder = None,
    as_json: AsJson = False,
) -> int:
    """Postcards on disk to per-flow occupancy in 10 ms bins, on one core."""
    from ..bench.postcards import bench_analysis  # noqa: PLC0415 - slow to import

    return answer("analysis", bench_analysis(postcards, repetitions, folder), as_json)


@app.command(epilog="Example: nashbed bench timestamps --packets 4000000")
def timestamps(
    packets: Annotated[int, typer.Option(min=1000, help="How many in each capture.")] = 4_000_000,
    repetitions: Repetitions = 3,
    folder: Folder = None,
    as_json: AsJson = False,
) -> int:
    """Captures on disk to the stamp of every packet, each format, on one core."""
    from ..bench.timestamps import bench_timestamps  # noqa: PLC0415 - slow to import

    return answer("timestamps", bench_timestamps(packets, repetitions, folder), as_json)


@app.command(epilog="Example: nashbed bench lanes --seconds 30 --start 12 --json")
def lanes(  # noqa: PLR0913, PLR0917 - one argument for each option
    testbed: Annotated[
        str, typer.Option(help="File, or a name in configs/testbeds/.")
    ] = "embedded",
    seconds: Annotated[float, typer.Option(min=1, help="How long lanes are measured.")] = 30.0,
    rate: Annotated[str, typer.Option(help="Rate of a lane.")] = "50mbit",
    rtt: Annotated[str, typer.Option(help="Base RTT of its flows.")] = "40ms",
    buffer: Annotated[str, typer.Option(help="Its buffer.")] = "2bdp",
    flows: Annotated[int, typer.Option(min=2, max=1000, help="Its flows, half of them BBR.")] = 10,
    start: Annotated[int, typer.Option(min=1, help="Lanes to begin the search with.")] = 12,
    most: Annotated[int | None, typer.Option(min=1, help="No more lanes than this.")] = None,
    attempts: Annotated[int, typer.Option(min=1, help="Failures that end a level.")] = 2,
    repetitions: Repetitions = 1,
    as_json: AsJson = False,
) -> int:
    """The largest total of lane rates with every gate of every lane passing (about 10 min)."""
    bed = load_testbed(find_testbed(testbed))
    lane = Lanes(
        quantity(Rate, "--rate", rate),
        quantity(Buffer, "--buffer", buffer),
        quantity(Duration, "--rtt", rtt),
        flows,
        seconds,
    )
    what = Capacities(lane, start, most, attempts)
    check_machine(bed, what)
    return answer("lanes", bench_lanes(bed, what, repetitions), as_json)


@app.command(epilog="Example: nashbed bench forward --repetitions 10 --json")
def forward(
    testbed: OnTestbed = "embedded",
    flows: Annotated[int, typer.Option(min=1, max=1000, help="CUBIC flows.")] = 4,
    repetitions: Repetitions = 5,
    seconds: Seconds = 5.0,
    warmup: Warmup = 2.0,
    as_json: AsJson = False,
) -> int:
    """Kernel TCP through the whole bottleneck and through dpdk-testpmd, in turns. As root."""
    bed = load_testbed(find_testbed(testbed))
    with work_folder(None) as folder, step_display() as tell:
        figures = bench_forward(BenchSite(bed, folder), flows, repetitions, seconds, warmup, tell)
    return answer("forward", figures, as_json)


@app.command(epilog="Example: nashbed bench cpu --lanes 12 --rate 50mbit")
def cpu(
    testbed: OnTestbed = "embedded",
    lanes: Annotated[int, typer.Option(min=1, max=MAX_LANES, help="Lanes side by side.")] = 6,
    rate: Annotated[str, typer.Option(help="Rate of each lane.")] = "50mbit",
    flows: Annotated[int, typer.Option(min=2, max=1000, help="Flows of each lane.")] = 4,
    repetitions: Repetitions = 3,
    seconds: Seconds = 10.0,
    as_json: AsJson = False,
) -> int:
    """Processor time per packet of packet loop and flow generators, in real lanes. As root."""
    bed = load_testbed(find_testbed(testbed))
    traffic = cpu_traffic(lanes, quantity(Rate, "--rate", rate), flows, seconds)
    with work_folder(None) as folder, step_display() as tell:
        figures = bench_cpu(BenchSite(bed, folder), traffic, repetitions, tell)
    return answer("cpu", figures, as_json)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


bench_panel.add_to(app)
bench_growth.add_to(app)
bench_all.add_to(app)
