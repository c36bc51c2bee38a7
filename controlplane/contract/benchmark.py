"""Benchmarks: what `nashbed bench` measures of an installation, each with its spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .model import ContractModel, JsonAnswer, JsonObject

DERIVED = ("median", "low", "high", "met")
"""What follows from the values, and stands in JSON beside them."""


class Benchmark(ContractModel):
    """One benchmark of this installation.

    Attributes:
        name: What it is called, its unit included: `replay_mpps`.
        unit: The unit, for a person.
        values: Every repetition, in the order in which they were measured; at least one.
        wanted: The bound that the median should reach; null: there is none.
        sense: On which side of the bound the median should be.
        detail: How it was measured, in one line.
        data: Everything else worth keeping.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    wanted: float | None = None
    sense: Literal["at least", "at most"] = "at least"
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
    def met(self) -> bool:
        """Whether the median is on the good side of the bound; True without one."""
        if self.wanted is None:
            return True
        return (
            self.median >= self.wanted if self.sense == "at least" else self.median <= self.wanted
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
        part: Which part.
        figures: What was measured.
    """

    ok: bool
    part: str
    figures: tuple[Benchmark, ...]


class MeasuredPart(ContractModel):
    """A part of `nashbed bench`, measured once.

    Attributes:
        part: Which one.
        words: What was asked for, after `nashbed bench`.
        begun_utc: When (ISO 8601, to the second).
        commit: Of nashbed; empty outside a git checkout. It ends with `+` where files were changed.
        ok: Whether all that was measured reached its bounds.
        figures: What was measured.
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
        parts: What was measured on it.
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
