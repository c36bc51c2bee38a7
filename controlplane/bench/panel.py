"""A published panel of 357 mixes, 13 hours of its authors' time: how long it takes here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..contract.benchmark import Figure
from ..contract.plan import Plan
from ..machine.paths import CONFIGS

PANEL = CONFIGS / "scenarios" / "srivastava2023" / "panel.yaml"
PUBLISHED_MINUTES = 13 * 60
TARGET_MINUTES = 20.0
TARGET_FLOWS_OFF = 3.0
DEEP_BDP = 10.0
"""From this buffer on the equilibria are held against the published ones."""


@dataclass(frozen=True)
class Settled:
    """Where a buffer settled.

    Attributes:
        buffer_bdp: The buffer.
        found: CUBIC flows at each equilibrium, fewest first.
        nearly: The same where nobody gains more than the scenario's epsilon.
        published: CUBIC flows at the published equilibrium.
        mixes: Mixes that were run.
    """

    buffer_bdp: float
    found: tuple[int, ...]
    nearly: tuple[int, ...]
    published: int
    mixes: int

    @property
    def off(self) -> int | None:
        """Flows between the published equilibrium and the nearest found; None without one."""
        distances = [abs(each - self.published) for each in self.found or self.nearly]
        return min(distances, default=None)


def projected(plan: Plan) -> Figure:
    """What the plan expects, without running anything."""
    return Figure(
        name="panel_minutes_projected",
        unit="min",
        values=(plan.estimated_seconds / 60,),
        wanted=TARGET_MINUTES,
        sense="at most",
        detail=f"about {plan.expected_trials} trials of 120 s, at most {plan.lanes} side by side; "
        f"published: {PUBLISHED_MINUTES} min",
        data={"trials": plan.expected_trials, "lanes": plan.lanes},
    )


def measured(seconds: float, trials: int, settled: Sequence[Settled]) -> tuple[Figure, ...]:
    """A panel that was run.

    Args:
        seconds: Wall-clock time of the run, from its first preparation to its last clean-up.
        trials: Valid trials.
        settled: Where each buffer settled.
    """
    minutes = Figure(
        name="panel_minutes",
        unit="min",
        values=(seconds / 60,),
        wanted=TARGET_MINUTES,
        sense="at most",
        detail=f"{trials} valid trials of 120 s; published: {PUBLISHED_MINUTES} min",
        data={"buffers": [told(each) for each in settled]},
    )
    deep = [each.off for each in settled if each.buffer_bdp >= DEEP_BDP]
    missing = sum(each is None for each in deep)
    worst = Figure(
        name="panel_worst_flows_off",
        unit="flows",
        values=(float(max((each for each in deep if each is not None), default=0)),),
        wanted=TARGET_FLOWS_OFF if not missing else -1.0,
        sense="at most",
        detail="; ".join(_line(each) for each in settled),
    )
    return minutes, worst


def told(settled: Settled) -> dict[str, Any]:
    """A row of the table, for JSON."""
    return {
        "buffer_bdp": settled.buffer_bdp,
        "cubic_at_equilibrium": list(settled.found),
        "cubic_within_epsilon": list(settled.nearly),
        "published": settled.published,
        "off": settled.off,
        "mixes": settled.mixes,
    }


def _line(settled: Settled) -> str:
    found = "/".join(map(str, settled.found or settled.nearly)) or "none"
    return f"{settled.buffer_bdp:g} BDP: {found} CUBIC (published {settled.published})"
