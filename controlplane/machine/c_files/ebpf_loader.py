"""nashbed-cc, which registers CCAs with this machine's kernel while it runs.

The kernel forgets them when the process ends, however it ends: its standard input closes with the
program that started it. What the kernel's verifier refuses is told as a person reads it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...contract.c_files import CFile
from ...contract.errors import ConfigError, HostError, NashbedError
from ...contract.messages.ccas import CcaRefused, CcaRegistered
from ...contract.messages.message import read_message
from ...contract.model import JsonObject
from ..paths import CCA_LOADER, built
from ..process import command
from ..process.managed import Process, json_event
from ..process.table import ProcessRegister
from .objects import CObject, ebpf_object

READY_TIMEOUT_S = 60.0
"""The verifier takes seconds for a large CCA on a busy machine."""
NAME = "nashbed-cc"

_SOURCE = re.compile(r"^; (?P<text>.*?)(?: @ (?P<file>[^\s@]+):(?P<line>\d+))?$")
_INSTRUCTION = re.compile(r"^\d+: (?:\([0-9a-f]{2}\) |R\d|.*\bR\d+(?:_\w+)?=)")
_NOISE = re.compile(
    r"^(?:processed \d+ insns|verification time|stack depth|from \d+ to \d+|peak_states|libbpf:"
    r"|-- (?:BEGIN|END) |mark_precise:|last_idx|regs=|parent |func#|func '|Live regs"
    r"|Global function|arg#|frame\d+:|R\d+(?:_\w+)?=|\s*$)"
)
_HINTS = {
    "or_null'": "the pointer may be NULL: test it before it is used",
    "no write support": "of a socket a congestion control writes nothing but by cc_set_*",
    "too large": "it follows every path, a million instructions at most: fewer branches in loops, "
    "or a function of CC_MATH",
    "infinite loop": "a loop needs a constant bound",
    "same insn cannot be used with different pointers": "wrap the read in cc_keep()",
    "stack": "512 bytes of local variables at most",
}
"""Words of the verifier -> what to do."""


class CcasLostError(HostError):
    """The CCAs of a run are no longer registered: no attempt at a trial can go better."""

    repeatable = False


class RegisteredCcas:
    """CCAs in this machine's kernel, until they are closed.

    Raises:
        HostError: The kernel refuses one.
    """

    def __init__(self, ccas: Sequence[CFile], register: ProcessRegister | None = None) -> None:
        self._names = {str(made.path): made.name for made in map(ebpf_object, ccas)}
        self._said: list[JsonObject] = []
        args = [str(built(CCA_LOADER)), *self._names]
        self._process = Process(NAME, args, register, read_event=self._keep)
        try:
            self._process.wait_event("ready", READY_TIMEOUT_S)
        except NashbedError as error:
            self.close()
            raise (self._refusal() or error) from error
        said = self._of("registered")
        self._registered = [read_message(CcaRegistered, s, NAME, HostError) for s in said]

    @property
    def maps(self) -> dict[str, int]:
        """The id of the map with its state, by the name of each CCA that keeps one."""
        return {each.name: each.state_map for each in self._registered if each.state_map}

    @property
    def pid(self) -> int:
        """The process that holds them."""
        return self._process.pid

    def require_held(self) -> None:
        """Raise CcasLostError when the process has ended, and the CCAs with it."""
        if self._process.poll() is not None:
            names = ", ".join(each.name for each in self._registered)
            problem = f"ended in mid-trial, and with it went {names}"
            raise CcasLostError(self._process.failure(problem).message)

    def close(self) -> None:
        """Unregister them. Safe to call twice."""
        self._process.stop()

    def _keep(self, line: str) -> JsonObject | None:
        """The event in a line; a refusal is an error of the process."""
        event = json_event(line)
        if event is not None:
            self._said.append(event)
            if event.get("event") == "refused":
                return {"event": "error", "error": event.get("message")}
        return event

    def _of(self, kind: str) -> list[JsonObject]:
        return [said for said in self._said if said.get("event") == kind]

    def _refusal(self) -> HostError | None:
        """What the kernel does not take, and why; None: that is not what went wrong."""
        for said in self._of("refused"):
            refused = read_message(CcaRefused, said, NAME, HostError)
            name = self._names.get(refused.object, refused.object)
            return HostError(refusal_text(name, refused))
        return None


def try_loading(made: CObject) -> None:
    """Register a CCA with this machine's kernel and unregister it at once.

    Raises:
        ConfigError: The kernel refuses it; the verifier's answer in a few lines.
        HostError: This user may not register one, or nashbed-cc fails.
    """
    args = [str(built(CCA_LOADER)), "--check", str(made.path)]
    done = command.attempt(args, timeout_s=READY_TIMEOUT_S)
    for event in filter(None, map(json_event, done.out.splitlines())):
        if event.get("event") == "refused":
            refused = read_message(CcaRefused, event, NAME, HostError)
            kind = HostError if refused.reason == "not_permitted" else ConfigError
            raise kind(refusal_text(made.name, refused))
    if done.code != 0:
        raise HostError(f"{NAME}: {done.complaint}")


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


def refusal_text(name: str, refused: CcaRefused) -> str:
    """One message about a CCA that the kernel does not take."""
    if refused.reason == "verifier":
        return f"{name}: the verifier refuses it: {refusal_line(refused)}"
    rename = "; rename the file" if refused.reason == "name_taken" else ""
    return f"{name}: {refused.message}{rename}"


def refusal_line(refused: CcaRefused) -> str:
    """Reason, place and remedy of the verifier's refusal in one line."""
    why = read_refusal(refused.log)
    if not why.reason:
        return "it does not say why; is each of its functions in CC_REGISTER?"
    at = f", at {why.place}" if why.place else ""
    text = f": `{why.text}`" if why.text else ""
    hints = [hint for words, hint in _HINTS.items() if words in why.reason]
    return f"{why.reason}{at}{text}" + "".join(f" ({hint})" for hint in hints[:1])
