"""Benchmarks: what `nashbed bench` measures of an installation, each with its spread."""

import statistics
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .model import ContractModel, JsonAnswer, JsonObject

DERIVED = ("median", "low", "high", "ratio", "met")
"""What follows from the values, and stands in JSON beside them."""
RATES = (
    "Gbit/s", "Gbit/s per core", "million packets per second", "million postcards per second",
    "times the clock", "trials a minute", "trials/s",
)  # fmt: skip
"""Units of what a machine of twice the speed has twice of."""
TIMES = ("s", "ms", "ms per trial", "ns")
"""Units of what it has half of."""


class Yardstick(ContractModel):
    """How fast the machine itself was, right before and after a part of `nashbed bench`.

    Attributes:
        name: What it did: `kernel TCP`.
        values: Every round, in the order in which they were measured.
        missing: Why there are none; empty otherwise.
    """

    name: str
    unit: str
    values: tuple[float, ...] = ()
    missing: str = ""

    @property
    def mean(self) -> float:
        """Mean over the rounds; there must be some."""
        return statistics.fmean(self.values)


class Benchmark(ContractModel):
    """One benchmark of this installation.

    Attributes:
        name: What it is called, its unit included: `replay_mpps`.
        values: Every repetition, in the order in which they were measured; at least one.
        wanted: The bound that the median should reach; null: there is none.
        wanted_ratio: The bound that the ratio should reach if it is known; null: there is none.
        sense: On which side of its bound a value should be.
        yardstick: The machine's own speed in the same minute; null: it is no speed, or was measured
            before there were yardsticks.
        detail: How it was measured, in one line.
        data: Everything else worth keeping.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    wanted: float | None = None
    wanted_ratio: float | None = None
    sense: Literal["at least", "at most"] = "at least"
    yardstick: Yardstick | None = None
    detail: str = ""
    data: JsonObject = Field(default_factory=dict)

    @property
    def median(self) -> float:
        """Median over the repetitions."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """The smallest repetition."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest repetition."""
        return max(self.values)

    @property
    def ratio(self) -> float | None:
        """The median over the yardstick's mean, or a time multiplied by it; None without one.

        It is the same on a machine of any speed, as far as the yardstick is one.
        """
        if self.yardstick is None or not self.yardstick.values:
            return None
        mean = self.yardstick.mean
        return self.median * mean if self.unit in TIMES else self.median / mean

    @property
    def met(self) -> bool:
        """Whether median and ratio are on the good side of their bounds; True without one."""
        sign = 1 if self.sense == "at least" else -1
        judged = ((self.median, self.wanted), (self.ratio, self.wanted_ratio))
        return all(
            sign * value >= sign * bound
            for value, bound in judged
            if value is not None and bound is not None
        )

    @model_serializer(mode="wrap")
    def _with_what_follows(self, dump: SerializerFunctionWrapHandler) -> JsonObject:
        whole: JsonObject = dump(self)
        return whole | {name: getattr(self, name) for name in DERIVED}

    @model_validator(mode="before")
    @classmethod
    def _without_what_follows(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key not in DERIVED}


class BenchAnswer(JsonAnswer):
    """What a part of `nashbed bench` answers.

    Attributes:
        ok: Whether all that was measured reached its bounds.
    """

    ok: bool
    part: str
    figures: tuple[Benchmark, ...]


class MeasuredPart(ContractModel):
    """A part of `nashbed bench`, measured once.

    Attributes:
        words: What was asked for, after `nashbed bench`.
        begun_utc: When (ISO 8601, to the second).
        commit: Of nashbed; empty outside a git checkout. It ends with `+` where files were changed.
        ok: Whether all that was measured reached its bounds.
        error: Why nothing was; empty otherwise.
    """

    part: str
    words: tuple[str, ...]
    begun_utc: str
    commit: str
    ok: bool
    figures: tuple[Benchmark, ...] = ()
    error: str = ""


class MeasuredMachine(JsonAnswer):
    """How fast nashbed is on one machine: what `nashbed bench all` writes.

    Attributes:
        machine: What a person calls the machine.
        cpu: Model of its processor, and how many cores.
        memory_gb: Its memory in GB (10^9 bytes).
        kernel: Release of its kernel.
    """

    machine: str
    cpu: str
    memory_gb: float
    kernel: str
    parts: tuple[MeasuredPart, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every part reached its bounds."""
        return all(part.ok for part in self.parts)

    def with_parts(self, parts: Sequence[MeasuredPart]) -> Self:
        """With these parts in place of those of the same name, and those that are new."""
        new = {part.part: part for part in parts}
        kept = (new.pop(part.part, part) for part in self.parts)
        return self.model_copy(update={"parts": (*kept, *new.values())})

    @model_serializer(mode="wrap")
    def _with_what_follows(self, dump: SerializerFunctionWrapHandler) -> JsonObject:
        whole: JsonObject = dump(self)
        return {"format": whole["format"], "ok": self.ok} | whole

    @model_validator(mode="before")
    @classmethod
    def _without_what_follows(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key != "ok"}
