"""`nashbed bench panel`: a published panel, projected or run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..bench.panel import PANEL, Settled, measured, projected
from ..config import load_scenario, load_testbed
from ..contract.benchmark import Figure
from ..contract.scenario import Scenario
from ..machine.admission import check_host
from ..run.runner import needed_disk_bytes, new_run, plan_run
from ..study import adaptive
from .bench_answer import AsJson, OnTestbed, answer
from .calibrate import find_testbed
from .carry_out import carry_out


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: nashbed bench panel --full --out results")(panel)


def panel(
    testbed: OnTestbed = "embedded",
    full: Annotated[bool, typer.Option("--full", help="Run it; else it is only planned.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder for its run directory.")] = Path(
        "results"
    ),
    as_json: AsJson = False,
) -> int:
    """The panel of Srivastava 2023 at 50 Mbit/s and 40 ms by adaptive search (--full: 20 min)."""
    loaded, bed = load_scenario(PANEL), load_testbed(find_testbed(testbed))
    plan = plan_run(loaded, bed, adaptive.expect)
    figures: tuple[Figure, ...] = (projected(plan),)
    if full:
        check_host(bed.model, out, needed_disk_bytes(plan))
        begun = time.monotonic()
        what = new_run(out, loaded, bed, plan, adaptive.make_chooser)
        carry_out(what)
        seconds = time.monotonic() - begun
        trials = sum(record.valid for record in what.directory.sealed())
        figures += of_run(what.directory.path, loaded.model, trials, seconds)
        sys.stderr.write(f"run directory: {what.directory.path} (`nashbed report` draws it)\n")
    return answer("panel", figures, as_json)


def of_run(path: Path, scenario: Scenario, trials: int, seconds: float) -> tuple[Figure, ...]:
    """The figures of a panel that was run.

    Args:
        path: Its run directory.
        scenario: Its scenario; the reference holds the published equilibria.
        trials: Its valid trials.
        seconds: How long it took.
    """
    from nashbed.analysis.nash.of_run import equilibria_of_run  # noqa: PLC0415 - slow to import

    (reference,) = scenario.reference
    published = dict(zip(reference.x, reference.y, strict=True))
    found = equilibria_of_run(path)
    settled = [
        Settled(
            buffer_bdp=each.setting.buffer_bdp,
            found=tuple(sorted(v.state[0][0] for v in each.equilibria)),
            nearly=tuple(sorted(v.state[0][0] for v in each.epsilon_equilibria)),
            published=round(published[each.setting.buffer_bdp]),
            mixes=each.state_count - each.missing_count,
        )
        for each in found
    ]
    return measured(seconds, trials, settled)
