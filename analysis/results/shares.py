"""Shares of the throughput in two runs, side by side, each with its spread over repetitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..measures import Cell

METRIC = "throughput_share"


@dataclass(frozen=True)
class Spread:
    """A quantity over the repetitions of a mix.

    Attributes:
        mean: The mean.
        low: The smallest.
        high: The largest.
        n: Number of repetitions.
    """

    mean: float
    low: float
    high: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class ShareComparison:
    """The share of a strategy's flows together, at one mix of two runs.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        strategy: Whose share.
        first: In the first run, 0 to 1.
        second: In the second run.
    """

    setting: str
    against: str
    mix: str
    strategy: str
    first: Spread
    second: Spread

    @property
    def difference(self) -> float:
        """The second run's mean less the first's."""
        return self.second.mean - self.first.mean

    @property
    def repeated(self) -> bool:
        """Whether both runs have a range: two trials or more."""
        return min(self.first.n, self.second.n) > 1

    @property
    def overlap(self) -> bool:
        """Whether the two runs' ranges have a value in common."""
        return self.first.low <= self.second.high and self.second.low <= self.first.high

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "setting": self.setting,
            "against": self.against,
            "mix": self.mix,
            "strategy": self.strategy,
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "difference": self.difference,
            "overlap": self.overlap,
        }


@dataclass(frozen=True)
class ShareSummary:
    """How far a strategy's shares are from each other in two runs, over the mixes of a setting.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        strategy: Whose share.
        mixes: Number of mixes.
        mean: Mean of the differences, second less first.
        mean_absolute: Mean of their absolute values.
        largest: The mix at which they differ most.
    """

    setting: str
    against: str
    strategy: str
    mixes: int
    mean: float
    mean_absolute: float
    largest: ShareComparison

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        largest = {"mix": self.largest.mix, "difference": self.largest.difference}
        return {**vars(self), "largest": largest}


def summarise_shares(shares: Sequence[ShareComparison]) -> list[ShareSummary]:
    """Summarise shares by setting and strategy, in their order.

    Args:
        shares: Shares at any number of mixes and settings.
    """
    grouped: dict[tuple[str, str, str], list[ShareComparison]] = {}
    for share in shares:
        grouped.setdefault((share.setting, share.against, share.strategy), []).append(share)
    return [
        ShareSummary(
            *key,
            mixes=len(group),
            mean=sum(s.difference for s in group) / len(group),
            mean_absolute=sum(abs(s.difference) for s in group) / len(group),
            largest=max(group, key=lambda s: abs(s.difference)),
        )
        for key, group in grouped.items()
    ]


def compare_shares(
    cells: tuple[Cell, Cell], mix: str, strategies: Sequence[str]
) -> list[ShareComparison]:
    """The shares at one mix: of every strategy but the first, for they add up to the whole.

    Args:
        cells: The mix in both runs.
        mix: The mix in words.
        strategies: The strategies that both runs have, in the order of the first run.

    Returns:
        One for each strategy that has flows there, and others beside it, in both runs.
    """
    shares = []
    for strategy in strategies[1:]:
        first, second = (_spread(cell, strategy) for cell in cells)
        if first is not None and second is not None:
            setting, against = (cell.setting.label for cell in cells)
            shares.append(ShareComparison(setting, against, mix, strategy, first, second))
    return shares


def _spread(cell: Cell, strategy: str) -> Spread | None:
    """The spread of a strategy's share; None where it has no flow, every flow, or no trial."""
    values = [
        trial.total_of(METRIC, strategy)
        for trial in cell.trials
        if not trial.flow_mask(strategy).all()
    ]
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    return Spread(sum(known) / len(known), min(known), max(known), len(known))
