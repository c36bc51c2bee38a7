"""The equilibria of a run: one payoff table and its verdicts for each setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.sweep import Equilibrium, PairMixes
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import counted

from ..measures import Cell, RunMeasures, TrialMeasures, measure_run
from ..metrics.mixes import Crossing, crossings
from ..state import State, state_text, strategy_totals
from ..testbeds import compare_testbeds
from .certainty import Noise, noise_of_games, unclear
from .crossing_interval import LeadEnds, lead_ends
from .deciding import condition_of, not_settled
from .equilibria import Verdict, judge_all
from .game import Payoffs, PayoffTable
from .headline import NO_EQUILIBRIUM, Headline, headline_of
from .pairs import LISTED_PAIRS, PairEquilibria, equilibria_of_pairs, pairs_text
from .utility import Utility, throughput, utility_of, utility_text


@dataclass(frozen=True)
class TrialEquilibria:
    """The equilibria of one repetition's trials alone, as figure 9 of Mishra 2022 plots them.

    Attributes:
        states: The mixes in which no flow gains, by these trials.
    """

    repetition: int
    states: tuple[State, ...]
    mixes: int


@dataclass(frozen=True)
class SettingEquilibria:
    """The equilibria of one setting.

    Attributes:
        groups: Names of the flow groups.
        utility: Utility of a flow, in words.
        epsilon: Allowed gain of the epsilon-equilibria, as a share of the fair share.
        fair_share: Applied rate / number of flows, in bit/s.
        table: The utilities that were measured.
        verdicts: One for each state of the game.
        crossings: Where the second strategy's lead in throughput ends (one group, two
            strategies).
        state_count: Number of states of the game.
        missing_count: How many of them were not measured.
        ends: Where the second strategy's lead in utility ends, with its interval; None if the
            game is no line (one group, two strategies).
        by_trial: The equilibria of each repetition alone, where there are several.
        unclear: Mixes whose further repetition could change the verdict on an equilibrium.
        trials: Trials of the measured mixes with flows of several strategies.
        unsettled: How many of them had not settled.
        exhausted: Repetitions after which these are still not clear; 0: clear, or not all done.
        pairs: Of a scenario of pairs: the game of each pair that was measured.
        disagreement: Which testbeds measured different things here, in words; empty: none.
        not_settled: Mixes that decide where the equilibrium is, and are not known to have settled
            in every trial.
        condition: Length and start of the trials, where there are any such mixes; else empty.
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
    state_count: int
    missing_count: int
    ends: LeadEnds | None = None
    by_trial: tuple[TrialEquilibria, ...] = ()
    unclear: tuple[State, ...] = ()
    exhausted: int = 0
    trials: int = 0
    unsettled: int = 0
    pairs: tuple[PairEquilibria, ...] = ()
    disagreement: str = ""
    not_settled: tuple[State, ...] = ()
    condition: str = ""

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
        """The states that cannot be judged because measurements are missing."""
        return [v for v in self.verdicts if v.equilibrium == "undecided"]

    def verdict(self, state: State) -> Verdict:
        """The verdict on one state; none on one that is none of the game's."""
        unknown = Verdict(state, "undecided", "undecided", None, None, (state,))
        return next((v for v in self.verdicts if v.state == state), unknown)

    def text(self, state: State) -> str:
        """A state in words."""
        return state_text(state, self.strategies, self.groups)

    @property
    def decided(self) -> bool:
        """Whether any mix has a verdict; none may have one where mixes were picked by hand."""
        return any(v.equilibrium != "undecided" for v in self.verdicts)

    @property
    def lists_pairs(self) -> bool:
        """Whether the headline is a list of pairs, few enough to be read one by one."""
        return 0 < len(self.pairs) <= LISTED_PAIRS

    @property
    def over(self) -> str:
        """What a mix is judged over, where that is not one game: words to put behind its name."""
        return " over all pairs" if self.table.pairs else ""

    @property
    def flows(self) -> int:
        """Flows of all groups."""
        return sum(self.table.sizes)

    def probability(self, state: State) -> float | None:
        """How probably a mix of a line is the equilibrium; None if that is not known."""
        return None if self.ends is None else self.ends.probability.get(state[0][1])

    def headline(self) -> Headline:
        """The equilibrium with its interval and its condition, and what is not certain."""
        if self.table.pairs:  # each says its condition, but in a ranking
            condition = "" if self.lists_pairs else self.condition
            text = pairs_text(self.pairs) or "undecided"
            return Headline(text, notes=tuple(self.notes()), condition=condition)
        states = [self.text(v.state) for v in self.equilibria]
        otherwise = "undecided" if self.undecided else NO_EQUILIBRIUM
        return headline_of(
            states,
            self.strategies,
            self.flows,
            self.ends,
            self.notes(),
            otherwise,
            self.condition,
        )

    def summary(self) -> str:
        """The headline in one line."""
        return self.headline().line()

    def notes(self) -> list[str]:
        """What is not certain about the equilibria, each in a few words."""
        has_interval = self.ends is not None and bool(self.ends.intervals)
        undecided = () if self.table.pairs else self.undecided  # each pair says it of itself
        notes = []
        if not self.equilibria and undecided:
            notes.append(f"{self.missing_count} of {self.state_count} mixes not measured")
        elif undecided and not has_interval:
            notes.append(f"{counted(len(undecided), 'mix')} undecided")
        elif has_interval and not self.equilibria:
            notes.append("by the measured means no mix is an equilibrium")
        if self.exhausted:
            notes.append(f"undecided after {self.exhausted} repetitions, all that there are")
        if self.ends is not None and self.ends.problem and self.equilibria:
            notes.append(self.ends.problem)
        if self.unsettled:
            notes.append(f"{self.unsettled} of {self.trials} trials had not settled (~)")
        if self.disagreement:
            notes.append(self.disagreement)
        return notes


