"""What flows got on one testbed and on another, at every setting and mix that both ran."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

from nashbed.controlplane.contract.model import ContractModel
from nashbed.controlplane.contract.trial import TrialRecord

from .measures import Cell, RunMeasures, TrialMeasures
from .metrics.statistics import Estimate, SampleComparison, adjusted, compare_samples
from .state import state_text

METRIC = "per_flow_throughput"
OWN = "the run's own"
"""Stands for the testbed of trials that do not say where they ran."""

Verdict = Literal["differ", "alike", "too few to tell"]


class TestbedComparison(ContractModel):
    """Throughput per flow of a strategy in one mix, on two testbeds, in bit/s.

    The testbeds differ when chance alone would hardly do it, all comparisons of the run considered.
    They are alike when the whole interval is within the margin. Otherwise there are too few trials
    to say either.

    Attributes:
        setting: Label of the setting.
        mix: The mix in words.
        strategy: Whose throughput.
        metric: `per_flow_throughput`.
        testbeds: Names of the two.
        means: Their means.
        difference: Second mean less first mean.
        ci95: Half the width of its 95 % interval; null: it cannot be told.
        p: Probability of a difference at least as large if there were none; null likewise.
        p_adjusted: The same, adjusted (Holm) for the number of comparisons.
        margin: The difference that is too small to matter: the scenario's epsilon of the fair
            share.
        verdict: Whether the testbeds measure the same.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    setting: str
    mix: str
    strategy: str
    metric: str = METRIC
    testbeds: tuple[str, str]
    means: tuple[Estimate, Estimate]
    difference: float
    ci95: float | None
    p: float | None
    p_adjusted: float | None
    margin: float
    verdict: Verdict


class TrialCounts(ContractModel):
    """Trials that ran on a testbed.

    Attributes:
        trials_valid: Valid ones.
        trials: All.
    """

    trials_valid: int
    trials: int


class TestbedsAnswer(ContractModel):
    """The testbeds of a run against each other, in JSON.

    Attributes:
        testbeds: Name -> how many trials ran there.
        disagreeing_settings: Labels of the settings in which testbeds disagree.
        sentence: All of it in one line.
        comparisons: Every strategy of every mix that two of them ran.
    """

    __test__ = False  # not a test class either

    testbeds: dict[str, TrialCounts]
    disagreeing_settings: tuple[str, ...]
    sentence: str
    comparisons: tuple[TestbedComparison, ...]


@dataclass(frozen=True)
class Comparisons:
    """The testbeds of a run against each other.

    Attributes:
        testbeds: Name -> records of its trials, valid or not.
        each: Every strategy of every mix that two of them ran.
    """

    testbeds: Mapping[str, tuple[TrialRecord, ...]]
    each: tuple[TestbedComparison, ...]

    def disagreements(self, setting: str | None = None) -> list[TestbedComparison]:
        """The comparisons that differ; of one setting, or of all."""
        return [c for c in self.each if c.verdict == "differ" and setting in (None, c.setting)]

    @property
    def disagreeing_settings(self) -> list[str]:
        """Labels of the settings in which testbeds disagree."""
        return list(dict.fromkeys(c.setting for c in self.disagreements()))

    def note(self, setting: str) -> str:
        """What a reader of a setting's headline must know; empty: nothing."""
        pairs = dict.fromkeys(c.testbeds for c in self.disagreements(setting))
        return "; ".join(f"testbeds {a} and {b} disagree" for a, b in pairs)

    def sentence(self) -> str:
        """All of it in one line."""
        names = ", ".join(self.testbeds)
        if not self.each:
            return f"testbeds {names}: no mix ran on two of them, so they cannot be compared"
        few = sum(c.verdict == "too few to tell" for c in self.each)
        told = f"{len(self.each)} comparisons" + (
            f", {few} with too few trials to tell" if few else ""
        )
        if not self.disagreements():
            return f"testbeds {names}: no disagreement found ({told})"
        return f"testbeds {names} DISAGREE at {', '.join(self.disagreeing_settings)} ({told})"

    def answer(self) -> TestbedsAnswer:
        """This comparison in JSON."""
        return TestbedsAnswer(
            testbeds={
                name: TrialCounts(trials_valid=sum(r.valid for r in records), trials=len(records))
                for name, records in self.testbeds.items()
            },
            disagreeing_settings=tuple(self.disagreeing_settings),
            sentence=self.sentence(),
            comparisons=self.each,
        )


