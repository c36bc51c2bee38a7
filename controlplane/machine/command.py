"""Short commands: argument lists, each logged with its result, each with a time limit."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..contract.errors import HostError, PrerequisiteError
from .log import LOG

TIMEOUT_S = 20.0


class CommandTimeoutError(HostError):
    """A command did not end in time; it was killed."""


@dataclass(frozen=True)
class Completed:
    """A finished command.

    Attributes:
        args: Its arguments.
        code: Its exit code.
        out: Its standard output.
        err: Its standard error.
    """

    args: tuple[str, ...]
    code: int
    out: str
    err: str


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
        args: The program and its arguments.
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
