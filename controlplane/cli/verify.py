"""`nashbed verify`: trials of a finished run are run again and must measure the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

import typer

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError
from ..contract.model import ContractModel, JsonAnswer
from ..contract.units import counted
from ..machine.sessions import check_host
from ..plan.estimates import resources_of
from ..run.verification import TrialChoice, Verification, prepare
from ..store.comparison import Difference, RepeatedTrial
from .options import AsJson, RunFolder, answer, new_app, work_folder
from .progress import Display, make_display

app = new_app()


class VerifiedTrial(ContractModel):
    """A trial that was run again.

    Attributes:
        trial: Its id.
        equal: Whether it measured the same.
        digest: The digest that was sealed with it.
        differences: Everything that differs; of a table the first place.
    """

    trial: str
    equal: bool
    digest: str
    differences: tuple[Difference, ...]


class VerifyAnswer(JsonAnswer):
    """What `nashbed verify` answers.

    Attributes:
        ok: Whether every trial measured the same again.
        run: Name of the run.
        environment: What is not as it was when the run was made.
        trials: The trials that were run again.
        seed: Seed of the draw.
    """

    ok: bool
    run: str
    environment: tuple[Difference, ...]
    trials: tuple[VerifiedTrial, ...]
    seed: int

    @classmethod
    def of(cls, found: Verification, seed: int) -> Self:
        """The answer about a verification."""
        return cls(
            ok=found.equal,
            run=found.manifest.run,
            environment=found.environment,
            trials=tuple(
                VerifiedTrial(
                    trial=each.id,
                    equal=each.equal,
                    digest=each.digest,
                    differences=each.differences,
                )
                for each in found.trials
            ),
            seed=seed,
        )


DIGITS = 16
"""Digits of a digest shown to a person."""


@app.command(
    epilog="Examples: nashbed verify results/20260101T120000Z-quickstart --count 3; "
    "nashbed verify results/20260101T120000Z-quickstart --trial b2bdp-k03-r0-a0 --keep again"
)
def verify(
    run_dir: RunFolder,
    trial: Annotated[
        list[str] | None, typer.Option("--trial", help="Run this trial again; repeatable.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Run every trial again.")] = False,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", min=1, help="Run so many again, drawn at random.", show_default="1"
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of the draw.", show_default="random")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep the repeated trials in this new folder.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run trials of a virtual run again: they must be equal to the bit.

    Equal means: every table, capture and report has the same SHA-256. Otherwise it names the first
    row and column that differ, with both values, and the exit code is 20.
    """
    choice = _choice(tuple(trial or ()), everything, count, seed)
    with work_folder(keep) as folder:
        verification = prepare(run_dir, folder, choice, keep is not None)
        run = verification.run
        check_host(run.testbed.model, folder, verification.needed_disk_bytes)
        _carry_out(verification, choice)
    said = VerifyAnswer.of(verification, choice.seed)
    answer(said, as_json, verification_text(verification))
    return EXIT_OK if verification.equal else EXIT_ACCEPTANCE


def _choice(
    trials: tuple[str, ...], everything: bool, count: int | None, seed: int | None
) -> TrialChoice:
    """What the options say; raises ConfigError when they contradict each other."""
    if (bool(trials) + everything + (count is not None)) > 1:
        raise ConfigError("--trial, --all and --count exclude each other; give one of them")
    drawn = random.SystemRandom().randrange(10**6) if seed is None else seed
    return TrialChoice(trials, None if everything else count or 1, drawn)


def _carry_out(verification: Verification, choice: TrialChoice) -> None:
    """Run the trials again with a display on standard error."""
    run = verification.run
    display = make_display(run.plan, resources_of(run.testbed.model, run.plan))
    display.say(_intention(verification, choice))
    with display:
        verification.execute(
            display.show, lambda differences: _say_environment(display, differences)
        )


def _intention(verification: Verification, choice: TrialChoice) -> str:
    number = verification.work.total
    drawn = not choice.trials and choice.count is not None
    how = f", drawn with --seed {choice.seed}" if drawn else ""
    return f"{verification.manifest.run}: {counted(number, 'trial')} to run again{how}"


def _say_environment(display: Display, differences: Sequence[Difference]) -> None:
    for each in differences:
        display.say(f"not as it was: {each}")


def verification_text(verification: Verification) -> str:
    """What came of it: what is not as it was, each trial, and the sum."""
    lines = [f"not as it was: {each}" for each in verification.environment]
    for trial in verification.trials:
        lines += _trial_lines(trial)
    equal = sum(trial.equal for trial in verification.trials)
    return "\n".join([*lines, f"{equal} of {counted(len(verification.trials), 'trial')} equal"])


def _trial_lines(trial: RepeatedTrial) -> list[str]:
    if trial.equal:
        return [f"{trial.id}: equal (sha256 {trial.digest[:DIGITS]})"]
    return [f"{trial.id}: differs", *(f"  {each}" for each in trial.differences)]
