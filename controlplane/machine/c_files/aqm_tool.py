"""nashbed-aqm: what a discipline's or a memory policy's parameters are, and what it does."""

from __future__ import annotations

import json
import signal
from functools import cache
from pathlib import Path
from typing import Literal

from ...contract.errors import ConfigError, HostError
from ...contract.messages.message import Message, read_message
from ...contract.model import JsonObject
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


@cache
def about_object(path: Path) -> DisciplineAbout:
    """What a compiled discipline says of itself; the object's place has its digest in it.

    Raises:
        ConfigError: It is no discipline; the loader's words.
        HostError: nashbed-aqm is not built, or fails.
    """
    said = run(path.stem, "describe", str(path))
    return read_message(DisciplineAbout, said, f"{NAME}: describe", HostError)


def pass_through(who: str, lane: JsonObject, packets: str) -> list[tuple[int, ...]]:
    """Send packets through a lane.

    Args:
        who: Whose discipline it has, for messages.
        lane: As a data plane is told it.
        packets: A line for each: time in ns, flow, bytes, ECN codepoint.

    Returns:
        For each that came out, in that order: its number, when (ns), whether it departed, whether
        it was marked, and why it was dropped.

    Raises:
        ConfigError: It is refused, crashes, or does not return.
    """
    said, sent = run(who, "pass", json.dumps(lane), packets), packets.count("\n")
    try:
        rows = [tuple(map(int, line.split())) for line in said.splitlines()]
        if any(len(row) != FATE_COLUMNS or row[0] >= sent for row in rows):
            raise ValueError("no such packet")
    except ValueError as error:
        raise _broken(who) from error
    return rows


@cache
def check(who: str, lane: str) -> None:
    """Ask whether a lane can be.

    Args:
        who: Where it is from, for messages.
        lane: As a data plane is told it, in JSON.

    Raises:
        ConfigError: It cannot; why.
        HostError: nashbed-aqm is not built, or fails.
    """
    run(who, "check", lane)


def run(who: str, what: str, argument: str, text: str = "") -> str:
    """Run nashbed-aqm to its end; returns what it wrote.

    Args:
        who: Whose discipline it tries, for messages.
        what: Its command.
        argument: The command's argument.
        text: Its standard input.

    Raises:
        ConfigError: The user's discipline is refused, crashes, or does not return.
        HostError: nashbed-aqm is not built, or fails.
    """
    args = [str(built(AQM_TOOL)), what, argument]
    try:
        done = command.attempt(args, text=text, timeout_s=TIMEOUT_S)
    except command.CommandTimeoutError as error:
        raise ConfigError(
            f"{who}: does not end within {TIMEOUT_S:g} s; an endless loop?"
        ) from error
    except UnicodeDecodeError as error:
        raise _broken(who) from error
    if done.code < 0:
        raise ConfigError(f"{who}: crashes by {signal.Signals(-done.code).name}")
    if done.code != 0:
        raise ConfigError(f"{who}: {done.complaint}")
    return done.out


def _broken(who: str) -> ConfigError:
    return ConfigError(
        f"{who}: what comes out are no packets; does it write outside its own state?"
    )
