"""How much runs at once: the testbed's capacity, less while departures come late."""

from __future__ import annotations

import time
from collections.abc import Callable

BACK_OFF = 0.8
RECOVER = 1.05
SLOW_GATES = frozenset(
    {
        "lateness",
        "loop_gap",
        "round_trips",
        "paused",
        "responses",
        "no_other_loss",
        "no_repaired_loss",
    }
)
"""Gates that fail when a machine has too much to do."""


class LoadLimit:
    """The largest sum of rates that may run at once.

    A trial that failed a gate for too much load takes a fifth off what was running with it;
    each valid trial gives a twentieth back. Trials that ran side by side fail together from
    one cause, so only one that started after the last cut makes another.

    Args:
        capacity_bps: The testbed's capacity.
        adapts: Whether load can be why a trial fails; it cannot where time is virtual.
        now: Clock in seconds.
    """

    def __init__(
        self,
        capacity_bps: int,
        now: Callable[[], float] = time.monotonic,
        *,
        adapts: bool = True,
    ) -> None:
        self._adapts = adapts
        self._capacity = self._allowed = float(capacity_bps)
        self._now = now
        self._cut_at = -1.0

    @property
    def allowed_bps(self) -> int:
        """What may run at once now."""
        return int(self._allowed)

    @property
    def reduced(self) -> bool:
        """Whether it is less than the testbed's capacity."""
        return self._allowed < self._capacity

    def trial_ended(
        self, started: float, valid: bool, failed_gates: frozenset[str], load_bps: int
    ) -> bool:
        """Lower or raise the limit after a trial.

        Args:
            started: When it started, by the clock.
            valid: Whether it was valid.
            failed_gates: Names of the gates that it failed.
            load_bps: Sum of the rates that were running, its own included.

        Returns:
            Whether the limit was lowered because of it.
        """
        if not self._adapts:
            return False
        if valid:
            self._allowed = min(self._capacity, self._allowed * RECOVER)
            return False
        if not failed_gates & SLOW_GATES or started <= self._cut_at:
            return False
        self._allowed = min(self._allowed, load_bps) * BACK_OFF
        self._cut_at = self._now()
        return True
