"""Runs whose trials were shared among testbeds, made up with a spread and a planted difference."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from nashbed.analysis.measures import RunMeasures, TrialMeasures
from nashbed.controlplane.contract.trial import RanOn
from nashbed.controlplane.store.sealed_trial import SealedTrial
from tests.unit.analysis.made_measures import made

RAW: dict[str, Any] = {
    "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["1bdp", "5bdp"], "mixes": [1, 2, 3]},
}
Planted = Callable[[str, str, str], float]
"""(testbed, setting, strategy) -> factor of the throughput."""


def ran_on(testbed: str, digest: str = "1" * 64, host: str = "") -> RanOn:
    return RanOn(
        host=host or f"host-of-{testbed}",
        testbed=testbed,
        testbed_digest=digest,
        certificate="certified",
    )


def alike(testbed: str, setting: str, strategy: str) -> float:
    return 1.0


def shared_run(
    places: Sequence[RanOn | None], planted: Planted = alike, spread: float = 0.02, seed: int = 1
) -> RunMeasures:
    """A run of as many repetitions as places, each of which ran one repetition of every mix."""
    found = made(RAW, lambda *_: 20e6, factors=(1.0,) * len(places))
    rng = np.random.default_rng(seed)
    trials = tuple(_moved(trial, places, planted, spread, rng) for trial in found.trials)
    run = replace(found.run, trials=tuple(trial.trial for trial in trials))
    return RunMeasures(run, trials, ())


def _moved(
    trial: TrialMeasures,
    places: Sequence[RanOn | None],
    planted: Planted,
    spread: float,
    rng: np.random.Generator,
) -> TrialMeasures:
    record = trial.trial.record
    place = places[record.repetition]
    name = "" if place is None else place.testbed
    chance = {s: 1 + spread * rng.standard_normal() for s in dict.fromkeys(trial.strategy)}
    factors = np.array([chance[s] * planted(name, record.setting.label, s) for s in trial.strategy])
    rates = trial.per_flow["per_flow_throughput"] * factors
    return replace(
        trial,
        trial=SealedTrial(trial.trial.path, record.model_copy(update={"ran_on": place})),
        per_flow={"per_flow_throughput": rates, "throughput_share": rates / rates.sum()},
    )
