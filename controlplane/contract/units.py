"""Quantities as people write them, held exactly as whole numbers of a base unit.

`Rate` in bit/s, `Duration` in ns, `Size` in bytes, `Share` in parts per billion, and
`Buffer` in bytes, packets or bandwidth-delay products. Each parses from text, prints back
to text that parses to the same value, and is usable as a pydantic field.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from .shared import CONSTANTS

NS_PER_S = 1_000_000_000
PACKET_BYTES = CONSTANTS.frame_bytes_max
"""One full-sized Ethernet frame without FCS (MTU 1500): the unit of `64pkt`."""
LONGEST = 100
"""Characters of a quantity's text: no number that fits is longer for what it says."""

OTHERS_WRITE = {
    "bps": "bit", "kbps": "kbit", "mbps": "mbit", "gbps": "gbit", "nsec": "ns", "usec": "us",
    "msec": "ms", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "minutes": "min",
    "bytes": "b", "packets": "pkt", "pkts": "pkt",
}  # fmt: skip
"""Units of other programs."""

_NUMBER = re.compile(r"^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*(.*?)\s*$")


class Quantity(ABC):
    """Text <-> exact value, and the pydantic glue. Subclasses say which units they know."""

    UNITS: ClassVar[dict[str, int]]
    KIND: ClassVar[str]
    EXAMPLE: ClassVar[str]
    SHOWN: ClassVar[tuple[str, ...]] = ()
    LARGEST: ClassVar[int] = 2**63 - 1
    """In base units: what C and tables hold, or a program of ours takes."""

    if TYPE_CHECKING:  # a model's field of this type takes its text, too: pydantic parses it

        def __get__(self, model: object, kind: type | None = None) -> Self: ...
        def __set__(self, model: object, value: Quantity | str) -> None: ...

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """Parse what a person wrote; raises ValueError with what is allowed."""

    @classmethod
    def allowed(cls) -> str:
        """Say which units are allowed, for error messages."""
        units = cls.SHOWN or tuple(cls.UNITS)
        return f"a {cls.KIND} such as {cls.EXAMPLE} (units: {', '.join(units)})"

    @classmethod
    def _split(cls, text: str) -> tuple[Decimal, str]:
        """Split text into its number and its unit as spelled in UNITS."""
        if len(text) > LONGEST:
            raise ValueError(f"{text[:40]!r}... is too long; write {cls.allowed()}")
        match = _NUMBER.match(text)
        if match is None:
            raise ValueError(f"{text!r} is not {cls.allowed()}")
        number, unit = Decimal(match[1]), match[2]
        if number < 0:
            raise ValueError(f"{text!r} is negative; write {cls.allowed()}")
        if not unit:
            raise ValueError(f"{text!r} has no unit; write {cls.allowed()}")
        if unit not in cls.UNITS:
            meant = cls._meant(unit)
            say = f"did you mean {match[1]}{meant}? Write" if meant else "write"
            raise ValueError(f"{text!r} has an unknown unit {unit!r}; {say} {cls.allowed()}")
        if number * cls.UNITS[unit] > Quantity.LARGEST:
            raise ValueError(f"{text!r} is too large; write {cls.allowed()}")
        return number, unit

    @classmethod
    def _meant(cls, unit: str) -> str:
        """The unit that a person may have meant: in other case, as others write it, or begun."""
        lower = unit.lower()
        written = "" if "Bps" in unit else OTHERS_WRITE.get(lower, lower)  # bytes are no bits
        for wanted in (lower, written):
            for known in cls.UNITS:
                if known.lower() == wanted or (len(wanted) > 1 and known.startswith(wanted)):
                    return known
        return ""

    @classmethod
    def _whole(cls, text: str) -> int:
        """Parse to a whole number of base units."""
        number, unit = cls._split(text)
        value = number * cls.UNITS[unit]
        if value != value.to_integral_value():
            raise ValueError(f"{text!r} is finer than this {cls.KIND} can be told apart")
        if value > cls.LARGEST:
            most = _plain((Decimal(cls.LARGEST) / cls.UNITS[unit]).normalize())
            raise ValueError(f"{text[:40]!r} is too large; write at most {most}{unit}")
        return int(value)

    @classmethod
    def _validate(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not abs(value) <= Quantity.LARGEST:
                raise ValueError(f"the number is too large; write {cls.allowed()}")
            return cls.parse(str(value))
        raise ValueError(f"{value!r} is not {cls.allowed()}")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        units = "|".join(sorted((re.escape(u) for u in cls.UNITS), key=len, reverse=True))
        return {
            "type": "string",
            "title": cls.__name__,
            "description": cls.allowed(),
            "pattern": rf"^\s*\+?(\d+(\.\d*)?|\.\d+)\s*({units})\s*$",
            "examples": [cls.EXAMPLE],
        }


def _plain(number: Decimal) -> str:
    """Print a decimal without exponent and without trailing zeros."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format(value: int, steps: tuple[tuple[str, int], ...]) -> str:
    """Print value in the largest unit of steps (largest first) that does not exceed it."""
    for unit, scale in steps:
        if value >= scale:
            return _plain(Decimal(value) / Decimal(scale)) + unit
    return f"{value}{steps[-1][0]}"


@dataclass(frozen=True, order=True)
class Rate(Quantity):
    """A bit rate.

    Attributes:
        bps: Bits per second.
    """

    bps: int
    KIND: ClassVar[str] = "rate"
    EXAMPLE: ClassVar[str] = "100mbit"
    LARGEST: ClassVar[int] = CONSTANTS.rate_bps_max
    SHOWN: ClassVar[tuple[str, ...]] = ("bit", "kbit", "mbit", "gbit")
    UNITS: ClassVar[dict[str, int]] = {
        spelling: scale
        for names, scale in (
            (("bit", "bit/s"), 1),
            (("kbit", "Kbit", "kbit/s"), 10**3),
            (("mbit", "Mbit", "Mbit/s"), 10**6),
            (("gbit", "Gbit", "Gbit/s"), 10**9),
        )
        for spelling in names
    }

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `100mbit`."""
        return cls(cls._whole(text))

    def __str__(self) -> str:
        return _format(self.bps, (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3), ("bit", 1)))


