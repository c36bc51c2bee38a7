"""The commands: each reads its arguments, calls one function, and shows the answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..config import available_congestion_controls, check_strategies, load_scenario, load_testbed
from ..config.schemas import write_schemas
from ..contract.errors import EXIT_HOST, EXIT_OK
from ..machine.admission import check_host
from ..machine.paths import CONFIGS, DEFAULT_TESTBED
from ..run.replay import replay as run_replay
from ..run.runner import ActiveRun, needed_disk_bytes, new_run, plan_run, preview_run, resumed_run
from ..run.standing import standing
from ..study import adaptive
from . import bench, calibrate, model, results, timestamps
from . import doctor as checks
from .carry_out import carry_out
from .finish import finish
from .overview import plan_table, preview_text
from .targets import capability_table, shipped_capabilities, write_into

EXIT_CODES = """Exit codes: 0 ok, 2 configuration, 3 target, 4 host, 5 internal error,
20 an acceptance bound was missed, 130 stopped by Ctrl-C."""

app = typer.Typer(
    name="nashbed",
    help=f"Congestion controls compete at a P4 bottleneck; who gets what, and where it settles.\n\n"
    f"{EXIT_CODES}",
    epilog="Example: nashbed run configs/scenarios/quickstart.yaml",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file (configs/scenarios/...).")]
TestbedFile = Annotated[
    Path,
    typer.Option("--testbed", help="Testbed file.", show_default="configs/testbeds/embedded.yaml"),
]
RunFolder = Annotated[Path, typer.Argument(help="Run directory (results/...).")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]
Results = Annotated[Path, typer.Option("--out", help="Folder that run directories go into.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not build the report page.")]


@app.command(epilog="Example: nashbed run configs/scenarios/quickstart.yaml --out results")
def run(
    scenario: ScenarioFile,
    testbed: TestbedFile = DEFAULT_TESTBED,
    out: Results = Path("results"),
    no_report: NoReport = False,
    as_json: AsJson = False,
) -> int:
    """Run every trial of a scenario, then show the result and build its report."""
    loaded, bed = load_scenario(scenario), load_testbed(testbed)
    plan = plan_run(loaded, bed, adaptive.expect)
    check_host(bed.model, out, needed_disk_bytes(plan))
    return _carry_out(new_run(out, loaded, bed, plan, adaptive.make_chooser), no_report, as_json)


@app.command(epilog="Example: nashbed resume results/20260101T120000Z-quickstart")
def resume(run_dir: RunFolder, no_report: NoReport = False, as_json: AsJson = False) -> int:
    """Finish a run that was stopped or killed; finished trials are kept."""
    found = resumed_run(run_dir, adaptive.make_chooser)
    check_strategies(
        found.scenario.model.strategies, found.scenario.name, available_congestion_controls()
    )
    check_host(found.testbed.model, run_dir, needed_disk_bytes(found.plan, found.work))
    return _carry_out(found, no_report, as_json)


@app.command(epilog="Example: nashbed validate configs/scenarios/quickstart.yaml --json")
def validate(
    scenario: ScenarioFile, testbed: TestbedFile = DEFAULT_TESTBED, as_json: AsJson = False
) -> int:
    """Check a scenario and a testbed file; touches nothing."""
    loaded, bed = load_scenario(scenario), load_testbed(testbed)
    plan = plan_run(loaded, bed, adaptive.expect)
    answer = {"ok": True, "scenario": loaded.model.name, "testbed": bed.model.name}
    answer |= {"trials": plan.expected_trials}
    _answer(answer, as_json, f"{scenario}: ok, {plan.expected_trials} trials on {bed.model.name}")
    return EXIT_OK


@app.command(epilog="Example: nashbed plan configs/scenarios/quickstart.yaml")
def plan(
    scenario: ScenarioFile, testbed: TestbedFile = DEFAULT_TESTBED, as_json: AsJson = False
) -> int:
    """Show what a run would do, how long it takes and how much disk it needs."""
    loaded, bed = load_scenario(scenario), load_testbed(testbed)
    planned = plan_run(loaded, bed, adaptive.expect)
    found, told = standing(bed), preview_run(planned, bed.model)
    answer = planned.model_dump(mode="json") | {"certificate": found.model_dump(mode="json")}
    answer |= {"target": told} if told else {}
    _answer(answer, as_json, f"{plan_table(planned)}\n{found.detail}{preview_text(told)}")
    return EXIT_OK


@app.command(epilog="Example: nashbed report results/20260101T120000Z-quickstart --format html")
def report(
    run_dir: RunFolder,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="html, png, pdf or svg; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Build the report of a run again."""
    from nashbed.analysis.report import build_report  # noqa: PLC0415 - slow to import

    path = build_report(run_dir, tuple(formats or ("html", "png", "pdf")))
    _answer({"ok": True, "report": str(path)}, as_json, f"report: {path}")
    return EXIT_OK


