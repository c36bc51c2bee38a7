"""The axes of a map: which quantity, from where to where, in which steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.units import Duration, Rate

MOST_STEPS = 1000
LEAST_STEPS = 2


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
        name: As on the command line.
        title: What the figure says.
        column: Its column in tables.
        example: A range as it is written.
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
            "rtt",
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


@dataclass(frozen=True)
class MapAxis:
    """One axis of a map.

    Attributes:
        kind: Which quantity.
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

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON, in the base unit."""
        return {
            "quantity": self.kind.name,
            "column": self.kind.column,
            "low": self.low,
            "high": self.high,
            "steps": len(self.values),
            "spacing": "log" if self.log else "linear",
        }


def read_axis(option: str, text: str, steps: int) -> MapAxis:
    """Read an axis such as `buffer=0.5..50bdp`, `flows=2..100:linear` or `rtt=5..80ms:16`.

    Args:
        option: The option that it was given with.
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
