"""`nashbed bench all`: every part, each in a process of its own, one table and one JSON file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ..contract.benchmark import Figure
from ..contract.errors import EXIT_ACCEPTANCE, EXIT_INTERRUPTED, EXIT_OK, HostError, Interrupted
from ..machine import facts
from .bench_answer import AsJson
from .bench_table import show_figures

PROGRAM = "from nashbed.controlplane.cli.main import main; main()"
PARTS: tuple[tuple[str, ...], ...] = (
    ("replay",),
    ("forward",),
    ("cpu",),
    ("lanes",),
    ("panel",),
    ("analysis",),
)
FOLLOWS = {"median", "low", "high", "met"}
"""What Figure.to_dict adds to the model's own fields."""

Call = Callable[[Sequence[str]], dict[str, Any]]
"""Runs `nashbed bench` with these words; returns its JSON answer."""


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="all", epilog="Example: nashbed bench all --out build/bench.json")(run_all)


def run_all(
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON there, too.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Run the panel instead of projecting it (20 min more).")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Every part, one after the other: about 15 minutes, as root, on a machine left alone."""
    parts = [(*part, "--full") if full and part == ("panel",) else part for part in PARTS]
    told = measure_parts(parts, call)
    if out is not None:
        _write(out, told)
    if as_json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    else:
        show_figures([figure_of(each) for part in told["parts"] for each in part["figures"]])
        for part in told["parts"]:
            if "error" in part:
                sys.stdout.write(f"{part['part']}: not measured: {part['error']}\n")
    return EXIT_OK if told["ok"] else EXIT_ACCEPTANCE


def measure_parts(parts: Sequence[Sequence[str]], run: Call) -> dict[str, Any]:
    """Run every part; one that fails is told, and the others follow.

    Args:
        parts: Words after `nashbed bench`, for each part.
        run: Runs one.

    Returns:
        When, where, and every part's answer; `ok` when all reached what is wanted.
    """
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    found = []
    for number, part in enumerate(parts, start=1):
        sys.stderr.write(f"[{number}/{len(parts)}] nashbed bench {' '.join(part)}\n")
        answer = run(part)
        found.append({"part": part[0], "figures": [], **answer})
    return {
        "ok": all(part["ok"] for part in found),
        "begun_utc": begun,
        "kernel": facts.kernel(),
        "cpu": facts.cpu(),
        "parts": found,
    }


def call(part: Sequence[str]) -> dict[str, Any]:
    """One part in a process of its own, whose peak memory and signals are then its own.

    Raises:
        Interrupted: The person stopped it.
    """
    command = [sys.executable, "-c", PROGRAM, "bench", *part, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == EXIT_INTERRUPTED:
        raise Interrupted("stopped")
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"ok": False, "error": f"exit code {done.returncode}"}
    return answer


def figure_of(told: dict[str, Any]) -> Figure:
    """A figure from its JSON."""
    return Figure.model_validate({k: v for k, v in told.items() if k not in FOLLOWS})


def _write(out: Path, told: dict[str, Any]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(told, indent=1) + "\n")
    except OSError as error:
        raise HostError(f"{out}: cannot be written: {error.strerror}") from error
