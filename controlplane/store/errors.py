"""What is wrong with a run directory, and what to do about it."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from ..contract.errors import ConfigError


class RunError(ConfigError):
    """A run directory, or a file in it, cannot be read or holds nothing to analyse."""


def damaged(path: Path, problem: object, remedy: str) -> RunError:
    """Make the one line that names a file, its problem and the remedy.

    Args:
        path: The file or directory.
        problem: What is wrong, or the exception that said so (its first line is used).
        remedy: What a person should do.
    """
    text = first_problem(problem) if isinstance(problem, ValidationError) else str(problem)
    line = (text.strip() or type(problem).__name__).splitlines()[0].rstrip(".")
    return RunError(f"{path}: {line}; {remedy}")


def first_problem(error: ValidationError) -> str:
    """Say the first problem of a validation error in one line: where, and what."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
