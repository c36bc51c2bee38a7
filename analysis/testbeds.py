"""What flows got on one testbed and on another, at every setting and mix that both ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from nashbed.controlplane.contract.trial import TrialRecord

from .measures import Cell, RunMeasures, TrialMeasures
from .metrics.statistics import SampleComparison, adjusted, compare_samples
from .state import state_text

METRIC = "per_flow_throughput"
OWN = "the run's own"
"""Stands for the testbed of trials that do not say where they ran."""

Verdict = Literal["differ", "alike", "too few to tell"]


@dataclass(frozen=True, kw_only=True)
class TestbedComparison(SampleComparison):
    """Throughput per flow of a strategy in one mix, on two testbeds, in bit/s.

    Attributes:
        setting: Label of the setting.
        mix: The mix in words.
        strategy: Whose throughput.
        testbeds: Names of the two.
        margin_bps: The difference that is too small to matter: the scenario's epsilon of the fair
            share.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    setting: str
    mix: str
    strategy: str
    testbeds: tuple[str, str]
    margin_bps: float

    @property
    def verdict(self) -> Verdict:
        """Whether the testbeds measure the same.

        They differ when chance alone would hardly do it, all comparisons of the run considered.
        They are alike when the whole interval is within the margin. Otherwise there are too few
        trials to say either.
        """
        if self.differs:
            return "differ"
        if self.change.half_width is None:
            return "too few to tell"
        farthest = abs(self.change.difference) + self.change.half_width
        return "alike" if farthest <= self.margin_bps else "too few to tell"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, in bit/s."""
        means = (self.first, self.second)
        return {
            "setting": self.setting,
            "mix": self.mix,
            "strategy": self.strategy,
            "metric": METRIC,
            "testbeds": list(self.testbeds),
            "means": [{"mean": m.mean, "n": m.n, "ci95": m.half_width} for m in means],
            "difference": self.second.mean - self.first.mean,
            "ci95": self.change.half_width,
            "p": self.change.p,
            "p_adjusted": self.p_adjusted,
            "margin": self.margin_bps,
            "verdict": self.verdict,
        }


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "testbeds": {
                name: {"trials_valid": sum(r.valid for r in records), "trials": len(records)}
                for name, records in self.testbeds.items()
            },
            "disagreeing_settings": self.disagreeing_settings,
            "sentence": self.sentence(),
            "comparisons": [each.to_dict() for each in self.each],
        }


def compare_testbeds(measures: RunMeasures) -> Comparisons | None:
    """Hold the testbeds of a run against each other.

    Throughput per flow of each strategy in each mix is compared between each two testbeds by
    Welch's test, and p is adjusted for the number of all of these by Holm's method, so that a run
    whose testbeds are alike has a false alarm anywhere with a probability of 5 % at most.

    Args:
        measures: The run's measures.

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
    found = [
        comparison
        for setting in measures.run.settings
        for cell in measures.cells(setting)
        for comparison in _of_cell(measures, cell, names)
    ]
    trials = {name: tuple(by_testbed[name]) for name in sorted(by_testbed)}
    return Comparisons(trials, tuple(adjusted(found)))


_Key = tuple[str, str, str]
"""Name, host and digest of the file: one file may be used in two laboratories."""


def names_of_testbeds(records: Sequence[TrialRecord]) -> dict[_Key, str]:
    """Testbed -> what it is called: its name, and no more than tells it from the others.

    Args:
        records: Records of trials.
    """
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


def _of_cell(
    measures: RunMeasures, cell: Cell, names: Mapping[_Key, str]
) -> Iterator[TestbedComparison]:
    by_testbed: dict[str, list[TrialMeasures]] = {}
    for trial in cell.trials:
        by_testbed.setdefault(names[_key(trial.trial.record)], []).append(trial)
    margin = measures.run.scenario.equilibrium.epsilon.fraction * measures.fair_share(cell.setting)
    for pair in combinations(sorted(by_testbed), 2):
        for strategy in measures.strategies:
            values = [[t.value(METRIC, strategy) for t in by_testbed[name]] for name in pair]
            samples = compare_samples(values[0], values[1])
            if samples is not None:
                yield TestbedComparison(
                    **vars(samples),
                    setting=cell.setting.label,
                    mix=state_text(cell.state, measures.strategies, measures.group_names),
                    strategy=strategy,
                    testbeds=pair,
                    margin_bps=margin,
                )
