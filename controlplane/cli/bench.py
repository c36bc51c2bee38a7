"""`nashbed bench`: measured speed and memory of this installation, one part at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from nashbed.files import read_testbed, work_folder

from ..bench import against, all_parts
from ..bench.lanes import bench_lanes
from ..bench.replay import Packets, Pipeline, bench_disciplines, bench_loops, bench_replay
from ..bench.startup import bench_startup
from ..bench.virtual import bench_virtual
from ..bench.yardstick import take_yardstick, with_yardstick
from ..calibrate.capacity import Capacities, check_machine
from ..calibrate.level import Lanes
from ..contract.benchmark import BenchAnswer, Benchmark
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, HostError, need_extra
from ..machine.log import ShowStep
from ..machine.paths import MEASURED
from ..machine.sessions import check_host
from ..store.staging import write_whole
from .api_command import command
from .bench_text import SPEED, benchmarks_text, speed_table
from .console import step_display
from .documents import write_tables
from .options import Answer, TestbedName, Wait, new_app
from .where import machine_for

Repetitions = Annotated[int, typer.Option(min=1, help="Repetitions.")]
Folder = Annotated[
    Path | None, typer.Option("--dir", help="Folder for the data, which is removed afterwards.")
]

FIGURES = re.compile(r"\n {5,}|\n {4}(?=\})")
"""Ends of lines within a figure, which has one line in a file."""
CLUSTER_DISK_BYTES = 2 * 10**9
"""What the largest run of `bench cluster` writes, and more; it is removed afterwards."""

app = new_app(
    "bench",
    help="Measure speed and memory of this installation.",
    epilog="Example: nashbed bench analysis --json",
    no_args_is_help=True,
)


@command(app, examples="Example: nashbed bench startup --repetitions 20")
def startup(repetitions: Repetitions = 11) -> Answer:
    """Start-up time of `--help` and `validate`, in new processes."""
    return _answer("startup", lambda show_step: bench_startup(repetitions, show_step))


@command(app, examples="Examples: nashbed bench replay --json; nashbed bench replay --disciplines")
def replay(
    packets: Annotated[int, typer.Option(min=1000, help="Packets each time.")] = 2_000_000,
    repetitions: Repetitions = 7,
    flows: Annotated[int, typer.Option(min=1, max=60000, help="Flows they belong to.")] = 50,
    burst: Annotated[int, typer.Option(min=1, max=64, help="Packets that arrive at once.")] = 32,
    pipeline: Annotated[Pipeline, typer.Option(help="How the P4 program is run.")] = Pipeline.AUTO,
    loops: Annotated[
        int,
        typer.Option(min=1, max=16, help="Packet loops side by side, compared with one in turns."),
    ] = 1,
    disciplines: Annotated[
        bool, typer.Option("--disciplines", help="Compare each queue discipline with drop-tail.")
    ] = False,
) -> Answer:
    """Packets through the whole path in memory, on one core; with --loops also on several.

    P4 ingress, queue, P4 egress and postcard.
    """

    def measure(show_step: ShowStep) -> Iterator[Benchmark]:
        each = Packets(packets, flows, burst, pipeline)
        yield from bench_replay(each, repetitions)
        if disciplines:
            yield from bench_disciplines(each, repetitions, show_step)
        if loops > 1:
            yield from bench_loops(each, repetitions, loops, show_step)

    return _answer("replay", measure)


@command(app, examples="Example: nashbed bench analysis --postcards 20000000 --repetitions 3")
def analysis(
    postcards: Annotated[int, typer.Option(min=1000, help="Postcards to read.")] = 100_000_000,
    repetitions: Repetitions = 5,
    folder: Folder = None,
) -> Answer:
    """Postcards on disk to per-flow occupancy, on one core.

    The occupancy is in 10 ms bins.
    """
    from ..bench.postcards import bench_analysis  # noqa: PLC0415 - slow to import

    return _answer("analysis", lambda _: bench_analysis(postcards, repetitions, folder))


@command(app, examples="Example: nashbed bench lanes --seconds 30 --start 12 --json")
def lanes(
    testbed: Annotated[
        str, typer.Option(help="File, or a name in configs/testbeds/.")
    ] = "embedded",
    seconds: Annotated[float, typer.Option(min=1, help="Duration of each measurement.")] = 30.0,
    start: Annotated[
        int, typer.Option(min=1, help="Number of lanes that the search begins with.")
    ] = 12,
    repetitions: Repetitions = 1,
    wait: Wait = False,
) -> Answer:
    """The largest total rate with every gate passing (10 min).

    Lanes of 50 Mbit/s are added until a validity gate of one of them fails, or the one CUBIC flow
    of each no longer gets its share.
    """
    bed, what = read_testbed(testbed), Capacities(Lanes(seconds=seconds), start)
    with machine_for(bed.model, "nashbed bench lanes", wait):
        check_machine(bed, what)
        return _answer("lanes", lambda _: bench_lanes(bed, what, repetitions))


@command(app, examples="Example: nashbed bench virtual --repetitions 1")
def virtual(
    testbed: TestbedName = "virtual",
    repetitions: Repetitions = 3,
) -> Answer:
    """How much faster than the clock a trial in virtual time is (2 min).

    10 to 100 flows, 50 Mbit/s to 1 Gbit/s, each on one core; and the memory it takes.
    """
    bed = read_testbed(testbed)
    with work_folder() as folder:
        return _answer(
            "virtual",
            lambda show_step: bench_virtual(bed, folder, repetitions, show_step),
        )


@command(app, examples="Example: nashbed bench cluster --workers 1 --workers 2 --json")
def cluster(
    testbed: TestbedName = "virtual",
    workers: Annotated[
        list[int] | None,
        typer.Option(
            "--workers", min=1, max=64, help="Workers of this machine.", show_default="1 and 2"
        ),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Trials of each of five mixes.")] = 4,
) -> Answer:
    """What trials on Dask's workers cost (1 min).

    The same sweep in virtual time on this machine's lanes and on workers.
    """
    need_extra("cluster", "distributed")
    from ..bench.cluster import bench_cluster  # noqa: PLC0415 - Dask takes long to import

    bed = read_testbed(testbed)
    with work_folder() as folder:
        check_host(bed.model, folder, CLUSTER_DISK_BYTES)
        return _answer(
            "cluster",
            lambda show_step: bench_cluster(bed, folder, workers or [1, 2], trials, show_step),
        )


@command(
    app,
    name="all",
    examples="Examples: nashbed bench all --out build/bench.json; "
    "nashbed bench all --part virtual --against HEAD~9",
)
def every_part(
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON there, too.")] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--part", help="Only this part; the others stay in the file.", show_default="all"
        ),
    ] = None,
    machine: Annotated[
        str, typer.Option(help="What the machine is called.", show_default="its host name")
    ] = "",
    old: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="COMMIT",
            help="Build this commit too, measure both in turns, and show new/old.",
        ),
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="Turns of each with --against.")] = 3,
    wait: Wait = False,
) -> Answer:
    """Every part, one after the other (10 min, as root).

    The machine should be idle otherwise.
    """
    words, here = all_parts.words_of(parts or (), wait), all_parts.this_machine(machine)
    kept = all_parts.measured_before(out, here) if parts and out and not old else here
    measured = here
    with against.beside(old, turns) if old else nullcontext(all_parts.call) as run:
        for part in all_parts.measure_parts(words, run):
            measured, kept = measured.with_parts([part]), kept.with_parts([part])
            if out is not None:
                text = json.dumps(kept.model_dump(mode="json"), indent=1)
                _write(out, FIGURES.sub(" ", text) + "\n")
    text = benchmarks_text([each for part in measured.parts for each in part.figures])
    text += "".join(f"{p.part}: not measured: {p.error}\n" for p in measured.parts if p.error)
    return Answer(measured, text, EXIT_OK if measured.ok else EXIT_ACCEPTANCE)


@command(app, examples="Example: nashbed bench table README.md analysis/README.md")
def table(
    documents: Annotated[list[Path], typer.Argument(help="Markdown files with markers.")],
    of: Annotated[
        Path,
        typer.Option(
            "--from",
            help="What `nashbed bench all --out` wrote.",
            show_default="controlplane/bench/measured.json",
        ),
    ] = MEASURED,
) -> int:
    """Write measured speed into documents, between their markers.

    A marker names the benchmarks of its table: <!-- speed: replay_* forward_ratio -->.
    """
    measured = all_parts.read_machine(of)
    for document in documents:
        write_tables(document, SPEED, lambda marker: speed_table(measured, marker["names"].split()))
    return EXIT_OK


def _answer(part: str, measure: Callable[[ShowStep], Iterable[Benchmark]]) -> Answer:
    """Measure a part and show it; the exit code says whether all reached their bounds."""
    with step_display() as show_step:
        benchmarks = with_yardstick(part, lambda: measure(show_step), take_yardstick)
    met = all(each.met for each in benchmarks)
    said = BenchAnswer(ok=met, part=part, figures=benchmarks)
    code = EXIT_OK if met else EXIT_ACCEPTANCE
    return Answer(said, benchmarks_text(benchmarks), code)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror}") from error
