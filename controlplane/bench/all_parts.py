"""Every part of `nashbed bench`, each in a process of its own; a failure does not stop the rest."""

import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ..contract.benchmark import Benchmark, MeasuredMachine, MeasuredPart
from ..contract.errors import EXIT_INTERRUPTED, ConfigError, Interrupted
from ..contract.model import ContractModel
from ..machine.host import facts
from ..machine.process import command
from .startup import nashbed_command

PARTS = ("startup", "replay", "virtual", "cluster", "lanes", "analysis")

IN_REAL_TIME = "lanes"


class PartAnswer(ContractModel, extra="ignore"):
    """The JSON answer of a part, or of its failure.

    Attributes:
        ok: Whether all that was measured reached its bounds.
        error: Why nothing was; empty otherwise.
    """

    ok: bool
    figures: tuple[Benchmark, ...] = ()
    error: str = ""


Call = Callable[[Sequence[str]], PartAnswer]
"""Runs `nashbed bench` with these words."""


def words_of(parts: Sequence[str], wait: bool = False) -> list[tuple[str, ...]]:
    """The words of parts after `nashbed bench`.

    Args:
        wait: Have those that need the machine for themselves wait for others.

    Raises:
        ConfigError: There is no such part.
    """
    unknown = set(parts) - set(PARTS)
    if unknown:
        raise ConfigError(f"--part {min(unknown)}: must be one of {', '.join(PARTS)}")
    options = {IN_REAL_TIME: ("--wait",)} if wait else {}
    return [(part, *options.get(part, ())) for part in PARTS if part in (parts or PARTS)]


def this_machine(name: str) -> MeasuredMachine:
    """The machine, with nothing measured yet; without a name it has its host's."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return MeasuredMachine(
        machine=name or platform.node(),
        cpu=facts.cpu(),
        memory_gb=round(memory / 1e9, 1),
        kernel=platform.release(),
    )


def measure_parts(parts: Sequence[Sequence[str]], run: Call) -> Iterator[MeasuredPart]:
    """Run parts, one after the other."""
    at = commit()
    for number, words in enumerate(parts, start=1):
        sys.stderr.write(f"[{number}/{len(parts)}] nashbed bench {' '.join(words)}\n")
        begun = datetime.now(UTC).isoformat(timespec="seconds")
        answer = run(words)
        yield MeasuredPart(
            part=words[0],
            words=tuple(words),
            begun_utc=begun,
            commit=at,
            ok=answer.ok,
            figures=answer.figures,
            error=answer.error,
        )


def commit() -> str:
    """The checkout's commit, marked where files were changed; empty where there is none."""
    git = facts.git()
    return git.get("commit", "") + ("+" if git.get("tree") == "modified" else "")


def read_machine(path: Path) -> MeasuredMachine:
    """What was measured on a machine before.

    Raises:
        ConfigError: The file cannot be read, or was not written by `nashbed bench all`.
    """
    try:
        return MeasuredMachine.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: is no file of `nashbed bench all`") from error


def measured_before(path: Path, machine: MeasuredMachine) -> MeasuredMachine:
    """What a file has of this machine already.

    Args:
        path: The file; it need not exist.

    Raises:
        ConfigError: The file is of another machine, or none of ours.
    """
    before = read_machine(path) if path.exists() else machine
    if before.model_copy(update={"parts": ()}) != machine:
        raise ConfigError(
            f"{path}: is of another machine or kernel ({before.machine}: {before.cpu}, "
            f"{before.memory_gb} GB, {before.kernel}); name another file"
        )
    return before


def call(part: Sequence[str], before: Sequence[str] = ()) -> PartAnswer:
    """One part in a process of its own, whose peak memory and signals are then its own.

    Args:
        before: Words before the command line: what it is run by.

    Raises:
        Interrupted: The person stopped it.
    """
    done = command.attempt(
        [*before, *nashbed_command(["bench", *part, "--json"])], timeout_s=None, show_errors=True
    )
    if done.code == EXIT_INTERRUPTED:
        raise Interrupted("stopped")
    try:
        return PartAnswer.model_validate_json(done.out)
    except ValueError:
        return PartAnswer(ok=False, error=f"exit code {done.code}")