@dataclass(frozen=True, order=True)
class Duration(Quantity):
    """A length of time.

    Attributes:
        ns: Nanoseconds.
    """

    ns: int
    KIND: ClassVar[str] = "duration"
    EXAMPLE: ClassVar[str] = "40ms"
    UNITS: ClassVar[dict[str, int]] = {
        "ns": 1,
        "us": 10**3,
        "ms": 10**6,
        "s": NS_PER_S,
        "min": 60 * NS_PER_S,
        "h": 3600 * NS_PER_S,
    }

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `40ms`."""
        return cls(cls._whole(text))

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.ns / NS_PER_S

    def __str__(self) -> str:
        return _format(self.ns, (("s", NS_PER_S), ("ms", 10**6), ("us", 10**3), ("ns", 1)))


_SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
_SIZE_STEPS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1))


@dataclass(frozen=True, order=True)
class Size(Quantity):
    """An amount of data.

    Attributes:
        bytes: Bytes.
    """

    bytes: int
    KIND: ClassVar[str] = "size"
    EXAMPLE: ClassVar[str] = "1MB"
    UNITS: ClassVar[dict[str, int]] = _SIZE_UNITS

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `1MB` (decimal) or `1MiB` (binary)."""
        return cls(cls._whole(text))

    def __str__(self) -> str:
        return _format(self.bytes, _SIZE_STEPS)


@dataclass(frozen=True, order=True)
class Share(Quantity):
    """A part of a whole.

    Attributes:
        ppb: Parts per billion.
    """

    ppb: int
    KIND: ClassVar[str] = "share"
    EXAMPLE: ClassVar[str] = "10%"
    UNITS: ClassVar[dict[str, int]] = {"%": 10**7}

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `10%`."""
        return cls(cls._whole(text))

    @property
    def fraction(self) -> float:
        """The share as a number, 1.0 being the whole."""
        return self.ppb / 10**9

    def __str__(self) -> str:
        return _plain(Decimal(self.ppb) / Decimal(10**7)) + "%"


@dataclass(frozen=True, order=True)
class Frequency(Quantity):
    """How often something happens.

    Attributes:
        micro: Times in a million seconds.
    """

    micro: int
    KIND: ClassVar[str] = "frequency"
    EXAMPLE: ClassVar[str] = "20/s"
    UNITS: ClassVar[dict[str, int]] = {"/s": 10**6}

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `20/s`."""
        return cls(cls._whole(text))

    @property
    def per_second(self) -> float:
        """How often in a second."""
        return self.micro / 10**6

    def __str__(self) -> str:
        return _plain(Decimal(self.micro) / Decimal(10**6)) + "/s"


def base_units(**named: Quantity | None) -> dict[str, int]:
    """Quantities of one number as machines have them, e.g. `rate_bps`; those that are given."""
    given = {name: value for name, value in named.items() if value is not None}
    return {f"{name}_{unit}": n for name, value in given.items() for unit, n in vars(value).items()}


BufferUnit = Literal["bytes", "packets", "bdp"]


@dataclass(frozen=True)
class Buffer(Quantity):
    """A buffer as a person writes it: `1MB`, `64pkt` or `2bdp`.

    Attributes:
        amount: How many of the unit; whole for bytes and packets.
        unit: bytes, packets (of 1514 bytes) or bandwidth-delay products.
    """

    amount: Decimal
    unit: BufferUnit
    KIND: ClassVar[str] = "buffer"
    EXAMPLE: ClassVar[str] = "2bdp"
    UNITS: ClassVar[dict[str, int]] = {"bdp": 1, "pkt": 1, **_SIZE_UNITS}

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse e.g. `2bdp`, `64pkt` or `1MB`."""
        number, unit = cls._split(text)
        if unit == "bdp":
            return cls(number.normalize(), "bdp")
        return cls(Decimal(cls._whole(text)), "packets" if unit == "pkt" else "bytes")

    def to_bytes(self, rate: Rate, base_rtt: Duration) -> int:
        """Size in bytes at a rate and a base RTT; a part of a byte is cut off.

        Args:
            base_rtt: The base RTT that the bandwidth-delay product is taken with.
        """
        if self.unit == "bytes":
            return int(self.amount)
        if self.unit == "packets":
            return int(self.amount) * PACKET_BYTES
        return int(self.amount * rate.bps * base_rtt.ns / (8 * NS_PER_S))

    def __str__(self) -> str:
        if self.unit == "bytes":
            return _format(int(self.amount), _SIZE_STEPS)
        return _plain(self.amount) + ("pkt" if self.unit == "packets" else "bdp")


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 trial`, `2 trials`, `3 mixes`."""
    plural = f"{noun}es" if noun.endswith("x") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def bdp_bytes(rate: Rate, base_rtt: Duration) -> float:
    """The bandwidth-delay product in bytes."""
    return rate.bps * base_rtt.ns / (8 * NS_PER_S)


def bytes_in_flight(rate_bps: int, time_ns: int) -> int:
    """Bytes that a rate carries in a time; a part of a byte is cut off.

    Args:
        time_ns: The time in ns, such as a base RTT.
    """
    return rate_bps * time_ns // (8 * NS_PER_S)
