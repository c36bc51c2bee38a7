"""The equilibria of a run: one payoff table and its verdicts for each setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.contract.scenario import Equilibrium
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures, TrialMeasures, measure_run
from ..metrics.crossing import Crossing, crossings
from ..state import State, state_text, strategy_totals
from .bootstrap import resampled_share
from .equilibria import Verdict, judge_all
from .game import Payoffs, PayoffTable
from .utility import Utility, throughput, utility_of, utility_text


@dataclass(frozen=True)
class SettingEquilibria:
    """The equilibria of one setting.

    Attributes:
        setting: The setting.
        strategies: Names of the strategies.
        groups: Names of the flow groups.
        utility: Utility of a flow, in words.
        epsilon: Allowed gain of the epsilon-equilibria, as a share of the fair share.
        fair_share: Applied rate / number of flows, in bit/s.
        table: The utilities that were measured.
        verdicts: One for each state of the game.
        crossings: Where the second strategy's lead in throughput ends (one group, two
            strategies).
        frequency: State -> how often it is an equilibrium in the bootstrap, for the states
            that are repeated and have repeated neighbours.
        epsilon_frequency: The same of the epsilon-equilibria.
        state_count: Number of states of the game.
        missing_count: How many of them were not measured.
    """

    setting: Setting
    strategies: tuple[str, ...]
    groups: tuple[str, ...]
    utility: str
    epsilon: float
    fair_share: float
    table: PayoffTable
    verdicts: tuple[Verdict, ...]
    crossings: tuple[Crossing, ...]
    frequency: dict[State, float]
    epsilon_frequency: dict[State, float]
    state_count: int
    missing_count: int

    @property
    def equilibria(self) -> list[Verdict]:
        """The states in which no flow gains by switching."""
        return [v for v in self.verdicts if v.equilibrium == "yes"]

    @property
    def epsilon_equilibria(self) -> list[Verdict]:
        """The states in which no flow gains more than epsilon x fair share (equilibria too)."""
        return [v for v in self.verdicts if v.epsilon_equilibrium == "yes"]

    @property
    def undecided(self) -> list[Verdict]:
        """The states that cannot be judged for want of measurements."""
        return [v for v in self.verdicts if v.equilibrium == "undecided"]

    def verdict(self, state: State) -> Verdict:
        """The verdict on one state."""
        return next(v for v in self.verdicts if v.state == state)

    def text(self, state: State) -> str:
        """A state in words."""
        return state_text(state, self.strategies, self.groups)

    @property
    def decided(self) -> bool:
        """Whether anything is known of any mix; not so where a few mixes were picked by hand."""
        return any(v.equilibrium != "undecided" for v in self.verdicts)

    def summary(self) -> str:
        """One line for a person: the equilibria, or why there is none to name."""
        if self.equilibria:
            states = "; ".join(self.text(v.state) for v in self.equilibria)
            return f"{states} ({len(self.undecided)} mixes undecided)" if self.undecided else states
        if self.undecided:
            return f"undecided: {self.missing_count} of {self.state_count} mixes not measured"
        return "none"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; counts are by group and strategy name."""
        return {
            "setting": self.setting.label,
            "rate_bps": self.setting.rate_bps,
            "buffer": self.setting.buffer_label,
            "base_rtt_ns": list(self.setting.base_rtt_ns),
            "kernel": self.setting.kernel,
            "strategies": list(self.strategies),
            "utility": self.utility,
            "epsilon": self.epsilon,
            "fair_share_bps": self.fair_share,
            "summary": self.summary(),
            "equilibria": [self._verdict_dict(v) for v in self.equilibria],
            "epsilon_equilibria": [self._verdict_dict(v) for v in self.epsilon_equilibria],
            "undecided": [self._counts(v.state) for v in self.undecided],
            "mixes": self.state_count,
            "mixes_not_measured": self.missing_count,
            "crossings": [{"at": c.at, "between": list(c.between)} for c in self.crossings],
            "frequency": [
                {
                    "mix": self._counts(state),
                    "probability": share,
                    "epsilon_probability": self.epsilon_frequency[state],
                }
                for state, share in sorted(self.frequency.items(), reverse=True)
            ],
        }

    def _verdict_dict(self, verdict: Verdict) -> dict[str, Any]:
        relative = None if verdict.gain is None else verdict.gain / self.fair_share
        return {
            "mix": self._counts(verdict.state),
            "text": self.text(verdict.state),
            "gain_bps": verdict.gain,
            "gain_of_fair_share": relative,
            "probability": self.frequency.get(verdict.state),
            "epsilon_probability": self.epsilon_frequency.get(verdict.state),
        }

    def _counts(self, state: State) -> dict[str, dict[str, int]]:
        named = zip(self.groups, state, strict=True)
        return {g: dict(zip(self.strategies, counts, strict=True)) for g, counts in named}