def compare_testbeds(measures: RunMeasures) -> Comparisons | None:
    """Hold the testbeds of a run against each other.

    Throughput per flow of each strategy in each mix is compared between each two testbeds by
    Welch's test, and p is adjusted for the number of all of these by Holm's method, so that a run
    whose testbeds are alike has a false alarm anywhere with a probability of 5 % at most.

    Returns:
        The comparisons; None where all trials ran on one testbed, and in virtual time, where it
        makes no difference by whom a trial is computed (`nashbed verify` proves that).
    """
    if measures.run.manifest.repeatable:
        return None
    records = [trial.record for trial in measures.run.trials]
    names = names_of_testbeds(records)
    by_testbed: dict[str, list[TrialRecord]] = {}
    for record in records:
        by_testbed.setdefault(names[_key(record)], []).append(record)
    if len(by_testbed) < 2:
        return None
    found = [pair for cell in measures.all_cells for pair in _of_cell(measures, cell, names)]
    told = zip(found, adjusted([samples for _, samples in found]), strict=True)
    each = tuple(_comparison(measures, what, samples) for (what, _), samples in told)
    return Comparisons({name: tuple(by_testbed[name]) for name in sorted(by_testbed)}, each)


_Key = tuple[str, str, str]
"""Name, host and digest of the file: one file may be used in two laboratories."""


def names_of_testbeds(records: Sequence[TrialRecord]) -> dict[_Key, str]:
    """Testbed -> what it is called: its name, and no more than tells it from the others."""
    spellings = {key: _spellings(key) for key in dict.fromkeys(map(_key, records))}
    names = {}
    for key, own in spellings.items():
        others = [each for other, each in spellings.items() if other != key]
        telling = (s for n, s in enumerate(own) if all(each[n] != s for each in others))
        names[key] = next(telling)
    return names


def _spellings(key: _Key) -> tuple[str, str, str]:
    """A testbed's name, shortest first; the last is no other's."""
    name, host, digest = key
    return name, f"{name} on {host}", f"{name} on {host} ({digest[:16]})"


def _key(record: TrialRecord) -> _Key:
    where = record.ran_on
    return (OWN, "", "") if where is None else (where.testbed, where.host, where.testbed_digest)


class _Compared(NamedTuple):
    """Whose throughputs are compared, and where."""

    cell: Cell
    strategy: str
    testbeds: tuple[str, str]


def _of_cell(
    measures: RunMeasures, cell: Cell, names: Mapping[_Key, str]
) -> Iterator[tuple[_Compared, SampleComparison]]:
    by_testbed: dict[str, list[TrialMeasures]] = {}
    for trial in cell.trials:
        by_testbed.setdefault(names[_key(trial.trial.record)], []).append(trial)
    for pair in combinations(sorted(by_testbed), 2):
        for strategy in measures.strategies:
            values = [[t.value(METRIC, strategy) for t in by_testbed[name]] for name in pair]
            samples = compare_samples(values[0], values[1])
            if samples is not None:
                yield _Compared(cell, strategy, pair), samples


def _comparison(
    measures: RunMeasures, what: _Compared, samples: SampleComparison
) -> TestbedComparison:
    fair_share = measures.fair_share(what.cell.setting)
    margin = measures.run.scenario.equilibrium.epsilon.fraction * fair_share
    return TestbedComparison(
        setting=what.cell.setting.label,
        mix=state_text(what.cell.state, measures.strategies, measures.group_names),
        strategy=what.strategy,
        testbeds=what.testbeds,
        means=(samples.first, samples.second),
        difference=samples.difference,
        ci95=samples.ci95,
        p=samples.p,
        p_adjusted=samples.p_adjusted,
        margin=margin,
        verdict=_verdict(samples, margin),
    )


def _verdict(samples: SampleComparison, margin: float) -> Verdict:
    if samples.differs:
        return "differ"
    if samples.ci95 is None or abs(samples.difference) + samples.ci95 > margin:
        return "too few to tell"
    return "alike"
