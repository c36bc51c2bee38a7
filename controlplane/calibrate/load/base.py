"""What a load generator does: describe itself, send a burst, close."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

NS = 10**9


@dataclass(frozen=True)
class BurstStep:
    """Frames of one size.

    Attributes:
        frame_bytes: Ethernet frame without FCS.
        count: How many.
    """

    frame_bytes: int
    count: int = 1


@dataclass(frozen=True)
class Burst:
    """UDP frames of one flow, in order.

    Attributes:
        src: Sender's address.
        sport: Sender's port.
        dst: Receiver's address.
        dport: Receiver's port.
        steps: The frames.
        pps: Frames per second; what a generator cannot pace it sends as fast as it can.
    """

    src: str
    sport: int
    dst: str
    dport: int
    steps: tuple[BurstStep, ...]
    pps: int

    @property
    def frames(self) -> int:
        """Number of frames."""
        return sum(step.count for step in self.steps)

    @property
    def seconds(self) -> float:
        """How long sending takes."""
        return self.frames / self.pps


class Load(ABC):
    """A load generator on the senders' side of the path."""

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Its name and version, for the certificate."""

    @abstractmethod
    def send(self, burst: Burst) -> int:
        """Send a burst to its end; returns the number of frames sent.

        Raises:
            HostError: The generator failed.
        """

    @abstractmethod
    def close(self) -> None:
        """Give up what it holds. Safe to call twice."""
