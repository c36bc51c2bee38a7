"""A bottleneck outside our data plane: what an adapter for such a switch does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path

from ..contract.lane import LaneProgram, TelemetryPlan
from ..contract.messages import FlowRegisters, QueueState, SwitchHello
from ..contract.target import Applied, Capabilities


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
        """Set rate, limit and flow entries of a lane; the hosts keep its delay lines.

        Returns:
            What the switch really does.
        """

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
