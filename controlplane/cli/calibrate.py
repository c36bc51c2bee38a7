"""`nashbed calibrate`: prove a testbed, write its certificate, show what was measured."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..calibrate.capacity import Capacities, why_not
from ..calibrate.capacity.measure import PANEL_LANES
from ..calibrate.load.choose import choose_load
from ..calibrate.runner import Calibration, Tell, check, execute
from ..calibrate.settings import make_settings
from ..config import load_testbed
from ..contract.certificate import Certificate
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError, HostError
from ..contract.testbed import Testbed
from ..contract.units import Duration, Rate
from ..machine.paths import CONFIGS
from ..run.standing import certificate_path
from ..targets import capabilities_of
from .overview import as_text
from .quantity import quantity

MAX_BASE_RTTS = 16
EPILOG = """Examples: nashbed calibrate embedded --json; nashbed calibrate mine.yaml --rate 50mbit
--rtt 40ms; nashbed calibrate lab.yaml --load pktgen:loadhost:22022"""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=EPILOG)(calibrate)


def calibrate(  # noqa: PLR0913, PLR0917 - one argument for each option
    testbed: Annotated[
        str, typer.Argument(help="Testbed file, or the name of one in configs/testbeds/.")
    ],
    rate: Annotated[
        list[str] | None,
        typer.Option("--rate", help="Bottleneck rate to prove; repeatable. Default: the testbed's "
                     "capacity and a tenth of it."),
    ] = None,
    rtt: Annotated[
        list[str] | None,
        typer.Option("--rtt", help="Base RTT to prove; repeatable. Default: 5, 20, 40, 100 ms."),
    ] = None,
    load: Annotated[
        str,
        typer.Option(
            metavar="GENERATOR",
            help="own, testpmd, pktgen[:HOST[:PORT]] (a running Pktgen-DPDK's Lua socket), or "
            "auto: the one that suits the rate.",
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The certificate. Default: TESTBED.certificate.json."),
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep the log and raw measurements here.")
    ] = None,
    capacity: Annotated[
        bool,
        typer.Option(help="Measure what it carries at once with every gate passing (10 min more)."),
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> int:  # fmt: skip
    """Prove a testbed before it is believed: rate, drop point, base RTT, queues, telemetry.

    Then its capacity is measured, for runs whose testbed file states none. Exit code 20 when a
    bound was missed; the certificate then says which.
    """
    bed = load_testbed(find_testbed(testbed))
    settings = make_settings(
        bed.model,
        capabilities_of(bed.model),
        tuple(quantity(Rate, "--rate", text) for text in rate or ()),
        _base_rtts(rtt or []),
    )
    make_load = choose_load(load, bed.model)
    capacities = _capacities(bed.model) if capacity else None
    place = certificate_path(bed) if out is None else out
    with work_folder(keep) as work, step_display() as tell:
        what = Calibration(bed, settings, place, work, make_load, capacities)
        check(what)
        certificate = execute(what, tell)
    answer = {"ok": certificate.passed, "certificate": str(place)}
    answer |= certificate.model_dump(mode="json")
    text = json.dumps(answer, indent=1) + "\n" if as_json else as_person(certificate, place)
    sys.stdout.write(text)
    return EXIT_OK if certificate.passed else EXIT_ACCEPTANCE


def _capacities(testbed: Testbed) -> Capacities | None:
    """What capacity to look for; None, and the reason on standard error, where there is none."""
    reason = why_not(testbed, capabilities_of(testbed), PANEL_LANES.rate)
    if reason:
        sys.stderr.write(f"capacity is not measured: {reason}\n")
        return None
    return Capacities()


def find_testbed(name: str) -> Path:
    """A testbed file: a path, or a bare name of one that is shipped."""
    if "/" in name or name.endswith((".yaml", ".yml")):
        return Path(name)
    path = CONFIGS / "testbeds" / f"{name}.yaml"
    if not path.exists():
        known = sorted(p.stem for p in path.parent.glob("*.yaml") if "example" not in p.name)
        raise ConfigError(
            f"testbed {name!r}: no such file in configs/testbeds/; there are {', '.join(known)} "
            "(or write a path)"
        )
    return path


def as_person(certificate: Certificate, place: Path) -> str:
    """The verdicts as a table."""
    table = Table(title=f"{certificate.testbed}: {certificate.created_utc}")
    for name in ("", "check", "at", "error", "allowed", "measured"):
        table.add_column(name, justify="right" if name in ("error", "allowed") else "left")
    for each in certificate.checks:
        table.add_row(
            "met" if each.passed else "MISSED",
            each.name,
            each.setting,
            "-" if each.value is None else f"{each.value:.4g} {each.unit}",
            f"{each.limit:g} {each.unit}",
            each.detail,
        )
    verdict = "calibrated" if certificate.passed else "NOT calibrated: a bound was missed"
    text = as_text(table, width=150)
    if certificate.capacity is not None:
        carried = certificate.capacity
        text += f"capacity: {carried.rate} at once, {carried.lanes} lanes, every gate passing\n"
    return text + f"{verdict}; certificate: {place}\n"


def _base_rtts(texts: list[str]) -> tuple[Duration, ...]:
    if len(texts) > MAX_BASE_RTTS:
        raise ConfigError(f"--rtt: a lane has at most {MAX_BASE_RTTS} flow groups")
    return tuple(quantity(Duration, "--rtt", text) for text in texts)


@contextmanager
def work_folder(keep: Path | None) -> Iterator[Path]:
    """A new folder for logs and raw measurements; removed afterwards unless it is to be kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="nashbed-") as folder:
            yield Path(folder)
        return
    try:
        keep.mkdir(parents=True)
    except FileExistsError as error:
        raise ConfigError(f"{keep}: exists already; --keep wants a new folder") from error
    except OSError as error:
        raise HostError(f"{keep}: cannot be made: {error.strerror}") from error
    yield keep.resolve()


@contextmanager
def step_display() -> Iterator[Tell]:
    """A bar on a terminal, plain lines elsewhere; on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda title, done, total: console.print(f"{done}/{total} {title}", highlight=False)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("preparing", total=None)
        yield lambda title, done, total: progress.update(
            task, description=title, completed=done, total=total
        )