def payoff_table(measures: RunMeasures, setting: Setting, utility: Utility) -> PayoffTable:
    """The payoff table of a setting, from valid trials only.

    Args:
        utility: Utility of a flow.
    """
    return _table(measures, setting, _samples(measures, setting, utility))


def _samples(
    measures: RunMeasures, setting: Setting, utility: Utility
) -> dict[State, dict[int, Payoffs]]:
    """State -> repetition -> payoffs.

    Mixes and trials without a complete utility are left out, and mixes in which a flow does not
    run: it is no choice of the game.
    """
    samples = {}
    groups = len(measures.group_names)
    for cell in measures.cells(setting):
        values = {
            t.trial.record.repetition: payoffs_of(t, measures.strategies, groups, utility)
            for t in cell.trials
        }
        complete = {number: v for number, v in values.items() if _complete(v, cell)}
        if complete and tuple(map(sum, cell.state)) == measures.group_sizes(setting):
            samples[cell.state] = complete
    return samples


def _table(
    measures: RunMeasures, setting: Setting, samples: Mapping[State, Mapping[int, Payoffs]]
) -> PayoffTable:
    return PayoffTable(
        measures.strategies,
        measures.group_names,
        measures.group_sizes(setting),
        {state: np.stack(list(values.values())) for state, values in samples.items()},
        measures.fair_share(setting),
        pairs=_pairs(measures),
    )


def _pairs(measures: RunMeasures) -> frozenset[frozenset[int]]:
    """The pairs of a run of several games; none where all of its mixes are one game."""
    mixes, names = measures.run.scenario.sweep.mixes, measures.strategies
    if not isinstance(mixes, PairMixes) or len(names) < 3:
        return frozenset()
    return frozenset(frozenset(map(names.index, pair)) for pair in mixes.of(names))


def _by_trial(
    measures: RunMeasures, setting: Setting, samples: Mapping[State, Mapping[int, Payoffs]]
) -> tuple[TrialEquilibria, ...]:
    """The equilibria of each repetition as a series of its own; none where there is only one."""
    numbers = sorted({number for values in samples.values() for number in values})
    if len(numbers) < 2:
        return ()
    found = []
    for number in numbers:
        alone = {s: {number: v[number]} for s, v in samples.items() if number in v}
        verdicts = judge_all(_table(measures, setting, alone))
        states = tuple(v.state for v in verdicts if v.equilibrium == "yes")
        found.append(TrialEquilibria(number, states, len(alone)))
    return tuple(found)


def payoffs_of(
    trial: TrialMeasures, strategies: Sequence[str], groups: int, utility: Utility
) -> Payoffs:
    """Utilities of one trial.

    Args:
        strategies: Names of the strategies, S of them.
        groups: Number of groups G.

    Returns:
        Utility of a flow of each group and strategy, shape (G, S); NaN where there is none.
    """
    return np.array([[utility(trial, s, g) for s in strategies] for g in range(groups)])


