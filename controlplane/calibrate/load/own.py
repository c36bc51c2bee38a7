"""Our own generator: nashbed-probe in the senders' namespace, exact in size, paced in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...contract.records import PROBE_SCHEDULE
from ..probe import Prober, Socket
from .base import NS, Burst, Load


class OwnLoad(Load):
    """nashbed-probe without echoes.

    Args:
        make_prober: Makes a prober with these sockets and this schedule.
    """

    def __init__(self, make_prober: Callable[[list[Socket], NDArray[np.void]], Prober]) -> None:
        self._make_prober = make_prober

    def describe(self) -> dict[str, str]:
        """Its name; its version is the checkout's."""
        return {"generator": "nashbed-probe"}

    def send(self, burst: Burst) -> int:
        """Send a burst."""
        sockets = [Socket(burst.src, burst.sport, burst.dst, burst.dport)]
        prober = self._make_prober(sockets, schedule_of(burst))
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
