"""What a load generator does, and our own: nashbed-probe beside the senders."""

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..contract.records import PROBE_SCHEDULE
from ..machine.host.session import Session
from .probe import Prober, Socket

NS = 10**9


@dataclass(frozen=True)
class BurstStep:
    """Frames of one size.

    Attributes:
        frame_bytes: Ethernet frame without FCS.
    """

    frame_bytes: int
    count: int = 1


@dataclass(frozen=True)
class Burst:
    """UDP frames of one flow, in order.

    Attributes:
        pps: Frames per second; what a generator cannot pace it sends as fast as it can.
    """

    socket: Socket
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
    """A load generator on the senders' side of the path.

    Attributes:
        step_s: How long a change of size takes; 0: no time.
    """

    step_s: float = 0.0

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


class OwnLoad(Load):
    """nashbed-probe without echoes."""

    def __init__(self, session: Session, folder: Path) -> None:
        self._session = session
        self._folders = (folder / f"load-{number:02d}" for number in itertools.count(1))

    def describe(self) -> dict[str, str]:
        """Its name; its version is the checkout's."""
        return {"generator": "nashbed-probe"}

    def send(self, burst: Burst) -> int:
        """Send a burst."""
        prober = Prober(self._session, next(self._folders), [burst.socket], schedule_of(burst))
        try:
            prober.start()
            prober.finish()
        finally:
            prober.stop()
        return burst.frames

    def close(self) -> None:
        """Nothing is held between bursts."""


def schedule_of(burst: Burst) -> NDArray[np.void]:
    """A burst as evenly paced frames."""
    schedule = np.zeros(burst.frames, PROBE_SCHEDULE)
    schedule["at_ns"] = np.arange(burst.frames, dtype=np.int64) * NS // burst.pps
    schedule["frame_bytes"] = np.repeat(
        [step.frame_bytes for step in burst.steps], [step.count for step in burst.steps]
    )
    return schedule
