"""The errors that users see: each kind with its exit code, and whether a trial is tried again."""

import difflib
import errno
import importlib.util
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from .shared import CONSTANTS

EXIT_OK = 0
EXIT_CONFIG = CONSTANTS.exit_config
EXIT_TARGET = CONSTANTS.exit_target
EXIT_HOST = CONSTANTS.exit_host
EXIT_INTERNAL = CONSTANTS.exit_internal
EXIT_ACCEPTANCE = 20
EXIT_INTERRUPTED = 130


class ExitCode(NamedTuple):
    """What a code that a command ends with says.

    Attributes:
        meaning: When a command ends with it.
    """

    code: int
    meaning: str


EXIT_CODES = (
    ExitCode(EXIT_OK, "ok"),
    ExitCode(EXIT_CONFIG, "configuration: a file, an option, a damaged run directory"),
    ExitCode(EXIT_TARGET, "target: the data plane refused or failed"),
    ExitCode(EXIT_HOST, "host: not root, no huge pages, disk full, a name already in use"),
    ExitCode(EXIT_INTERNAL, "internal error; the message names the log with the traceback"),
    ExitCode(
        EXIT_ACCEPTANCE,
        "a complete run has a mix without a valid trial or missed an acceptance bound of its "
        "scenario, a calibration missed a bound, a repeated trial differs, or two runs are not "
        "shown to be equivalent",
    ),
    ExitCode(EXIT_INTERRUPTED, "stopped by Ctrl-C or SIGTERM; finished trials are kept"),
)
"""Every code there is."""


def did_you_mean(written: str, names: Iterable[str]) -> str:
    """A question after what was probably meant, with a space behind it; empty: nothing is near.

    Near is also what is spelled alike.
    """
    known = list(names)
    near = next(iter(difflib.get_close_matches(written, known, n=1)), "") or meant(written, known)
    return f"did you mean {near!r}? " if near else ""


def meant(written: str, names: Collection[str]) -> str:
    """The name that is the word, has it as a part (`base_rtt`), or its letters as initials."""
    parts = {name: name.split("_") for name in names if "_" in name}
    short = (n for n, of in parts.items() if written in (*of, "".join(each[:1] for each in of)))
    return written if written in names else next(short, "")


class NashbedError(Exception):
    """An error with a clear message for the user.

    Attributes:
        message: Where, what is wrong, and what to do; one line for each mistake.
        exit_code: Exit code of the process.
        repeatable: Whether a trial that ended with it may succeed when it is tried again.
    """

    exit_code: int = EXIT_INTERNAL
    repeatable: bool = False

    def __init__(
        self, message: str, exit_code: int | None = None, repeatable: bool | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        if exit_code is not None:
            self.exit_code = exit_code
        if repeatable is not None:
            self.repeatable = repeatable


class ConfigError(NashbedError):
    """The scenario, the testbed or an option is wrong (exit code 2)."""

    exit_code = EXIT_CONFIG


class TargetError(NashbedError):
    """The target refused, failed, or cannot do what is requested (exit code 3)."""

    exit_code = EXIT_TARGET


class HostError(NashbedError):
    """The machine failed, perhaps only at this moment (exit code 4)."""

    exit_code = EXIT_HOST
    repeatable = True


class PrerequisiteError(HostError):
    """The machine lacks what every trial needs: root, a kernel, a program, a built file."""

    repeatable = False


class InternalError(NashbedError):
    """A bug in nashbed (exit code 5)."""

    exit_code = EXIT_INTERNAL


class Interrupted(NashbedError):  # noqa: N818 - a request, not a failure
    """The user stopped the command (exit code 130, as in shells)."""

    exit_code = EXIT_INTERRUPTED


def need_extra(extra: str, module: str) -> None:
    """Raise PrerequisiteError where a module is missing that an extra of the distribution brings.

    Args:
        extra: The extra, as in `nashbed[cluster]`.
        module: The module, which is not imported.
    """
    if importlib.util.find_spec(module) is None:
        raise PrerequisiteError(f"{module} is not installed: run `pip install 'nashbed[{extra}]'`")


def is_repeatable(error: BaseException) -> bool:
    """Whether a trial that ended with an error may succeed when it is tried again.

    It may where its host or its guest failed, and not what was asked of them.

    Args:
        error: The error; one that is not ours is a mistake of ours, unless memory ran out.
    """
    if isinstance(error, NashbedError):
        return error.repeatable
    out_of_memory = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or out_of_memory


def host_lacks(error: BaseException) -> str:
    """What the machine had too little of, and what to do; empty: the error says nothing of that.

    Args:
        error: An error that Python or the system raised wherever we were just then.
    """
    if not Path("/proc/self").exists():
        return "/proc is not mounted; mount it (mount -t proc proc /proc)"
    if isinstance(error, MemoryError):
        return _LACKS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return _LACKS[errno.EAGAIN]
    if not isinstance(error, OSError) or error.errno not in _LACKS:
        return ""
    place = f"{error.filename}: " if error.filename else ""
    return place + _LACKS[error.errno]


_LACKS = {
    errno.ENOMEM: "out of memory; free some, or raise the limit (ulimit -v, memory.max)",
    errno.EAGAIN: "no more threads or processes; raise the limit (ulimit -u, pids.max)",
    errno.EMFILE: "too many open files; raise the limit (ulimit -n)",
    errno.ENFILE: "too many open files on this machine; raise fs.file-max",
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "a file is larger than allowed; raise the limit (ulimit -f)",
    errno.EROFS: "the file system is read-only; choose another folder",
}
"""An error's number -> what to say where nobody nearer to it has said more."""
