"""A published panel of 357 mixes, 13 hours of its authors' time: how long it takes here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..contract.benchmark import Benchmark
from ..contract.model import ContractModel, JsonObject
from ..contract.plan import Plan
from ..contract.scenario import Scenario
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
        equilibria: CUBIC flows at each equilibrium, fewest first.
        epsilon_equilibria: The same where nobody gains more than the scenario's epsilon.
        published: CUBIC flows at the published equilibrium.
        mixes: Mixes that were run.
    """

    buffer_bdp: float
    equilibria: tuple[int, ...]
    epsilon_equilibria: tuple[int, ...]
    published: int
    mixes: int

    @property
    def off(self) -> int | None:
        """Flows between the published equilibrium and the nearest measured one, if any."""
        distances = [
            abs(each - self.published) for each in self.equilibria or self.epsilon_equilibria
        ]
        return min(distances, default=None)


class PanelRow(ContractModel):
    """A row of the panel in JSON; counts are of CUBIC flows.

    Attributes:
        buffer_bdp: The buffer.
        cubic_at_equilibrium: At each equilibrium.
        cubic_within_epsilon: Where nobody gains more than the scenario's epsilon.
        published: At the published equilibrium.
        off: Flows from there to the nearest measured one; null: none was found.
        mixes: Mixes that were run.
    """

    buffer_bdp: float
    cubic_at_equilibrium: tuple[int, ...]
    cubic_within_epsilon: tuple[int, ...]
    published: int
    off: int | None
    mixes: int


def projected(plan: Plan) -> Benchmark:
    """What the plan expects, without running anything."""
    return Benchmark(
        name="panel_minutes_projected",
        unit="min",
        values=(plan.estimated_seconds / 60,),
        wanted=TARGET_MINUTES,
        sense="at most",
        detail=f"about {plan.expected_trials} trials of 120 s, at most {plan.lanes} side by side; "
        f"published: {PUBLISHED_MINUTES} min",
        data={"trials": plan.expected_trials, "lanes": plan.lanes},
    )


def measured(seconds: float, trials: int, settled: Sequence[Settled]) -> tuple[Benchmark, ...]:
    """A panel that was run.

    Args:
        seconds: Wall-clock time of the run, from its first preparation to its last clean-up.
        trials: Valid trials.
        settled: Where each buffer settled.
    """
    minutes = Benchmark(
        name="panel_minutes",
        unit="min",
        values=(seconds / 60,),
        wanted=TARGET_MINUTES,
        sense="at most",
        detail=f"{trials} valid trials of 120 s; published: {PUBLISHED_MINUTES} min",
        data={"buffers": [_row(each) for each in settled]},
    )
    deep = [each.off for each in settled if each.buffer_bdp >= DEEP_BDP]
    missing = sum(each is None for each in deep)
    worst = Benchmark(
        name="panel_worst_flows_off",
        unit="flows",
        values=(float(max((each for each in deep if each is not None), default=0)),),
        wanted=TARGET_FLOWS_OFF if not missing else -1.0,
        sense="at most",
        detail="; ".join(_line(each) for each in settled),
    )
    return minutes, worst


def _row(settled: Settled) -> JsonObject:
    """The row of a buffer, as plain data."""
    return PanelRow(
        buffer_bdp=settled.buffer_bdp,
        cubic_at_equilibrium=settled.equilibria,
        cubic_within_epsilon=settled.epsilon_equilibria,
        published=settled.published,
        off=settled.off,
        mixes=settled.mixes,
    ).model_dump(mode="json")


def _line(settled: Settled) -> str:
    counts = "/".join(map(str, settled.equilibria or settled.epsilon_equilibria)) or "none"
    return f"{settled.buffer_bdp:g} BDP: {counts} CUBIC (published {settled.published})"


def of_run(path: Path, scenario: Scenario, trials: int, seconds: float) -> tuple[Benchmark, ...]:
    """The benchmarks of a panel that was run.

    Args:
        path: Its run directory.
        scenario: Its scenario; the reference holds the published equilibria.
        trials: Its valid trials.
        seconds: How long it took.
    """
    from nashbed.analysis.nash.of_run import equilibria_of_run  # noqa: PLC0415 - slow to import

    (reference,) = scenario.reference
    published = dict(zip(reference.x, reference.y, strict=True))
    settled = [
        Settled(
            buffer_bdp=each.setting.buffer_bdp,
            equilibria=tuple(sorted(v.state[0][0] for v in each.equilibria)),
            epsilon_equilibria=tuple(sorted(v.state[0][0] for v in each.epsilon_equilibria)),
            published=round(published[each.setting.buffer_bdp]),
            mixes=each.state_count - each.missing_count,
        )
        for each in equilibria_of_run(path)
    ]
    return measured(seconds, trials, settled)
