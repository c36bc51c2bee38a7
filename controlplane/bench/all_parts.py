"""Every part of `nashbed bench`, each in a process of its own; a failure does not stop the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from ..contract.errors import EXIT_INTERRUPTED, Interrupted
from ..machine import command, facts
from .own_process import nashbed_command

PARTS = ("startup", "replay", "virtual", "cluster", "forward", "cpu", "lanes", "panel", "analysis")

IN_REAL_TIME = ("forward", "cpu", "lanes", "panel")

Call = Callable[[Sequence[str]], dict[str, Any]]
"""Runs `nashbed bench` with these words; returns its JSON answer."""


def all_parts(full: bool, wait: bool = False) -> list[tuple[str, ...]]:
    """The words of every part.

    Args:
        full: Run the published panel instead of projecting it.
        wait: Have those that need the machine for themselves wait for others.
    """
    options = dict.fromkeys(IN_REAL_TIME, ("--wait",)) if wait else {}
    if full:
        options["panel"] = ("--full", *options.get("panel", ()))
    return [(part, *options.get(part, ())) for part in PARTS]


def measure_parts(parts: Sequence[Sequence[str]], run: Call) -> dict[str, Any]:
    """Run every part, one after the other.

    Args:
        parts: Words after `nashbed bench`, for each part.
        run: Runs one.

    Returns:
        When, where, and every part's answer; `ok` when all reached their bounds.
    """
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    answers = []
    for number, part in enumerate(parts, start=1):
        sys.stderr.write(f"[{number}/{len(parts)}] nashbed bench {' '.join(part)}\n")
        answers.append({"part": part[0], "figures": [], **run(part)})
    return {
        "ok": all(answer["ok"] for answer in answers),
        "begun_utc": begun,
        "kernel": facts.kernel(),
        "cpu": facts.cpu(),
        "parts": answers,
    }


def call(part: Sequence[str]) -> dict[str, Any]:
    """One part in a process of its own, whose peak memory and signals are then its own.

    Raises:
        Interrupted: The person stopped it.
    """
    done = command.attempt(
        nashbed_command(["bench", *part, "--json"]), timeout_s=None, show_errors=True
    )
    if done.code == EXIT_INTERRUPTED:
        raise Interrupted("stopped")
    try:
        answer: dict[str, Any] = json.loads(done.out)
    except ValueError:
        return {"ok": False, "error": f"exit code {done.code}"}
    return answer