@app.command(epilog="Example: nashbed ne results/20260101T120000Z-quickstart --json")
def ne(run_dir: RunFolder, as_json: AsJson = False) -> int:
    """Show the Nash equilibria of a run."""
    from nashbed.analysis.nash.of_run import equilibria_of_run  # noqa: PLC0415 - slow to import

    from .equilibria import equilibria_text  # noqa: PLC0415

    found = equilibria_of_run(run_dir)
    _answer([each.to_dict() for each in found], as_json, equilibria_text(found))
    return EXIT_OK


@app.command(epilog="Example: nashbed replay trace.pcap --scenario s.yaml --out replayed")
def replay(
    capture: Annotated[Path, typer.Argument(help="Capture file (pcap, Ethernet).")],
    scenario: Annotated[Path, typer.Option("--scenario", help="Says rate and buffer.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for departures and postcards.")],
    as_json: AsJson = False,
) -> int:
    """Put a capture through the bottleneck in virtual time: no root, no clock, exact."""
    summary = run_replay(capture, load_scenario(scenario), out)
    line = f"{summary.packets} packets, {summary.departed} departed, "
    line += f"{summary.dropped} dropped: {out}"
    _answer({"ok": True, "out": str(out), **summary.model_dump(mode="json")}, as_json, line)
    return EXIT_OK


@app.command(epilog="Example: nashbed doctor --clean")
def doctor(
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what killed runs left behind.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Say what is here, what will be skipped without it, and how to get it."""
    removed = checks.clean() if clean else []
    found = checks.examine()
    answer = {"ok": all(c.ok or not c.needed for c in found)}
    detail = {"checks": [c.to_dict() for c in found], "removed": removed}
    _answer(answer | detail, as_json, checks.as_text(found, removed))
    return EXIT_OK if answer["ok"] else EXIT_HOST


@app.command(epilog="Example: nashbed targets --json")
def targets(
    into: Annotated[
        Path | None, typer.Option("--into", help="Write the table between this file's markers.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show what each target can do."""
    found = shipped_capabilities()
    table = capability_table(found)
    if into is not None:
        write_into(into, table)
    _answer({"ok": True, "targets": [can.model_dump() for can in found]}, as_json, table)
    return EXIT_OK


@app.command(hidden=True, epilog="Example: nashbed schema --out configs/schema")
def schema(
    out: Annotated[Path, typer.Option("--out", help="Folder for the schemas.")] = CONFIGS
    / "schema",
    as_json: AsJson = False,
) -> int:
    """Write the JSON schemas of scenario and testbed files, for editors."""
    paths = [str(path) for path in write_schemas(out)]
    _answer({"ok": True, "schemas": paths}, as_json, "\n".join(paths))
    return EXIT_OK


model.add_to(app)
calibrate.add_to(app)
results.add_to(app)
timestamps.add_to(app)
app.add_typer(bench.app)


def _carry_out(what: ActiveRun, no_report: bool, as_json: bool) -> int:
    """Run the jobs with a display, then tell the result."""
    carry_out(what)
    return finish(what.directory.path, what.scenario.model, no_report, as_json)


def _answer(data: Any, as_json: bool, text: str) -> None:
    sys.stdout.write((json.dumps(data, indent=1) if as_json else text) + "\n")
