"""`nashbed doctor`: what is installed, what is skipped without it, and how to get it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..contract.errors import EXIT_HOST, EXIT_OK
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..machine.host import preflight, runs
from ..machine.host.runs import STATE_DIR, admission, read_states
from ..store.staging import remove_stale
from .doctor_check import DoctorCheck
from .doctor_checks import examine
from .options import AsJson, answer, new_app

app = new_app()


@app.command(epilog="Example: nashbed doctor --clean")
def doctor(
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what killed runs left behind.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what is installed, what is skipped, and how to get it."""
    removed = clean_up() if clean else []
    checks = examine()
    ready = all(check.ok or not check.needed for check in checks)
    data = {"ok": ready, "checks": [check.to_dict() for check in checks], "removed": removed}
    answer(data, as_json, doctor_text(checks, removed))
    return EXIT_OK if ready else EXIT_HOST


def clean_up() -> list[str]:
    """Remove what killed processes left; returns the run directories, and what was unfinished.

    What runs in real time have left can be removed by root alone.
    """
    unfinished = runs.remove_unfinished() + remove_stale(guests_folder())
    dead = remove_dead_sessions(guests_folder())
    unfinished += remove_stale(STATE_DIR)
    if read_states():
        preflight.require_root()
        with admission():
            dead += runs.remove_dead_runs()
    return sorted({state.run_dir for state in dead} | {str(path) for path in unfinished})


def doctor_text(checks: Sequence[DoctorCheck], removed: Sequence[str]) -> str:
    """The checks as a person reads them."""
    lines = [f"cleaned up after {run_dir}" for run_dir in removed]
    for check in checks:
        mark = "ok     " if check.ok else "MISSING" if check.needed else "skipped"
        lines.append(f"{mark} {check.name}: {check.detail}")
        if not check.ok:
            lines.append(f"        {check.remedy}")
    return "\n".join(lines)
