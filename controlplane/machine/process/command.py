"""Commands: argument lists, each logged with its result.

Short ones (`run`, `attempt`) have a time limit. What takes minutes (`follow`) is seen line by line
and kept in a file.
"""

import logging
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...contract.errors import HostError, PrerequisiteError

LOG = logging.getLogger(__name__)

TIMEOUT_S = 20.0


class CommandTimeoutError(HostError):
    """A command did not end in time; it was killed."""


@dataclass(frozen=True)
class Completed:
    """A finished command."""

    args: tuple[str, ...]
    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The last line of its standard error; its exit code where there is none."""
        return (self.err.strip().splitlines() or [f"exit code {self.code}"])[-1]


def run(args: Sequence[str], *, text: str | None = None, timeout_s: float = TIMEOUT_S) -> Completed:
    """Run a command and require success.

    Args:
        args: The program and its arguments.
        text: Given to its standard input.
        timeout_s: Time limit in seconds.

    Raises:
        HostError: It is missing, fails or takes too long; the message has its last line of output.
    """
    done = attempt(args, text=text, timeout_s=timeout_s)
    if done.code != 0:
        words = (done.err or done.out).strip().splitlines() or [f"exit code {done.code}"]
        raise HostError(f"`{shlex.join(args)}` failed: {words[-1]}")
    return done


def attempt(
    args: Sequence[str],
    *,
    text: str | None = None,
    timeout_s: float | None = TIMEOUT_S,
    show_errors: bool = False,
) -> Completed:
    """Run a command whose failure is an answer; see `run`.

    Args:
        text: Given to its standard input.
        timeout_s: Time limit in seconds; None: it may take as long as it likes.
        show_errors: Its standard error is this process's, and not in the answer.
    """
    started = time.monotonic()
    try:
        done = subprocess.run(
            list(args),
            input=text,
            stdout=subprocess.PIPE,
            stderr=None if show_errors else subprocess.PIPE,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise PrerequisiteError(f"{args[0]}: not installed; `make setup` installs it") from error
    except subprocess.TimeoutExpired as error:
        LOG.error("command %s: no end within %s s", shlex.join(args), timeout_s)
        raise CommandTimeoutError(
            f"`{shlex.join(args)}` did not end within {timeout_s} s"
        ) from error
    taken = (time.monotonic() - started) * 1e3
    LOG.info("command %s -> %d (%.1f ms)", shlex.join(args), done.returncode, taken)
    for name, words in (("stdin", text), ("stdout", done.stdout), ("stderr", done.stderr)):
        if words and words.strip():
            LOG.debug("  %s: %s", name, words.strip()[:4000])
    return Completed(tuple(args), done.returncode, done.stdout, done.stderr or "")


def follow(
    args: Sequence[str],
    log: Path,
    on_line: Callable[[str], None] = lambda line: None,
    *,
    folder: Path | None = None,
) -> None:
    """Run a command to its end and require success. What ends it early ends all its processes.

    Args:
        log: The file that its output is appended to.
        on_line: Called with each line of its output, standard error included.
        folder: Where it runs.

    Raises:
        HostError: It is missing or fails; the message has its first line about an error.
    """
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(args),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise PrerequisiteError(f"{args[0]}: not installed; `make setup` installs it") from error
    assert process.stdout is not None
    lines: list[str] = []
    try:
        with log.open("a", encoding="utf-8") as file:
            for line in process.stdout:
                file.write(line)
                lines.append(line.rstrip())
                on_line(line.rstrip())
        code = process.wait()
    finally:
        _end(process)
    LOG.info("command %s -> %d (%.0f s)", shlex.join(args), code, time.monotonic() - started)
    if code != 0:
        raise HostError(f"{Path(args[0]).name} failed: {_cause(lines, code)}; its output: {log}")


def _end(process: subprocess.Popen[str]) -> None:
    """Kill what is left of a command's process group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _cause(lines: Sequence[str], code: int) -> str:
    """The first line that speaks of an error, else the last, else the exit code."""
    spoken = [line for line in lines if line.strip()]
    errors = [line for line in spoken if "error" in line.lower()]
    return [*errors[:1], *spoken[-1:], f"exit code {code}"][0].strip()
