"""`nashbed run` and `nashbed resume`: carry a run out with a display, then show its results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import load_scenario
from ..contract.errors import ConfigError
from ..machine.host.preflight import require_disk
from ..machine.sessions import check_host
from ..plan.estimates import resources_of
from ..run.active_run import ActiveRun, needed_disk_bytes, new_run, resumed_run, testbed_of
from ..run.cca import ccas_of, require_strategies
from ..run.dispatcher import TrialPlace
from ..run.planning import plan_run
from ..run.runner import execute
from ..run.standing import EACH_SEAT
from ..study import adaptive
from ..study.results import results_of_run
from .options import (
    AsJson,
    OptionalTestbed,
    Results,
    RunFolder,
    ScenarioFile,
    answer,
    find_scenario,
    new_app,
)
from .progress import make_display
from .result_text import result_text
from .where import (
    On,
    PrivateNetwork,
    Wait,
    choose_testbed_for,
    chosen_cluster,
    machine_for,
    reach_cluster,
)

app = new_app()

NoReport = Annotated[bool, typer.Option("--no-report", help="Do not build the report page.")]
EXAMPLES = """Examples: nashbed run configs/scenarios/quickstart.yaml --out results;
nashbed run next.yaml --wait;
nashbed run sweep.yaml --on local:4"""


@app.command(epilog=EXAMPLES)
def run(  # noqa: PLR0913, PLR0917 - each is an option
    scenario: ScenarioFile,
    testbed: OptionalTestbed = None,
    out: Results = Path("results"),
    on: On = None,
    private_network: PrivateNetwork = False,
    wait: Wait = False,
    no_report: NoReport = False,
    as_json: AsJson = False,
) -> int:
    """Run every trial of a scenario, and show the results.

    One run at a time: with --wait it begins when the others have ended. Runs in virtual time
    exclude nobody. With --on the trials run on a cluster: in virtual time, or, with a --testbed in
    real time, on those of its workers that are testbeds.
    """
    loaded, bed = load_scenario(find_scenario(scenario)), choose_testbed_for(testbed, on)
    cluster = chosen_cluster(on, private_network, bed)
    if cluster is not None:
        with reach_cluster(cluster) as reached:
            plan = plan_run(loaded, bed, adaptive.expect, reached.seats)
            require_disk(out, needed_disk_bytes(plan))
            active = new_run(out, loaded, bed, plan, adaptive.make_chooser)
            return _finish(active, no_report, as_json, reached.place)
    plan = plan_run(loaded, bed, adaptive.expect)
    with machine_for(bed.model, out, wait):
        check_host(bed.model, out, needed_disk_bytes(plan), ccas_of(loaded, bed))
        return _finish(new_run(out, loaded, bed, plan, adaptive.make_chooser), no_report, as_json)


@app.command(epilog="Example: nashbed resume results/20260101T120000Z-quickstart")
def resume(
    run_dir: RunFolder,
    on: On = None,
    private_network: PrivateNetwork = False,
    wait: Wait = False,
    no_report: NoReport = False,
    as_json: AsJson = False,
) -> int:
    """Finish a run that was stopped or killed.

    Finished trials are kept. What one machine has begun a cluster may finish, and the other way
    round, where trials run in virtual time.
    """
    cluster = chosen_cluster(on, private_network, testbed_of(run_dir))
    if cluster is not None:
        with reach_cluster(cluster) as reached:
            resumed = resumed_run(run_dir, adaptive.make_chooser)
            require_disk(run_dir, needed_disk_bytes(resumed.plan, resumed.work))
            return _finish(resumed, no_report, as_json, reached.place)
    with machine_for(testbed_of(run_dir).model, run_dir, wait):
        resumed = resumed_run(run_dir, adaptive.make_chooser)
        _require_planned_here(resumed)
        bed, needed = resumed.testbed.model, needed_disk_bytes(resumed.plan, resumed.work)
        require_strategies(resumed.scenario, bed, resumed.ccas)
        check_host(bed, run_dir, needed, resumed.ccas)
        return _finish(resumed, no_report, as_json)


def _require_planned_here(active: ActiveRun) -> None:
    """In real time, a plan for a cluster's testbeds says nothing of what this machine carries."""
    if active.plan.capacity_from == EACH_SEAT and not active.plan.isolated:
        raise ConfigError(
            f"{active.directory.path}: was planned for real testbeds of a cluster; write --on "
            "WHERE to finish it there"
        )


def carry_out(active: ActiveRun, place: TrialPlace | None = None) -> None:
    """Run the jobs of a run with a display on standard error.

    Args:
        active: The run.
        place: Where; None: on this machine.

    Raises:
        NashbedError: What ended it early; the display has said how to go on.
    """
    display = make_display(active.plan, resources_of(active.testbed.model, active.plan))
    display.say(f"run directory: {active.directory.path}")
    certificate = active.manifest.certificate
    if certificate is not None and certificate.state != "certified":
        display.say(certificate.detail)
    if active.plan.memory_short:
        display.say(active.plan.memory_short)
    try:
        with display:
            execute(active, display.show, place)
    except BaseException:
        display.say(
            f"finished trials are kept; to continue: nashbed resume {active.directory.path}"
        )
        raise


def _finish(
    active: ActiveRun, no_report: bool, as_json: bool, place: TrialPlace | None = None
) -> int:
    """Run all jobs, then show the results; returns the exit code."""
    carry_out(active, place)
    results = results_of_run(active.directory.path, with_report=not no_report)
    answer(results.answer(), as_json, "" if as_json else result_text(results))
    return results.exit_code
