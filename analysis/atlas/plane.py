"""A map's plane: two quantities that vary, the others fixed, and the question at every point."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.model import ContractModel, Number
from nashbed.controlplane.contract.units import PACKET_BYTES, Duration, Rate

from ..models.asked import started_by_iperf3
from ..models.competition import Competition, cubic_against

MOST_STEPS = 1000
LEAST_STEPS = 2
DEFAULTS = {"buffer": 5.0, "rate": 100e6, "base_rtt": 0.04, "flows": 50.0}
"""What is fixed if nothing else is said, in base units (BDP, bit/s, s, flows)."""
SETS_RATE = "bdp-per-flow"
TOGETHER, IPERF3 = "together", "iperf3"
STARTS = (TOGETHER, IPERF3)
"""How flows start, in the words of a scenario."""


def _bdp(text: str) -> float:
    return _finite(text.removesuffix("bdp"))


def _packets(text: str) -> float:
    return _finite(text.removesuffix("pkt"))


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no number")
    return value


def _bit_rate(text: str) -> float:
    return float(Rate.parse(text).bps)


def _seconds(text: str) -> float:
    return Duration.parse(text).seconds


def _flows(text: str) -> float:
    return float(int(text))


@dataclass(frozen=True)
class AxisKind:
    """A quantity that a map can have as an axis.

    Attributes:
        units: Units that it may be written with; one without any has "".
        read: Text with its unit -> value in the base unit (BDP, packets, bit/s, s, flows).
        shown: What the figure multiplies a value with.
    """

    name: str
    title: str
    column: str
    example: str
    units: tuple[str, ...]
    read: Callable[[str], float]
    shown: float = 1.0


KINDS = {
    kind.name: kind
    for kind in (
        AxisKind("buffer", "buffer (BDP)", "buffer_bdp", "0.5..50bdp", ("bdp",), _bdp),
        AxisKind(
            "bdp-per-flow",
            "BDP per flow (packets)",
            "bdp_per_flow_packets",
            "0.5..100pkt",
            ("pkt",),
            _packets,
        ),
        AxisKind(
            "rate",
            "rate (Mbit/s)",
            "rate_bps",
            "10..1000mbit",
            tuple(sorted(Rate.UNITS, key=len, reverse=True)),
            _bit_rate,
            1e-6,
        ),
        AxisKind(
            "base_rtt",
            "base RTT (ms)",
            "base_rtt_s",
            "5..100ms",
            tuple(sorted(Duration.UNITS, key=len, reverse=True)),
            _seconds,
            1e3,
        ),
        AxisKind("flows", "flows", "flows", "2..200", ("",), _flows),
    )
}
"""Every quantity that a map can be drawn over, by name."""


class AxisAnswer(ContractModel):
    """An axis of a map in JSON, in the base unit.

    Attributes:
        quantity: Its quantity, as on the command line.
        column: Its column in tables.
        low: Its smallest value.
        spacing: Whether these, or their logarithms, are evenly spaced.
    """

    quantity: str
    column: str
    low: Number
    high: Number
    steps: int
    spacing: Literal["log", "linear"]


class PlaneAnswer(ContractModel):
    """What a map is over, in JSON, in base units.

    Attributes:
        fixed: Column of a table -> value of a quantity that is fixed; `duration_s` and
            `window_bytes` (null: no limit) among them.
    """

    x: AxisAnswer
    y: AxisAnswer
    fixed: dict[str, Number | None]
    start: str


@dataclass(frozen=True)
class MapAxis:
    """One axis of a map.

    Attributes:
        low: Its smallest value, in the base unit.
        high: Its largest.
        steps: How many values.
        log: Whether they are evenly spaced in their logarithm.
    """

    kind: AxisKind
    low: float
    high: float
    steps: int
    log: bool = True

    @property
    def values(self) -> tuple[float, ...]:
        """The values in rising order; flows are whole, and each is there once."""
        space = np.geomspace if self.log else np.linspace
        values = space(self.low, self.high, self.steps)
        if self.kind.name == "flows":
            values = np.unique(np.rint(values))
        return tuple(float(value) for value in values)

    def answer(self) -> AxisAnswer:
        """This axis in JSON."""
        return AxisAnswer(
            quantity=self.kind.name,
            column=self.kind.column,
            low=self.low,
            high=self.high,
            steps=len(self.values),
            spacing="log" if self.log else "linear",
        )


def read_axis(option: str, text: str, steps: int) -> MapAxis:
    """Read an axis such as `buffer=0.5..50bdp`, `flows=2..100:linear` or `base_rtt=5..80ms:16`.

    Args:
        text: The text: quantity, range, and after colons `log`, `linear` or how many values.
        steps: How many values if the text does not say.

    Raises:
        ConfigError: It is no such axis; the message says what to write instead.
    """
    name, equals, rest = text.partition("=")
    kind = KINDS.get(name.strip())
    if kind is None or not equals:
        known = ", ".join(f"{each.name}={each.example}" for each in KINDS.values())
        raise ConfigError(f"{option}: {text!r} is no axis; write one of {known}")
    span, *further = rest.split(":")
    low, high = _span(option, kind, span)
    log = True
    for word in further:
        if word in {"log", "linear"}:
            log = word == "log"
        else:
            steps = _steps(option, word)
    return MapAxis(kind, low, high, steps, log)


def _steps(option: str, word: str) -> int:
    if not word.isdigit() or not LEAST_STEPS <= int(word) <= MOST_STEPS:
        raise ConfigError(
            f"{option}: {word!r} after a colon; write log, linear, or how many values "
            f"({LEAST_STEPS} to {MOST_STEPS})"
        )
    return int(word)


def _span(option: str, kind: AxisKind, span: str) -> tuple[float, float]:
    """The ends of a range; a unit that is written once counts for both."""
    written = f"write {kind.name}={kind.example}"
    first, dots, last = (part.strip() for part in span.partition(".."))
    if not dots:
        raise ConfigError(f"{option}: {span!r} is no range; {written}")
    unit = next((u for u in kind.units if last.endswith(u)), "")
    if first and (first[-1].isdigit() or first[-1] == "."):
        first += unit
    try:
        low, high = kind.read(first), kind.read(last)
    except ValueError as error:
        raise ConfigError(f"{option}: {span!r} is no range of {kind.title}; {written}") from error
    least = 2 if kind.name == "flows" else 0
    if low <= 0 or low < least or not low < high:
        above = "2 flows or more" if least else "above 0"
        raise ConfigError(f"{option}: {span!r} must rise, and start {above}; {written}")
    return low, high


@dataclass(frozen=True)
class MapPlane:
    """What a map is over.

    Attributes:
        fixed: The other quantities by name, in base units (BDP, packets, bit/s, s, flows).
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
        """
        at = {**self.fixed, self.x.kind.name: x, self.y.kind.name: y}
        flows = int(at["flows"])
        if SETS_RATE in at:
            rate = at[SETS_RATE] * flows * PACKET_BYTES * 8 / at["base_rtt"]
        else:
            rate = at["rate"]
        size = at["buffer"] * rate * at["base_rtt"] / 8
        game = cubic_against(
            rate, at["base_rtt"], size, flows - flows // 2, flows // 2, duration_s=self.duration_s
        )
        return game.limited(self.window_bytes)

    def mixes(self, question: Competition) -> Callable[[int], Competition]:
        """BBR flows -> the question of that mix, started as the map has it.

        By iperf3 the CCA with fewer flows starts first, so that starts are each mix's own.

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

    def answer(self) -> PlaneAnswer:
        """This plane in JSON."""
        fixed = {KINDS[name].column: value for name, value in self.fixed.items()}
        return PlaneAnswer(
            x=self.x.answer(),
            y=self.y.answer(),
            fixed={**fixed, "duration_s": self.duration_s, "window_bytes": self.window_bytes},
            start=self.start,
        )


def plane_of(x: MapAxis, y: MapAxis, given: Mapping[str, float | None]) -> MapPlane:
    """A plane, with what was not given as `DEFAULTS` has it.

    Args:
        given: What is to be fixed: `buffer`, `rate`, `base_rtt`, `flows`; None: not given.

    Raises:
        ConfigError: Both axes are the same quantity, or one is given twice.
    """
    varied = [x.kind.name, y.kind.name]
    if varied[0] == varied[1]:
        others = ", ".join(name for name in KINDS if name != varied[0])
        raise ConfigError(f"y: {varied[1]} is the x axis already; write one of {others}")
    if SETS_RATE in varied:
        if "rate" in varied:
            raise ConfigError(
                f"y: {SETS_RATE} varies the rate itself; write one of buffer, base_rtt, flows"
            )
        varied.append("rate")
    for name in varied:
        if given.get(name) is not None:
            raise ConfigError(f"{name}: the map varies it; leave it out")
    fixed = {n: v if (v := given.get(n)) is not None else DEFAULTS[n] for n in DEFAULTS}
    return MapPlane(x, y, {n: v for n, v in fixed.items() if n not in varied})