def payoff_table(measures: RunMeasures, setting: Setting, utility: Utility) -> PayoffTable:
    """The payoff table of a setting, from valid trials only.

    Args:
        measures: The run's measures.
        setting: The setting.
        utility: Utility of a flow.
    """
    samples = {}
    for cell in measures.cells(setting):
        groups = len(measures.group_names)
        values = [payoffs_of(t, measures.strategies, groups, utility) for t in cell.trials]
        complete = [v for v in values if _complete(v, cell)]
        if complete:
            samples[cell.state] = np.stack(complete)
    return PayoffTable(
        measures.strategies,
        measures.group_names,
        measures.group_sizes,
        samples,
        measures.fair_share(setting),
    )


def payoffs_of(
    trial: TrialMeasures, strategies: Sequence[str], groups: int, utility: Utility
) -> Payoffs:
    """Utilities of one trial.

    Args:
        trial: The trial.
        strategies: Names of the strategies, S of them.
        groups: Number of groups G.
        utility: Utility of a flow.

    Returns:
        Utility of a flow of each group and strategy, shape (G, S); NaN where there is none.
    """
    return np.array([[utility(trial, s, g) for s in strategies] for g in range(groups)])


def _complete(values: Payoffs, cell: Cell) -> bool:
    """Whether every flow that the mix has got a utility (a trial without goodput has none)."""
    return bool(np.isfinite(values[np.array(cell.state) > 0]).all())


def equilibria_of_run(run_dir: Path) -> list[SettingEquilibria]:
    """Find the equilibria of every setting of a run by exhaustive search.

    Args:
        run_dir: A run directory.

    Raises:
        RunError: The directory is not a readable run.
    """
    return equilibria_of_measures(measure_run(run_dir))


def equilibria_of_measures(measures: RunMeasures) -> list[SettingEquilibria]:
    """Find the equilibria of every setting of measured trials.

    Args:
        measures: The run's measures.

    Raises:
        ConfigError: The scenario's own utility cannot be imported, or fails.
    """
    spec = measures.run.scenario.equilibrium
    utility = utility_of(spec.utility)
    return [
        equilibria_of_setting(measures, setting, spec, utility) for setting in measures.run.settings
    ]


def equilibria_of_setting(
    measures: RunMeasures, setting: Setting, spec: Equilibrium, utility: Utility
) -> SettingEquilibria:
    """Find the equilibria of one setting.

    Args:
        measures: The run's measures.
        setting: The setting.
        spec: How equilibria are searched.
        utility: Utility of a flow.
    """
    table = payoff_table(measures, setting, utility)
    epsilon = spec.epsilon.fraction
    return SettingEquilibria(
        setting=setting,
        strategies=table.strategies,
        groups=table.groups,
        utility=utility_text(spec.utility),
        epsilon=epsilon,
        fair_share=table.fair_share,
        table=table,
        verdicts=tuple(judge_all(table, epsilon)),
        crossings=tuple(_crossings(payoff_table(measures, setting, throughput))),
        frequency=resampled_share(table),
        epsilon_frequency=resampled_share(table, epsilon),
        state_count=table.state_count,
        missing_count=table.state_count - len(table.samples),
    )


def _crossings(table: PayoffTable) -> list[Crossing]:
    if len(table.strategies) != 2 or len(table.groups) != 1:
        return []
    mixed = {strategy_totals(s): m for s, m in table.means.items() if min(strategy_totals(s)) > 0}
    first = {k: float(m[0, 0]) for (_, k), m in mixed.items()}
    second = {k: float(m[0, 1]) for (_, k), m in mixed.items()}
    return crossings(first, second)
