"""A map's plane: two quantities that vary, the others fixed, and the question at every point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.units import PACKET_BYTES

from ..models.asked import started_by_iperf3
from ..models.competition import Competition, cubic_against
from .axes import KINDS, MapAxis

DEFAULTS = {"buffer": 5.0, "rate": 100e6, "rtt": 0.04, "flows": 50.0}
"""What is fixed if nothing else is said, in base units (BDP, bit/s, s, flows)."""
SETS_RATE = "bdp-per-flow"
TOGETHER, IPERF3 = "together", "iperf3"
STARTS = (TOGETHER, IPERF3)
"""How flows start, in the words of a scenario."""


@dataclass(frozen=True)
class MapPlane:
    """What a map is over.

    Attributes:
        x: The axis to the right.
        y: The axis upwards.
        fixed: The other quantities by name, in base units (BDP, packets, bit/s, s, flows).
        duration_s: How long the flows compete, in seconds.
        start: How they start, one of `STARTS`.
        window_bytes: Most that a socket's buffers let a flow have in flight; None: no limit.
    """

    x: MapAxis
    y: MapAxis
    fixed: Mapping[str, float]
    duration_s: float = 120.0
    start: str = TOGETHER
    window_bytes: float | None = None

    def question(self, x: float, y: float) -> Competition:
        """The competition at a point; half of its flows run BBR, which no crossing reads.

        Args:
            x: Value on the x axis, in its base unit.
            y: Value on the y axis.
        """
        at = {**self.fixed, self.x.kind.name: x, self.y.kind.name: y}
        flows = int(at["flows"])
        if SETS_RATE in at:
            rate = at[SETS_RATE] * flows * PACKET_BYTES * 8 / at["rtt"]
        else:
            rate = at["rate"]
        size = at["buffer"] * rate * at["rtt"] / 8
        game = cubic_against(
            rate, at["rtt"], size, flows - flows // 2, flows // 2, duration_s=self.duration_s
        )
        return game.limited(self.window_bytes)

    def mixes(self, question: Competition) -> Callable[[int], Competition]:
        """BBR flows -> the question of that mix, started as the map has it.

        By iperf3 the control with fewer flows starts first, so that starts are each mix's own.

        Args:
            question: The competition at a point.

        Raises:
            ModelError: From the returned function: a start is later than the end.
        """
        if self.start == TOGETHER:
            return question.with_second

        return lambda bbr: started_by_iperf3(question.with_second(bbr))

    @property
    def points(self) -> int:
        """How many points the map has."""
        return len(self.x.values) * len(self.y.values)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, in base units."""
        fixed = {KINDS[name].column: value for name, value in self.fixed.items()}
        return {
            "x": self.x.to_dict(),
            "y": self.y.to_dict(),
            "fixed": {**fixed, "duration_s": self.duration_s, "window_bytes": self.window_bytes},
            "start": self.start,
        }


def plane_of(x: MapAxis, y: MapAxis, given: Mapping[str, float | None]) -> MapPlane:
    """A plane, with what was not given as `DEFAULTS` has it.

    Args:
        x: The axis to the right.
        y: The axis upwards.
        given: What is to be fixed: `buffer`, `rate`, `rtt`, `flows`; None: not given.

    Raises:
        ConfigError: Both axes are the same quantity, or one is given twice.
    """
    varied = [x.kind.name, y.kind.name]
    if varied[0] == varied[1]:
        others = ", ".join(name for name in KINDS if name != varied[0])
        raise ConfigError(f"--y: {varied[1]} is the x axis already; write one of {others}")
    if SETS_RATE in varied:
        if "rate" in varied:
            raise ConfigError(
                f"--y: {SETS_RATE} varies the rate itself; write one of buffer, rtt, flows"
            )
        varied.append("rate")
    for name in varied:
        if given.get(name) is not None:
            raise ConfigError(f"--{name}: the map varies it; leave --{name} out")
    fixed = {n: v if (v := given.get(n)) is not None else DEFAULTS[n] for n in DEFAULTS}
    return MapPlane(x, y, {n: v for n, v in fixed.items() if n not in varied})
