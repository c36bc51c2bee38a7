"""A benchmark: what `nashbed bench` measures of this installation, with its spread."""

from __future__ import annotations

import statistics
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
