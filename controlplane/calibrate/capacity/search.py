"""The largest level that passes, where passing is partly chance."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from ...contract.capacity import LevelAttempt

Measure = Callable[[int], LevelAttempt]


class Search:
    """Grows from a level that may be known, bisects, then confirms what it found.

    A level passes when one of its attempts does: on a machine that others use as well, a
    single failure says little. Whatever is found passed twice, in two tries of its own.

    Args:
        measure: Tries a level once.
        attempts: How often a level may be tried before it counts as failed.
    """

    def __init__(self, measure: Measure, attempts: int) -> None:
        self._measure = measure
        self._attempts = attempts
        self.made: list[LevelAttempt] = []

    def most(self, start: int, largest: int) -> int:
        """The largest level that passes and is confirmed; 0 when not even 1 does.

        Args:
            start: Where to begin.
            largest: No level above this is tried.
        """
        passed, failed = self._bracket(max(1, min(start, largest)), largest)
        while failed - passed > 1:
            middle = (passed + failed) // 2
            passed, failed = (middle, failed) if self.passes(middle) else (passed, middle)
        return self._confirmed(passed)

    def passes(self, level: int) -> bool:
        """Whether one of a level's attempts passes."""
        return any(self._once(level) for _ in range(self._attempts))

    def _once(self, level: int) -> bool:
        self.made.append(self._measure(level))
        return self.made[-1].passed

    def _bracket(self, start: int, largest: int) -> tuple[int, int]:
        """A level that passes (or 0) and one above that does not."""
        if not self.passes(start):
            below = (made.lanes for made in self.made if made.passed and made.lanes < start)
            return max(below, default=0), start
        level = start
        while level < largest:
            # By half: far above what a machine carries, a level takes long to fail.
            above = min(level + (level + 1) // 2, largest)
            if not self.passes(above):
                return level, above
            level = above
        return level, largest + 1

    def _confirmed(self, level: int) -> int:
        """The level, or the next one below that passes now."""
        return next(each for each in count(level, -1) if each == 0 or self._again(each))

    def _again(self, level: int) -> bool:
        """A level that passed before must pass once more; one that was not tried, twice."""
        known = any(made.passed for made in self.made if made.lanes == level)
        return (known or self.passes(level)) and self.passes(level)
