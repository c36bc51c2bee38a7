"""The end of a run: the table, the report's path, the acceptance bounds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.table import Table

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from ..contract.scenario import Scenario
from .overview import as_text

Rows = list[dict[str, Any]]


def finish(run_dir: Path, scenario: Scenario, no_report: bool, as_json: bool) -> int:
    """Show a finished run; returns the exit code.

    Args:
        run_dir: The run directory.
        scenario: Its scenario.
        no_report: Do not build the report page.
        as_json: Answer in JSON.
    """
    page = None if no_report else _report(run_dir)
    rows, bounds = _measure(run_dir) if page is None else _read_summary(run_dir)
    missed = [bound for bound in bounds if not bound["passed"]]
    code = EXIT_ACCEPTANCE if missed else EXIT_OK
    if as_json:
        answer = {"ok": not missed, "run_dir": str(run_dir), "exit_code": code, "rows": rows}
        answer |= {"acceptance": bounds, "report": str(page) if page else None}
        sys.stdout.write(json.dumps(answer, indent=1) + "\n")
    else:
        sys.stdout.write(result_text(rows, bounds, scenario, page, run_dir))
    return code


def _report(run_dir: Path) -> Path:
    # Takes a second to import, which `nashbed --help` should not.
    from nashbed.analysis.report import build_report  # noqa: PLC0415

    return build_report(run_dir)


def _read_summary(run_dir: Path) -> tuple[Rows, Rows]:
    """What the report has measured, so that it is not measured twice."""
    summary = json.loads((run_dir / "report" / "summary.json").read_text())
    return summary["rows"], summary["acceptance"]


def _measure(run_dir: Path) -> tuple[Rows, Rows]:
    from nashbed.analysis.results.acceptance import check  # noqa: PLC0415 - as above
    from nashbed.analysis.results.summary import summarise  # noqa: PLC0415

    return summarise(run_dir), [result.to_dict() for result in check(run_dir)]


def result_text(
    rows: list[dict[str, Any]],
    bounds: list[dict[str, Any]],
    scenario: Scenario,
    page: Path | None,
    run_dir: Path,
) -> str:
    """The result as a person reads it."""
    text = as_text(result_table(rows, scenario))
    if sought(rows, scenario):
        text += "★ equilibrium   ε nobody gains more than "
        text += f"{scenario.equilibrium.epsilon} of the fair share by switching\n"
    if any(row["trials_unconverged"] for row in rows):
        text += "~ trials whose throughput had not settled in the measured window: run longer\n"
    text += "".join(_bound_line(bound) + "\n" for bound in bounds)
    if page is not None:
        text += f"report: {page}\n"
    return text + f"run directory: {run_dir}\n"


def result_table(rows: list[dict[str, Any]], scenario: Scenario) -> Table:
    """One row for each setting and mix."""
    table = Table(title=scenario.title)
    table.add_column("setting" if _several(rows) else "buffer")
    table.add_column("mix")
    for strategy in scenario.strategies:
        table.add_column(f"{strategy}\nMbit/s per flow", justify="right")
    table.add_column("queueing\ndelay ms", justify="right")
    table.add_column("used", justify="right")
    if sought(rows, scenario):
        table.add_column("equi-\nlibrium", justify="center")
    table.add_column("valid", justify="right")
    before = None
    for row in rows:
        if before is not None and row["setting"] != before:
            table.add_section()
        before = row["setting"]
        table.add_row(*_cells(row, scenario, _several(rows), sought(rows, scenario)))
    return table


def sought(rows: Rows, scenario: Scenario) -> bool:
    """Whether the run can say anything of equilibria."""
    return scenario.seeks_equilibria(any(row["equilibrium"] is not None for row in rows))


def _several(rows: list[dict[str, Any]]) -> bool:
    """Whether settings differ by more than their buffer."""
    return len({(row["rate_bps"], tuple(row["base_rtt_ns"])) for row in rows}) > 1


def _cells(row: dict[str, Any], scenario: Scenario, several: bool, mark: bool) -> list[str]:
    invalid = f" ({row['trials_invalid']} invalid)" if row["trials_invalid"] else ""
    moving = f" ~{row['trials_unconverged']}" if row["trials_unconverged"] else ""
    return [
        row["setting"] if several else row["buffer"],
        row["mix"],
        *(_throughput(row, strategy) for strategy in scenario.strategies),
        _number(row["mean_queueing_delay"], 1e3, 1),
        _number(row["utilisation"], 100.0, 1, "%"),
        *([_mark(row)] if mark else []),
        f"{row['trials_valid']}/{scenario.trials}{invalid}{moving}",
    ]


def _throughput(row: dict[str, Any], strategy: str) -> str:
    """Per-flow throughput; with several groups a line for each that has such a flow."""
    if "groups" not in row:
        return _number(row["per_flow_throughput"].get(strategy), 1e-6, 2)
    having = [group for group in row["groups"] if group["counts"].get(strategy)]
    lines = [
        f"{group['group']} {_number(group['per_flow_throughput'][strategy], 1e-6, 2)}"
        for group in having
    ]
    return "\n".join(lines) or "-"


def _mark(row: dict[str, Any]) -> str:
    """Equilibrium, nearly one, not known for lack of a neighbouring mix, or none."""
    if row["equilibrium"]:
        return "★"
    if row["epsilon_equilibrium"]:
        return "ε"
    return "?" if None in (row["equilibrium"], row["epsilon_equilibrium"]) else ""


def _number(estimate: dict[str, Any] | None, scale: float, digits: int, unit: str = "") -> str:
    if estimate is None:
        return "-"
    text = f"{estimate['mean'] * scale:.{digits}f}"
    if estimate["ci95"] is not None:
        text += f" ±{estimate['ci95'] * scale:.{digits}f}"
    return text + unit


def _bound_line(bound: dict[str, Any]) -> str:
    verdict = "met   " if bound["passed"] else "MISSED"
    value = "not measured" if bound["value"] is None else f"{bound['value']:.4g} {bound['unit']}"
    said = f"{verdict} {bound['setting']}: {bound['description']}: {value.rstrip()}"
    return f"{said} (allowed {bound['allowed']})"
