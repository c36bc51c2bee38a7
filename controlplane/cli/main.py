"""Entry point: every way to end is one clear line and a documented exit code."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from ..contract.errors import (
    EXIT_CONFIG,
    EXIT_HOST,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_OK,
    NashbedError,
    host_lacks,
)
from .streams import Stream, open_streams

ADMINISTRATORS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Folders that Debian has on root's PATH alone, with `ip`, `tc` and `sysctl` in them."""


def main() -> NoReturn:
    """Run the command line and exit."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop_once)
    # Whoever writes to what root runs is root; a group may share what its members make.
    os.umask(os.umask(0o077) | (0o022 if os.geteuid() == 0 else 0o002))
    os.environ["PATH"] = with_administrators(os.environ.get("PATH", os.defpath))
    output = open_streams()
    code = run(sys.argv[1:])
    sys.exit(_told(output, code))


def with_administrators(path: str) -> str:
    """A PATH, and behind it the folders of the administrators' programs that it lacks."""
    have = path.split(os.pathsep)
    return os.pathsep.join([*have, *(each for each in ADMINISTRATORS if each not in have)])


def run(args: Sequence[str]) -> int:
    """Run one command, the words after `nashbed`; returns the exit code."""
    from .app import command_line  # noqa: PLC0415 - Ctrl-C must be ours before imports take time

    try:
        code = command_line().main(list(args), prog_name="nashbed", standalone_mode=False)
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt  # which typer has made a code of
        return code if isinstance(code, int) else EXIT_OK
    except NashbedError as error:
        return _fail(args, error.message, error.exit_code)
    except KeyboardInterrupt:
        return _fail(args, "stopped", EXIT_INTERRUPTED)
    except Exception as error:
        if hasattr(error, "format_message"):
            return _usage(args, error)
        lacking = host_lacks(error)
        if lacking:
            return _fail(args, lacking, EXIT_HOST)
        return _fail(args, _unexpected(error), EXIT_INTERNAL)


def _told(output: Stream, code: int) -> int:
    """The exit code, now that all is written; of what nobody can read there is a line."""
    sys.stdout.flush()
    if output.problem is None or isinstance(output.problem, BrokenPipeError):  # `| head`
        return code
    why = output.problem.strerror
    print(f"nashbed: standard output: {why}; what the command did is done", file=sys.stderr)  # noqa: T201
    return code or EXIT_HOST


def _fail(args: Sequence[str], message: str, code: int) -> int:
    for line in message.splitlines():
        print(f"nashbed: {line}", file=sys.stderr)  # noqa: T201 - this is the command line
    if "--json" in args:
        from ..contract.model import Failed  # noqa: PLC0415 - slow to import

        answer = Failed(error=message, exit_code=code).model_dump(mode="json")
        print(json.dumps(answer))  # noqa: T201
    return code


def _usage(args: Sequence[str], error: Any) -> int:
    """A mistake on the command line, as the parser words it."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "nashbed"
    message = " ".join(str(error.format_message()).split())
    if not message or type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())  # noqa: T201
        return EXIT_CONFIG
    return _fail(args, f"{message} (see `{command} --help`)", EXIT_CONFIG)


def _unexpected(error: Exception) -> str:
    """Keep the traceback in a file: it is for us, the line is for the person."""
    text = "".join(traceback.format_exception(error))
    first = (str(error).strip().splitlines() or [""])[0]
    what = f"internal error: {type(error).__name__}: {first}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="nashbed-", suffix=".log", delete=False, encoding="utf-8", errors="replace"
        ) as log:
            log.write(text)
    except OSError:
        return f"{what}\n{text}"
    return f"{what}; traceback in {Path(log.name)}"


def _stop_once(number: int, frame: FrameType | None) -> None:
    """The first signal stops the run; further ones must not stop the clean-up."""
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _already_stopping)
    raise KeyboardInterrupt


def _already_stopping(number: int, frame: FrameType | None) -> None:
    print("nashbed: stopping, please wait", file=sys.stderr)  # noqa: T201
