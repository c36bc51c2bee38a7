"""Commands that take minutes: their output is seen line by line, and kept in a file."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..contract.errors import HostError, PrerequisiteError
from .log import LOG


def follow(
    args: Sequence[str],
    log: Path,
    on_line: Callable[[str], None] = lambda line: None,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command to its end and require success. What ends it early ends all its processes.

    Args:
        args: The program and its arguments.
        log: The file that its output is appended to.
        on_line: Called with each line of its output, standard error included.
        folder: Where it runs.
        environment: Variables beside those of this process.

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
            env={**os.environ, "LC_ALL": "C", **(environment or {})},
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
