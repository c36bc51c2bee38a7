"""Benchmarks: what `nashbed bench` measures of an installation, each with its spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field

from .model import ContractModel

DERIVED = ("median", "low", "high", "met")
"""What `Benchmark.to_dict` adds to the model's own fields."""


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
    data: dict[str, Any] = Field(default_factory=dict)

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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with what follows from the values."""
        return self.model_dump(mode="json") | {name: getattr(self, name) for name in DERIVED}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A benchmark from what `to_dict` made."""
        return cls.model_validate({k: v for k, v in data.items() if k not in DERIVED})


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


class MeasuredMachine(ContractModel):
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with what follows from the values."""
        parts = [
            part.model_dump(mode="json") | {"figures": [each.to_dict() for each in part.figures]}
            for part in self.parts
        ]
        return {"ok": self.ok} | self.model_dump(mode="json") | {"parts": parts}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """What `to_dict` made, read again."""
        parts = [
            part | {"figures": [Benchmark.from_dict(each) for each in part["figures"]]}
            for part in data["parts"]
        ]
        return cls.model_validate({k: v for k, v in data.items() if k != "ok"} | {"parts": parts})
