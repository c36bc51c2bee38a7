"""Measures made up directly: a throughput for each setting and mix, no tables behind them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.analysis.measures import RunMeasures, TrialMeasures
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import Applied
from nashbed.controlplane.contract.trial import (
    GroupMix,
    Setting,
    Steadiness,
    TrialDigests,
    TrialRecord,
    scenario_at,
)
from nashbed.controlplane.plan.sweep import scenario_mixes, scenario_settings
from nashbed.controlplane.store.finished_run import FinishedRun
from nashbed.controlplane.store.sealed_trial import SealedTrial

BASE: dict[str, Any] = {
    "name": "made", "title": "Made up", "strategies": ["cubic", "bbr"],
    "bottleneck": {"rate": "100mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 2, "base_rtt": "40ms"}],
    "duration": "60s", "warmup": "10s", "trials": 1,
}  # fmt: skip

PerFlow = Callable[[Setting, str, int], float]
"""(setting, strategy, flows of all strategies but the first) -> throughput of a flow in bit/s."""


def even(setting: Setting, strategy: str, second: int) -> float:
    """Alone 40 (cubic) or 48 (bbr); against each other 20 and 60."""
    if second == 1:
        return (20 if strategy == "cubic" else 60) * 1e6
    return (40 if strategy == "cubic" else 48) * 1e6


def made(
    raw: dict[str, Any], per_flow: PerFlow, totals: dict[str, float] | None = None,
    factors: Sequence[float] = (1.0,),
):  # fmt: skip
    """Measures of a scenario (keys over BASE), every setting and mix.

    There is a trial for each of `factors`, which multiplies its throughputs. Trials are settled,
    but where `totals` has a drift: then they are too short to tell.
    """
    scenario = Scenario.model_validate({**BASE, **raw})
    trials = [
        _trial(own, setting, mix, per_flow, totals or {}, (number, factor))
        for setting in scenario_settings(scenario)
        for own in (scenario_at(scenario, setting),)
        for mix in scenario_mixes(own)
        for number, factor in enumerate(factors)
    ]
    manifest = Manifest.model_construct(run="made", applied={}, status="complete")
    run = FinishedRun(Path("made"), manifest, scenario, None, tuple(t.trial for t in trials), ())
    return RunMeasures(run, tuple(trials), ())


def with_repetition(first: RunMeasures, second: RunMeasures) -> RunMeasures:
    """Measures of two repetitions, made apart."""
    again = [
        replace(t, trial=SealedTrial(t.trial.path, _numbered(t.trial.record, 1)))
        for t in second.trials
    ]
    trials = (*first.trials, *again)
    return RunMeasures(replace(first.run, trials=tuple(t.trial for t in trials)), trials, ())


def _numbered(record: TrialRecord, repetition: int) -> TrialRecord:
    name = record.id.replace("-r0-", f"-r{repetition}-")
    return record.model_copy(update={"repetition": repetition, "id": name})


def _trial(
    scenario: Scenario, setting: Setting, mix: tuple[GroupMix, ...], per_flow: PerFlow,
    totals: dict[str, float], repetition: tuple[int, float],
) -> TrialMeasures:  # fmt: skip
    flows = [(g.group, s) for g in mix for s, n in g.counts.items() for _ in range(n)]
    second = sum(sum(g.counts.values()) - g.counts[scenario.strategies[0]] for g in mix)
    number, factor = repetition
    rates = factor * np.array([per_flow(setting, s, second) for _, s in flows])
    mixed = "_".join("x".join(str(g.counts[s]) for s in scenario.strategies[1:]) for g in mix)
    end_ns = scenario.longest.ns
    record = TrialRecord.model_construct(
        digests=TrialDigests(tables={}, captures={}, facts={}, trial="d" * 64),
        id=f"{setting.label}-k{mixed}-r{number}-a0", setting=setting, mix=mix, repetition=number,
        attempt=0, valid=True, applied=Applied.model_construct(rate_bps=setting.rate_bps),
        duration_ns=end_ns, window_ns=(scenario.warmup.ns, end_ns),
        steadiness=None if "throughput_drift" in totals
        else Steadiness(settled=True, window_ns=(end_ns // 2, end_ns), drifts=()),
    )  # fmt: skip
    return TrialMeasures(
        trial=SealedTrial(Path("nowhere"), record),
        state=tuple(tuple(g.counts[s] for s in scenario.strategies) for g in mix),
        strategy=tuple(s for _, s in flows),
        group=np.array([g for g, _ in flows]),
        rate_bps=setting.rate_bps,
        buffer_bytes=setting.buffer_bytes,
        per_flow={"per_flow_throughput": rates, "throughput_share": rates / rates.sum()},
        total={"utilisation": 1.0, **totals},
        missing={},
    )
