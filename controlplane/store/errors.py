"""What can be wrong with a run directory, and what a person can do about it."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from ..contract.errors import ConfigError, HostError, NashbedError

TRIAL_REMEDY = "the trial is left out; delete its directory and run `nashbed resume`"
"""What to do about a sealed trial that cannot be read."""
LONGEST = 300
"""Characters of a problem in a message; what is read may be anything."""
REMEDY = (
    "large tables of runs on a cluster stay in its shared folder: mount that at the same place, or "
    "copy the run with `cp -rL` where it is seen"
)


class RunError(ConfigError):
    """A run directory, or a file in it, cannot be read or holds nothing to analyse."""


class DiskFullError(HostError):
    """The disk is full: the run stops, and can be resumed once there is space."""

    repeatable = False


@contextlib.contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Turn a full disk into one clear line, whether we met it or one of our programs did."""
    full = DiskFullError(f"{place}: the disk is full; free some space, then `nashbed resume`")
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full from error
        raise
    except NashbedError as error:
        if os.strerror(errno.ENOSPC) in error.message:
            raise full from error
        raise


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """Raise RunError, which names a file or folder, where it cannot be written."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{place}: cannot be written ({error.strerror or error})") from error


def damaged(path: Path, problem: object, remedy: str) -> RunError:
    """Make the one line that names a file, its problem and the remedy.

    Args:
        problem: What is wrong as a text, or the exception that was raised.
    """
    text = _description(problem) if isinstance(problem, Exception) else str(problem)
    line = (text.strip() or type(problem).__name__).splitlines()[0].rstrip(".")
    line = line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
    return RunError(f"{path}: {line}; {remedy}")


def _description(error: Exception) -> str:
    """Describe an exception in one line."""
    if isinstance(error, FileNotFoundError):
        return "is missing"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read ({error.strerror})"
    if isinstance(error, ValidationError):
        return f"is damaged ({_first_problem(error)})"
    return f"is damaged ({str(error).splitlines()[0]})" if str(error) else "is damaged"


def _first_problem(error: ValidationError) -> str:
    """Describe the first problem of a validation error: where it is, and what it is."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def check_links(folder: Path) -> None:
    """Raise RunError when a file of a trial is a link to what is not seen here."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if is_unseen(path):
            raise damaged(path, f"is kept as {path.readlink()}, which is not seen here", REMEDY)


def is_unseen(path: Path) -> bool:
    """Whether it is a link to no file; a network folder that fails to answer has none."""
    try:
        return path.is_symlink() and not path.is_file()
    except OSError:
        return True
