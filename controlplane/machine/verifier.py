"""The kernel's answer to a refused congestion control, as a person reads it. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..contract.messages import ControlRefused

_SOURCE = re.compile(r"^; (?P<text>.*?)(?: @ (?P<file>[^\s@]+):(?P<line>\d+))?$")
_INSTRUCTION = re.compile(r"^\d+: (?:\([0-9a-f]{2}\) |R\d|.*\bR\d+(?:_\w+)?=)")
_NOISE = re.compile(
    r"^(?:processed \d+ insns|verification time|stack depth|from \d+ to \d+|peak_states|libbpf:"
    r"|-- (?:BEGIN|END) |mark_precise:|last_idx|regs=|parent |func#|Live regs|Global function"
    r"|arg#|frame\d+:|R\d+(?:_\w+)?=|\s*$)"
)


@dataclass(frozen=True)
class Refusal:
    """Why the verifier refuses a program.

    Attributes:
        reason: Its own words.
        text: The line of C that the refused instruction came from; empty: not known.
        place: File and line of that, such as "mine.c:33"; empty where the kernel does not say.
        instruction: The instruction; empty: not known.
    """

    reason: str
    text: str = ""
    place: str = ""
    instruction: str = ""


def read_refusal(log: Sequence[str], message: str = "") -> Refusal:
    """Find the reason and the source line in the verifier's log.

    Args:
        log: The log, or its end.
        message: What is said where the log has no reason.
    """
    reason, text, place, instruction = "", "", "", ""
    for line in map(str.strip, log):
        if source := _SOURCE.match(line):
            text = source["text"]
            place = f"{source['file']}:{source['line']}" if source["file"] else ""
        elif _INSTRUCTION.match(line):
            instruction = line
        elif not _NOISE.match(line):
            reason = line
    return Refusal(reason or message, text, place, instruction)


def refusal_text(name: str, refused: ControlRefused) -> str:
    """One message about a control that the kernel does not take.

    Args:
        name: The control.
        refused: What nashbed-cc says.
    """
    if refused.reason == "name_taken":
        return f"{name}: the kernel has a congestion control of this name; rename the file"
    if refused.reason == "not_permitted":
        return f"{name}: registering it is not permitted ({refused.message}); run it as root"
    if refused.reason == "not_a_control":
        return f"{name}: is no congestion control ({refused.message}); it ends in CC_REGISTER(...)"
    if refused.reason == "verifier":
        return f"{name}: the verifier refuses it: {refusal_line(refused)}"
    return f"{name}: the kernel refuses it: {refused.message}"


def refusal_line(refused: ControlRefused) -> str:
    """Reason and place of the verifier's refusal in one line."""
    why = read_refusal(refused.log, refused.message)
    at = f", at {why.place}" if why.place else ""
    return f"{why.reason}{at}" + (f": `{why.text}`" if why.text else "")
