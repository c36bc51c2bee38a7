"""nashbed-aqm: what a discipline's or a memory policy's parameters are, and what it does."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from ...contract.errors import ConfigError, HostError
from ...contract.limit import Limit
from ...contract.messages.message import Message, read_message
from ..paths import AQM_TOOL, built
from ..process import command

NAME = "nashbed-aqm"
TIMEOUT_S = 20.0
"""A replay of the packets of one load takes less than a second."""
FATE_COLUMNS = 5
Kind = Literal["time", "bytes", "packets", "probability", "real", "flag", "number"]


class ParameterAbout(Message, extra="forbid"):
    """A parameter of a discipline, in machine units (ns, bytes).

    Attributes:
        default: Its default; None: there is none, or it follows from the others.
        min: The least.
        max: The most.
        help: What it means.
    """

    name: str
    kind: Kind
    default: float | None
    min: float
    max: float
    help: str


class DisciplineAbout(Message):
    """A discipline, or a policy of shared memory."""

    name: str
    what: Literal["discipline", "memory"] = "discipline"
    help: str
    parameters: tuple[ParameterAbout, ...]


def describe(file: Path | None = None) -> tuple[DisciplineAbout, ...]:
    """The disciplines that the data plane has, or the one in a shared object.

    Args:
        file: The shared object of a user's own; None: ours.

    Raises:
        ConfigError: It is no discipline; the loader's words.
        HostError: nashbed-aqm is not built, or fails.
    """
    said = run(["describe", *([] if file is None else [str(file)])])
    return tuple(
        read_message(DisciplineAbout, line, f"{NAME}: describe", HostError)
        for line in said.splitlines()
    )


@cache
def about_object(path: Path) -> DisciplineAbout:
    """What a compiled discipline says of itself; the object's place has its digest in it."""
    (about,) = describe(path)
    return about


def pass_through(file: Path, packets: str, options: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Send packets through a discipline, or through four queues with a policy of memory.

    Args:
        file: Its shared object.
        packets: A line for each: time in ns, flow, bytes, ECN codepoint.
        options: `rate-bps`, `limit` (bytes) and `seed`.

    Returns:
        For each that came out, in that order: its number, when (ns), whether it departed, whether
        it was marked, and why it was dropped.

    Raises:
        ConfigError: It is refused, crashes, or does not return.
    """
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    said, sent = run(["pass", *given, str(file)], packets), packets.count("\n")
    try:
        rows = [tuple(map(int, line.split())) for line in said.splitlines()]
        if any(len(row) != FATE_COLUMNS or row[0] >= sent for row in rows):
            raise ValueError("no such packet")
    except ValueError as error:
        raise _broken(file) from error
    return rows


def check(name: str, parameters: Mapping[str, float], rate_bps: int, limit: Limit) -> None:
    """Ask whether one of our disciplines takes its parameters, in machine units, on a line.

    Raises:
        ConfigError: It does not; why.
        HostError: nashbed-aqm is not built, or fails.
    """
    packets = limit.unit == "packets"
    size = ["--limit-packets", str(limit.value)] if packets else ["--limit", str(limit.in_bytes)]
    sets = [word for key, value in parameters.items() for word in ("--set", f"{key}={value}")]
    run(["check", "--rate-bps", str(rate_bps), *size, *sets, name])


def run(args: Sequence[str], text: str = "") -> str:
    """Run nashbed-aqm to its end; returns what it wrote.

    Args:
        args: Its arguments; the last one is the user's file where there is one.
        text: Its standard input.

    Raises:
        ConfigError: The user's discipline is refused, crashes, or does not return.
        HostError: nashbed-aqm is not built, or fails.
    """
    who = Path(args[-1]).stem
    try:
        done = command.attempt([str(built(AQM_TOOL)), *args], text=text, timeout_s=TIMEOUT_S)
    except command.CommandTimeoutError as error:
        raise ConfigError(
            f"{who}: does not end within {TIMEOUT_S:g} s; an endless loop?"
        ) from error
    except UnicodeDecodeError as error:
        raise _broken(Path(args[-1])) from error
    if done.code < 0:
        raise ConfigError(f"{who}: crashes by {signal.Signals(-done.code).name}")
    if done.code != 0:
        raise ConfigError(f"{who}: {done.complaint}")
    return done.out


def _broken(file: Path) -> ConfigError:
    return ConfigError(
        f"{file.stem}: what comes out are no packets; does it write outside its own state?"
    )
