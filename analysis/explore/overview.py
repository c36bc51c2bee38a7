"""A run as the explorer's first page has it: settings, mixes, their trials, and who got what."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import FinishedRun
from nashbed.controlplane.store.postcards import BINS, POSTCARDS
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..align.course import course_of, steps
from ..align.load import load_flows
from ..errors import NotMeasuredError
from ..figures.style import colour_of
from ..metrics import METRICS
from ..state import State, mix_state, state_text, strategy_totals

POSTCARD_TABLES = ("postcards", "bins", "flow_samples", "goodput")


def run_overview(run: FinishedRun) -> JsonObject:
    """The run for the page: every setting, mix and sealed trial, and what could not be read."""
    scenario = run.scenario
    groups = [group.name for group in scenario.mixed]
    broken = [{"id": each.id, "problem": each.problem} for each in run.damaged]
    unreadable: dict[str, str] = {}
    settings = [_setting(run, setting, groups, unreadable) for setting in run.settings]
    broken += [{"id": trial, "problem": problem} for trial, problem in unreadable.items()]
    strategies = list(scenario.strategies)
    return {
        "run": run.path.name,
        "title": scenario.title or scenario.name,
        "status": run.manifest.status,
        "planned": run.planned_trials,
        "trials": len(run.trials),
        "strategies": strategies,
        "colours": {name: colour_of(name, strategies) for name in strategies},
        "settings": settings,
        "damaged": broken,
        "failures": run.failures_sentence,
    }


def _setting(
    run: FinishedRun, setting: Setting, groups: list[str], unreadable: dict[str, str]
) -> JsonObject:
    strategies = list(run.scenario.strategies)
    mixes: dict[State, list[SealedTrial]] = {}
    for planned in run.plan.trials if run.plan else ():
        if planned.setting.label == setting.label:
            mixes.setdefault(mix_state(planned.mix, strategies), [])
    for trial in run.trials:
        if trial.setting.label == setting.label:
            mixes.setdefault(mix_state(trial.record.mix, strategies), []).append(trial)
    counted = {trial.id for trial in run.valid_trials}
    ordered = sorted(mixes, key=lambda state: strategy_totals(state)[::-1])
    return {
        "label": setting.label,
        "rate_bps": setting.rate_bps,
        "buffer": setting.buffer_label,
        "buffer_bytes": setting.buffer_bytes,
        "base_rtt_ns": list(setting.base_rtt_ns),
        "kernel": setting.kernel,
        "mixes": [
            {
                "text": state_text(state, strategies, groups),
                "flows": dict(zip(strategies, strategy_totals(state), strict=True)),
                "trials": [
                    _trial(trial, run.scenario, trial.id in counted, unreadable)
                    for trial in mixes[state]
                ],
            }
            for state in ordered
        ],
    }


def _trial(
    trial: SealedTrial, scenario: Scenario, counted: bool, unreadable: dict[str, str]
) -> JsonObject:
    record = trial.record
    goodput: JsonObject = {}
    try:
        strategy, values = _goodput(trial.path, trial, scenario)
        names = np.array(strategy)
        for name in dict.fromkeys(strategy):
            found = values[(names == name) & np.isfinite(values)]
            goodput[name] = float(found.mean()) if len(found) else None
    except NotMeasuredError:
        pass
    except RunError as error:
        unreadable[trial.id] = error.message
    return {
        "id": trial.id,
        "repetition": record.repetition,
        "attempt": record.attempt,
        "seed": str(record.seed),
        "valid": record.valid,
        "counted": counted,
        "reasons": list(record.invalid_reasons),
        "marks": list(record.marks),
        "goodput_bps": goodput,
    }


@lru_cache(maxsize=4096)
def _kept(path: Path) -> dict[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
    """What was computed for the trial of a path; a sealed trial does not change."""
    del path
    return {}


def _goodput(
    path: Path, trial: SealedTrial, scenario: Scenario
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Strategy and goodput of each flow, in bit/s."""
    kept = _kept(path)
    if "throughput" not in kept:
        data = load_flows(trial, scenario)
        values = METRICS["per_flow_throughput"].compute(data)
        kept["throughput"] = (data.strategy, np.asarray(values, np.float64))
    return kept["throughput"]


def trial_facts(run: FinishedRun, trial: SealedTrial) -> JsonObject:
    """A trial's flows and limits, and which of its tables there are.

    Raises:
        RunError: A table is damaged.
    """
    record, flows = trial.record, trial.arrays("flows")
    order = np.argsort(flows["flow"])
    strategies = list(run.scenario.strategies)
    names = [str(name) for name in flows["cc"][order]]
    course = course_of(record, run.scenario) or steps(
        record.applied.rate_bps, (), record.duration_ns
    )
    instants = np.flatnonzero(np.diff(course.t_ns, prepend=-1) > 0)
    return {
        "id": trial.id,
        "valid": record.valid,
        "reasons": list(record.invalid_reasons),
        "marks": list(record.marks),
        "seed": str(record.seed),
        "duration_ns": record.duration_ns,
        "window_ns": list(record.window_ns),
        "rate_bps": record.applied.rate_bps,
        "link": {"t_ns": course.t_ns[instants].tolist(), "bits": course.bits[instants].tolist()},
        "buffer_bytes": record.applied.buffer_bytes,
        "overhead_bytes": record.applied.overhead_bytes,
        "setting": trial.setting.label,
        "mix": state_text(
            mix_state(record.mix, strategies), strategies, [g.name for g in run.scenario.mixed]
        ),
        "tables": [name for name in POSTCARD_TABLES if trial.has(name)],
        "postcards": record.postcards,
        "can_mark": _can_mark(trial),
        "flows": [
            {
                "strategy": name,
                "group": str(flows["group_name"][row]),
                "base_rtt_ns": int(flows["base_rtt_ns"][row]),
                "colour": colour_of(name, strategies),
            }
            for name, row in zip(names, order.tolist(), strict=True)
        ],
    }


def _can_mark(trial: SealedTrial) -> bool:
    """Whether packets of a trial can be marked: its postcards or bins then have columns for it."""
    return any(
        trial.has(table.name)
        and {*table.marks} <= {*trial.lazy(table.name).collect_schema().names()}
        for table in (POSTCARDS, BINS)
    )
