"""What every target does: a few operations, and nothing that a target may silently skip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contract.lane import LaneProgram, TelemetryPlan
from ..contract.target import Applied, BottleneckProgram, Capabilities


@dataclass(frozen=True)
class TelemetryTotals:
    """What became of a lane's postcards.

    Attributes:
        seen: Postcards made by the pipeline.
        written: Records written to the file.
        gaps: Missing numbers in the postcards' sequence.
        lost: Postcards that a full ring or a failed write lost.
    """

    seen: int
    written: int
    gaps: int
    lost: int


@dataclass(frozen=True)
class Counters:
    """The registers of a lane and the counters that all lanes share.

    Attributes:
        flows: Register name -> one value for each of the lane's flows.
        lane: The lane's own registers, lateness among them.
        shared: Ports, rings, loop and unshaped traffic.
    """

    flows: dict[str, list[int]]
    lane: dict[str, Any]
    shared: dict[str, Any]

    @property
    def held_packets(self) -> int:
        """Packets in the lane's queue and delay lines."""
        return int(self.lane["queue_packets"]) + int(self.lane["delay_packets"])

    @property
    def lateness(self) -> dict[str, Any]:
        """Actual minus scheduled departure, and the loop's longest pause, since the last reset.

        In ns.
        """
        found: dict[str, Any] = self.lane["lateness"]
        return found


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
    def resolve(self, program: BottleneckProgram) -> Applied:
        """What the target would really do; needs no running target.

        Raises:
            ConfigError: It cannot do it; the reason, and what it can.
        """

    @abstractmethod
    def load(self, artefact: Path) -> dict[str, Any]:
        """Bring the target up with a compiled program; returns what it says about itself."""

    @abstractmethod
    def program(self, lane: LaneProgram) -> Applied:
        """Set a lane up; returns what the target really does."""

    @abstractmethod
    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> TelemetryStream:
        """Start keeping a lane's postcards."""

    @abstractmethod
    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """Read a lane's registers and the shared counters."""

    @abstractmethod
    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Empty a lane and zero its registers."""

    @abstractmethod
    def close(self) -> None:
        """Bring the target down. Safe to call twice, and after a failed load."""
