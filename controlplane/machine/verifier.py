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
    r"|-- (?:BEGIN|END) |mark_precise:|last_idx|regs=|parent |func#|func '|Live regs"
    r"|Global function|arg#|frame\d+:|R\d+(?:_\w+)?=|\s*$)"
)
_HINTS = {
    "or_null'": "the pointer may be NULL: test it before it is used",
    "no write support": "of a socket a control writes nothing but by cc_set_*",
    "too large": "it follows every path, a million instructions at most: fewer branches in loops, "
    "or a function of CC_MATH",
    "infinite loop": "a loop needs a constant bound",
    "same insn cannot be used with different pointers": "wrap the read in cc_keep()",
    "stack": "512 bytes of local variables at most",
}
"""Words of the verifier -> what to do."""


@dataclass(frozen=True)
class Refusal:
    """Why the verifier refuses a program.

    Attributes:
        reason: Its own words; empty: it gives none.
        text: The line of C that the refused instruction came from; empty: not known.
        place: File and line of that, such as "mine.c:33"; empty where the kernel does not say.
        instruction: The instruction; empty: not known.
    """

    reason: str
    text: str = ""
    place: str = ""
    instruction: str = ""


def read_refusal(log: Sequence[str]) -> Refusal:
    """Find the reason and the source line in the verifier's log, or in its end."""
    reason, text, place, instruction = "", "", "", ""
    for line in map(str.strip, log):
        if source := _SOURCE.match(line):
            text = source["text"]
            place = f"{source['file']}:{source['line']}" if source["file"] else ""
        elif _INSTRUCTION.match(line):
            instruction = line
        elif not _NOISE.match(line):
            reason = line
    return Refusal(reason, text, place, instruction)


def refusal_text(name: str, refused: ControlRefused) -> str:
    """One message about a control that the kernel does not take.

    Args:
        name: The control.
        refused: What nashbed-cc says.
    """
    if refused.reason == "verifier":
        return f"{name}: the verifier refuses it: {refusal_line(refused)}"
    rename = "; rename the file" if refused.reason == "name_taken" else ""
    return f"{name}: {refused.message}{rename}"


def refusal_line(refused: ControlRefused) -> str:
    """Reason, place and remedy of the verifier's refusal in one line."""
    why = read_refusal(refused.log)
    if not why.reason:
        return "it does not say why; is each of its functions in CC_REGISTER?"
    at = f", at {why.place}" if why.place else ""
    text = f": `{why.text}`" if why.text else ""
    hints = [hint for words, hint in _HINTS.items() if words in why.reason]
    return f"{why.reason}{at}{text}" + "".join(f" ({hint})" for hint in hints[:1])
