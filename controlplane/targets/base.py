"""What every target does: a few operations, and nothing that a target may silently skip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from ..contract.lane import LaneProgram, TelemetryPlan
from ..contract.messages import Counters, DisturbanceTotals, Hello, TelemetryTotals
from ..contract.target import Applied, Capabilities


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

    @abstractmethod
    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Empty a lane and zero its registers."""

    @abstractmethod
    def close(self) -> None:
        """Bring the target down. Safe to call twice, and after a failed load."""