def _complete(values: Payoffs, cell: Cell) -> bool:
    """Whether every flow that the mix has got a utility (a trial without goodput has none)."""
    return bool(np.isfinite(values[np.array(cell.state) > 0]).all())


def equilibria_of_run(run_dir: Path) -> list[SettingEquilibria]:
    """Find the equilibria of every setting of a run by exhaustive search.

    Raises:
        RunError: The directory is not a readable run.
    """
    return equilibria_of_measures(measure_run(run_dir))


def equilibria_of_measures(measures: RunMeasures) -> list[SettingEquilibria]:
    """Find the equilibria of every setting of measured trials.

    Raises:
        ConfigError: The scenario's own utility cannot be imported, or fails.
    """
    spec = measures.run.scenario.equilibrium
    utility = utility_of(spec.utility)
    settings = measures.run.settings
    samples = [_samples(measures, setting, utility) for setting in settings]
    tables = [_table(measures, each, s) for each, s in zip(settings, samples, strict=True)]
    noises = noise_of_games((table.samples, table.fair_share) for table in tables) if tables else []
    found = [
        _of_setting(measures, setting, spec, table, _by_trial(measures, setting, own), noise)
        for setting, table, own, noise in zip(settings, tables, samples, noises, strict=True)
    ]
    testbeds = compare_testbeds(measures)
    if testbeds is None:
        return found
    return [replace(each, disagreement=testbeds.note(each.setting.label)) for each in found]


def _of_setting(
    measures: RunMeasures,
    setting: Setting,
    spec: Equilibrium,
    table: PayoffTable,
    by_trial: tuple[TrialEquilibria, ...],
    noise: Noise,
) -> SettingEquilibria:
    epsilon = spec.epsilon.fraction
    verdicts = tuple(judge_all(table, epsilon))
    states = _unclear(table, verdicts, noise, epsilon)
    mixed = [c for c in measures.cells(setting) if sum(n > 0 for n in strategy_totals(c.state)) > 1]
    settled = {cell.state for cell in mixed if measures.is_settled(cell)}
    condition = condition_of(measures.scenario_at(setting))
    ends = lead_ends(table)
    pairs = equilibria_of_pairs(table, settled.__contains__, condition)
    unsettled = (
        tuple(sorted({state for pair in pairs for state in pair.not_settled}))
        if table.pairs
        else not_settled(table, verdicts, ends, settled.__contains__)
    )
    return SettingEquilibria(
        trials=sum(len(cell.trials) for cell in mixed),
        unsettled=sum(cell.unsettled for cell in mixed),
        setting=setting,
        strategies=table.strategies,
        groups=table.groups,
        utility=utility_text(spec.utility),
        epsilon=epsilon,
        fair_share=table.fair_share,
        table=table,
        verdicts=verdicts,
        crossings=tuple(_crossings(payoff_table(measures, setting, throughput))),
        state_count=table.state_count,
        missing_count=table.state_count - len(table.samples),
        ends=ends,
        by_trial=by_trial,
        unclear=states,
        exhausted=_exhausted(table, states, measures.run.scenario.trials),
        pairs=pairs,
        not_settled=unsettled,
        condition=condition if unsettled else "",
    )


def _unclear(
    table: PayoffTable, verdicts: Sequence[Verdict], noise: Noise, epsilon: float
) -> tuple[State, ...]:
    """Mixes whose repetition could change the verdict on an equilibrium; none without noise."""
    if noise.freedom == 0 or table.pairs:
        return ()
    states: set[State] = set()
    for verdict in verdicts:
        if verdict.equilibrium == "yes":
            states |= unclear(verdict.state, table.samples, noise, table.fair_share, epsilon)
    return tuple(sorted(states))


def _exhausted(table: PayoffTable, states: Sequence[State], repetitions: int) -> int:
    """The scenario's repetitions, if all of the unclear mixes have had so many; else 0."""
    if not states or any(len(table.samples[state]) < repetitions for state in states):
        return 0
    return repetitions


def _crossings(table: PayoffTable) -> list[Crossing]:
    if len(table.strategies) != 2 or len(table.groups) != 1:
        return []
    mixed = {strategy_totals(s): m for s, m in table.means.items() if min(strategy_totals(s)) > 0}
    first = {k: float(m[0, 0]) for (_, k), m in mixed.items()}
    second = {k: float(m[0, 1]) for (_, k), m in mixed.items()}
    return crossings(first, second)
