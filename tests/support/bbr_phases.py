"""The phases that a BBR flow went through, from what it tells of itself (hosts/cc/bbr/state.h)."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.cc_sim import SimSample

STARTUP, DRAIN, DOWN, CRUISE, REFILL, UP, PROBE_RTT = range(1, 8)
GAIN_UNIT = 256


@dataclass(frozen=True)
class Phase:
    """One phase: its samples, the first at `start_s`, the last at `end_s`."""

    mode: int
    samples: list[SimSample]

    @property
    def start_s(self) -> float:
        """When it was first seen."""
        return self.samples[0].time_ns / 1e9

    @property
    def end_s(self) -> float:
        """When it was last seen."""
        return self.samples[-1].time_ns / 1e9

    @property
    def least_cwnd(self) -> int:
        """The least window in it, in segments."""
        return min(one.cwnd for one in self.samples)


def phases(samples: Sequence[SimSample]) -> list[Phase]:
    """Split one flow's samples where its mode changes; without those before it started."""
    found: list[Phase] = []
    for one in samples:
        if one.mode == 0:
            continue
        if not found or found[-1].mode != one.mode:
            found.append(Phase(one.mode, []))
        found[-1].samples.append(one)
    return found


def gains(samples: Sequence[SimSample], mode: int) -> set[tuple[float, float]]:
    """The gains (pacing, window) that a flow told in a mode, to two digits."""
    return {
        (round(one.pacing_gain / GAIN_UNIT, 2), round(one.cwnd_gain / GAIN_UNIT, 2))
        for one in samples
        if one.mode == mode
    }
