"""What every target and every switch does, and what they need of the machine.

A target has a few operations, and nothing that it may silently skip.
"""

import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..contract.errors import TargetError
from ..contract.messages.dataplane import (
    Counters,
    DisturbanceTotals,
    FlowRegisters,
    Hello,
    QueueState,
    ReturnQueueTotals,
    SwitchHello,
    TelemetryTotals,
)
from ..contract.model import JsonObject
from ..contract.strategy import ModuleParameters
from ..contract.target import Applied, Capabilities, LaneProgram, TelemetryPlan


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for at a switch."""

    name: str
    ok: bool
    detail: str
    remedy: str


class TelemetryStream(ABC):
    """Postcards on their way to a file."""

    @abstractmethod
    def stop(self) -> TelemetryTotals:
        """Stop and close the file; everything that was seen is in it or counted as lost."""


class Target(ABC):
    """A programmable bottleneck with lanes side by side. Safe between threads.

    Every operation raises TargetError when the target refuses or cannot do it.
    """

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the target can do; needs no running target."""

    @abstractmethod
    def load(self, artefact: Path) -> Hello:
        """Bring the target up with a compiled program; returns what it says about itself."""

    @abstractmethod
    def program(self, lane: LaneProgram) -> Applied:
        """Set a lane up; returns what the target really does."""

    @abstractmethod
    def begin(self, lane: int, t0_ns: int) -> None:
        """Let what a lane's program schedules begin; without this nothing of it happens.

        Args:
            lane: The lane, programmed.
            t0_ns: When (the hosts' CLOCK_MONOTONIC), which has not come yet.
        """

    @abstractmethod
    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> TelemetryStream:
        """Start recording a lane's postcards."""

    @abstractmethod
    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """Read a lane's registers and the shared counters."""

    @abstractmethod
    def write_disturbances(self, lane: int, folder: Path) -> DisturbanceTotals:
        """Write what held a lane's frames up since its reset, and forget it.

        Args:
            lane: The lane, drained.
            folder: Where `disturbances.bin` and `pauses.bin` go.

        Returns:
            How many records were written, and how many are missing.
        """

    def write_return_queue(self, lane: int, folder: Path) -> ReturnQueueTotals:
        """Write what became of the queue of a lane's way back since its reset, and forget it.

        Args:
            lane: The lane, drained, whose program has such a queue.
            folder: Where `return_queue.bin` goes.

        Returns:
            How many records were written, and what the queue did in all.
        """
        raise TargetError(f"lane {lane}: {folder.name}: this target has no queue on the way back")

    @abstractmethod
    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Empty a lane and zero its registers."""

    @abstractmethod
    def close(self) -> None:
        """Bring the target down. Safe to call twice, and after a failed load."""


@dataclass(frozen=True)
class SwitchRegisters:
    """What a switch counted.

    Attributes:
        flows: Registers of the lane's flows.
        queue_packets: Packets in the lane's queue now; 0 means that it has drained.
        queue: What else it knows of the queue, for the trial's record.
        unshaped: Packets by the reason why they bypassed the lanes' queues
            (`reverse_packets`, `unknown_packets`, `malformed_packets`); names with
            `malformed`, `drop`, `err` and the like count as losses, see lane/programmed.py.
        losses: Everything else that it lost, telemetry included: each is a loss.
    """

    flows: FlowRegisters
    queue_packets: int
    queue: QueueState = field(default_factory=QueueState)
    unshaped: dict[str, int] = field(default_factory=dict)
    losses: dict[str, int] = field(default_factory=dict)


class Switch(ABC):
    """A programmable switch with lanes side by side. Safe between threads.

    Delay lines and the collector of postcards are the hosts' (`with_hosts.py` puts both
    together to a Target). Every operation raises TargetError when the switch refuses or
    cannot do it.

    Its postcards arrive at the data plane's `telemetry` port (layout: p4src/README.md). Their
    times are on the switch clock: enqueue is the arrival at the queue, dequeue the end of
    serialisation.
    """

    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What the switch can do; needs no running switch."""

    @abstractmethod
    def load(self, artefact: Path) -> SwitchHello:
        """Bring the switch up with a compiled program; returns what it says about itself."""

    @abstractmethod
    def program(self, lane: LaneProgram) -> Applied:
        """Set rate, limit and flow entries of a lane; the hosts keep its delay lines."""

    def correct(self, lane: int, plan: TelemetryPlan) -> None:  # noqa: B027 - most have nothing to do
        """Correct a lane's raw postcards, once all are written, by what only all of them show."""

    @abstractmethod
    def read_registers(self, lane: int, first_flow: int, flows: int) -> SwitchRegisters:
        """Read a lane's registers and what all lanes share."""

    @abstractmethod
    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Remove the lane's flow entries, zero its registers, forget what it has queued."""

    @abstractmethod
    def close(self) -> None:
        """Bring the switch down, or leave it as it was found.

        Safe to call twice, and after a failed load.
        """


class TargetProcess(Protocol):
    """A running program of the target, as much of it as an adapter needs."""

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""

    def wait_event(self, event: str, timeout_s: float) -> JsonObject:
        """Wait for a JSON line on its standard output."""

    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end."""

    def stop(self) -> None:
        """End it."""

    def failure(self, problem: str) -> Exception:
        """An error that quotes its last words."""


class DataPlaneSite(Protocol):
    """Where the data plane runs, and how it is connected."""

    @property
    def scratch(self) -> Path:
        """Where its configuration file and control socket go."""

    def ports(self) -> dict[str, JsonObject]:
        """Its ports, as its configuration file has them."""


class DataPlaneHost(DataPlaneSite, Protocol):
    """The machine that the data plane runs on."""

    def start_dataplane(self, config: Path) -> TargetProcess:
        """Start it with a configuration file."""


class GuestHost(DataPlaneSite, Protocol):
    """The machine that boots guests, one at a time, each with the data plane inside."""

    def boot(
        self, config: Path, seed: int, kernel: str, module_parameters: ModuleParameters
    ) -> TargetProcess:
        """End the guest before, boot another one; it serves its control socket on return.

        Args:
            kernel: Which kernel, by the beginning of its release; empty: the testbed's.
        """


class SwitchHost(Protocol):
    """The machine that a switch program runs on."""

    @property
    def scratch(self) -> Path:
        """Where generated files may go."""

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> TargetProcess:
        """Start the testbed's switch program with a compiled program.

        Its ports are 0 (from the data plane), 1 (to the receivers) and 2 (postcards).

        Args:
            options: Options of the switch's own target, after `--`.
        """

    def connect_switch(self, timeout_s: float) -> socket.socket:
        """A TCP connection to the switch program's control port, as soon as it answers."""


class TargetHost(DataPlaneHost, SwitchHost, Protocol):
    """A machine for either."""
