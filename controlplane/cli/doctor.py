"""`nashbed doctor`: what is installed, what is skipped without it, and how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from nashbed.doctor import DoctorCheck, clean_up, examine, examine_switch, ready

from ..contract.errors import EXIT_HOST, EXIT_OK, EXIT_TARGET
from .api_command import command
from .options import Answer, app


@command(app, examples="Example: nashbed doctor --clean")
def doctor(
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what killed runs left behind.")
    ] = False,
    testbed: Annotated[
        str | None,
        typer.Option(
            "--testbed",
            help="Ask this testbed's switch instead: program, tables, ports, a write and its undo.",
        ),
    ] = None,
) -> Answer:
    """Show what is installed, what is skipped, and how to get it.

    Virtual time and real time are judged apart; one of them is enough for exit code 0.
    """
    removed = clean_up() if clean else []
    checks = examine_switch(testbed) if testbed else examine()
    possible = ready(checks)
    can = any(possible.values())
    said = {"ok": can, "ready": possible, "checks": checks, "removed": removed}
    code = EXIT_OK if can else EXIT_TARGET if testbed else EXIT_HOST
    return Answer(said, doctor_text(checks, removed), code)


def doctor_text(checks: Sequence[DoctorCheck], removed: Sequence[str]) -> str:
    """The checks as a person reads them."""
    lines = [f"cleaned up after {run_dir}" for run_dir in removed]
    possible = ready(checks)
    for needed in dict.fromkeys(check.needed for check in checks):
        verdict = {True: ": ready", False: ": not ready", None: ""}[possible.get(needed)]
        lines.append(f"{needed or 'not needed by every run'}{verdict}")
        for check in (each for each in checks if each.needed == needed):
            mark = "ok     " if check.ok else "MISSING" if needed else "skipped"
            lines.append(f"  {mark} {check.name}: {check.detail}")
            if not check.ok:
                lines.append(f"          {check.remedy}")
    return "\n".join(lines)
