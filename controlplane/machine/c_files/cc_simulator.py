"""nashbed-cc-sim: flows of CCAs in one C file share a drop-tail bottleneck in virtual time."""

import json
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.errors import ConfigError, HostError
from ...contract.messages.ccas import SimulatedFlow, SimulatedPath
from ...contract.messages.message import read_message
from ..paths import CCA_SIMULATOR, built
from ..process import command
from ..process.compiler import c_compiler, run_compiler
from .kinds import CCA
from .objects import C_FLAGS

TIMEOUT_S = 60.0
"""A simulation takes a second or less."""
NAME = "nashbed-cc-sim"
_HINTS = {
    signal.SIGFPE: "a division by zero?",
    signal.SIGSEGV: "a state that is used before cc_state_new?",
}


@dataclass(frozen=True)
class SimulatedBottleneck:
    """A bottleneck of the simulator, and for how long.

    Attributes:
        rtt_ns: The flows' base RTT.
        buffer_bytes: Its drop-tail limit.
        warmup_ns: What is not counted at its beginning.
        loss_ppm: Segments in a million that are lost at random before it.
    """

    rate_bps: int
    rtt_ns: int
    buffer_bytes: int
    duration_ns: int
    warmup_ns: int
    loss_ppm: int = 0
    seed: int = 1

    @property
    def options(self) -> list[str]:
        """The simulator's options."""
        values = vars(self).items()
        return [
            word for key, value in values for word in (f"--{key.replace('_', '-')}", str(value))
        ]


@dataclass(frozen=True)
class Simulation:
    """What came of a simulation.

    Attributes:
        flows: What each flow got, in the order of the CCAs.
        path: What the bottleneck saw.
    """

    flows: tuple[SimulatedFlow, ...]
    path: SimulatedPath


def compile_for_simulator(cca: CFile, place: Path) -> None:
    """Make the shared object of a CCA that the simulator loads.

    Raises:
        ConfigError: It does not compile; the compiler's words.
        HostError: There is no C compiler.
    """
    names = ["-DCC_SIM", f'-DCC_NAME="{cca.name}"', f"-I{CCA.headers}"]
    source = str(cca.source.resolve())
    run_compiler(cca.source, [c_compiler(), *C_FLAGS, *names, source, "-o", str(place)])


def simulate(where: SimulatedBottleneck, flows: Sequence[str]) -> Simulation:
    """Run the simulator to its end.

    Args:
        flows: CCAs: `cubic`, or the path of a shared object, each with `:COUNT` behind it for
            more than one flow.

    Raises:
        ConfigError: A CCA crashes, or does not return.
        HostError: The simulator is not built, or fails.
    """
    args = [str(built(CCA_SIMULATOR)), *where.options, *flows]
    who = ", ".join(dict.fromkeys(Path(flow).stem for flow in flows))
    try:
        done = command.attempt(args, timeout_s=TIMEOUT_S)
    except command.CommandTimeoutError as error:
        raise ConfigError(
            f"{who}: the simulation does not end within {TIMEOUT_S:g} s; a loop without an end?"
        ) from error
    if done.code < 0:
        raise ConfigError(f"{who}: {_crash(-done.code)}")
    if done.code != 0:
        raise HostError(f"{NAME}: {done.complaint}")
    events = [json.loads(line) for line in done.out.splitlines()]
    reports = [event for event in events if event.get("event") == "flow"]
    ends = [event for event in events if event.get("event") == "end"]
    if len(ends) != 1:
        raise HostError(f"{NAME}: said nothing of its end")
    return Simulation(
        tuple(read_message(SimulatedFlow, each, f"{NAME}: flow", HostError) for each in reports),
        read_message(SimulatedPath, ends[0], f"{NAME}: end", HostError),
    )


def _crash(number: int) -> str:
    hint = f" ({_HINTS[signal.Signals(number)]})" if number in _HINTS else ""
    return f"crashes in the simulator by {signal.Signals(number).name}{hint}"
