"""`nashbed verify`: trials of a finished run are run again and must measure the same.

With `--files` nothing is run: the files of the run must be as they were sealed.
"""

from __future__ import annotations

import random

import typer
from nashbed.running import (
    RepeatedTrial,
    Snapshot,
    VerificationInProgress,
    Verified,
)
from nashbed.runs import CheckedRun

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError
from ..contract.model import JsonObject
from ..contract.units import counted
from .api_command import Call, command
from .console import say
from .options import Answer, app
from .progress import RunDisplay

DIGITS = 16
"""Digits of a digest shown to a person."""


@command(
    app,
    "running.verify",
    "runs.check_files",
    examples="Examples: nashbed verify results/20260101T120000Z-quickstart --count 3; "
    "nashbed verify results/20260101T120000Z-quickstart --trial b2bdp-k03-r0-a0 --keep again; "
    "nashbed verify results/20260101T120000Z-quickstart --files",
    trials=typer.Option("--trial", help="Run this trial again."),
    count=typer.Option(None, min=1, help="Run so many again, drawn at random.", show_default="1"),
    seed=typer.Option(None, min=0, show_default="random"),
    everything=typer.Option("--all"),
)
def verify(
    verify: Call,
    check_files: Call,
    everything: bool = False,
    files: bool = False,
) -> Answer:
    """Run trials of a virtual run again: they must be equal to the bit.

    Equal means: every table, capture and report has the same SHA-256. Otherwise it names the first
    row and column that differ, with both values, and the exit code is 20. So it is when `--files`
    finds a damaged file.

    Args:
        everything: Run every trial again.
        files: Run nothing: check that the files of any run are as they were sealed.
    """
    given = verify.given
    if ("trials" in given) + everything + ("count" in given) + files > 1:
        raise ConfigError("--trial, --all, --count and --files exclude each other; give one")
    if files:
        checked = check_files()
        code = EXIT_ACCEPTANCE if checked.damaged else EXIT_OK
        return Answer({"ok": not checked.damaged, **vars(checked)}, files_text(checked), code)
    seed = given.get("seed", random.SystemRandom().randrange(10**6))
    drawn = None if everything else given.get("count", 1)
    running = verify(count=drawn, seed=seed)
    how = f", drawn with --seed {seed}" if drawn and "trials" not in given else ""
    with running:
        _carry_out(running, how)
        found = running.finish()
    code = EXIT_OK if found.equal else EXIT_ACCEPTANCE
    return Answer(_answer(found, seed), verification_text(found), code)


def _answer(found: Verified, seed: int) -> JsonObject:
    trials = [
        {"trial": e.id, "equal": e.equal, "digest": e.digest, "differences": e.differences}
        for e in found.trials
    ]
    told = {"ok": found.equal, "run": found.run, "environment": found.environment}
    return {**told, "trials": trials, "seed": seed}


def _carry_out(running: VerificationInProgress, how: str) -> None:
    """Run the trials again with a display on standard error."""
    display = RunDisplay(running.time_left)
    say(f"{running.run}: {counted(running.total, 'trial')} to run again{how}")
    told = False

    def show(snapshot: Snapshot) -> None:
        nonlocal told
        if not told:
            told = True
            for each in running.environment:
                say(f"not as it was: {each}")
        display.show(snapshot)

    with display:
        running.watch(show)


def files_text(found: CheckedRun) -> str:
    """The damaged files, and how many trials have any."""
    lines = [str(each) for each in found.damaged]
    broken = {each.trial for each in found.damaged if each.trial}
    lines.append(f"{len(broken)} of {counted(found.trials, 'trial')} damaged")
    if broken:
        lines.append("they are left out of reports; `nashbed resume` runs them again")
    return "\n".join(lines)


def verification_text(found: Verified) -> str:
    """What came of it: what is not as it was, each trial, and the sum."""
    lines = [f"not as it was: {each}" for each in found.environment]
    for trial in found.trials:
        lines += _trial_lines(trial)
    equal = sum(trial.equal for trial in found.trials)
    return "\n".join([*lines, f"{equal} of {counted(len(found.trials), 'trial')} equal"])


def _trial_lines(trial: RepeatedTrial) -> list[str]:
    if trial.equal:
        return [f"{trial.id}: equal (sha256 {trial.digest[:DIGITS]})"]
    return [f"{trial.id}: differs", *(f"  {each}" for each in trial.differences)]
