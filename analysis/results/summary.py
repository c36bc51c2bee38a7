"""One row for each setting and mix: what the command line prints and scripts read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..measures import Cell, RunMeasures, measure_run
from ..metrics.interval import Estimate
from ..nash.of_run import SettingEquilibria
from ..nash.equilibria import Answer
from ..nash.of_run import equilibria_of_measures
from ..state import mix_state, state_text, strategy_totals

TRIAL_METRICS = (
    "mean_queueing_delay",
    "p95_queueing_delay",
    "utilisation",
    "jain_index",
    "loss_rate",
    "retransmit_share",
    "throughput_drift",
)
TRUTH: dict[Answer, bool | None] = {"yes": True, "no": False, "undecided": None}
FLOW_METRICS = ("per_flow_throughput", "queue_occupancy")


def summarise(run_dir: Path) -> list[dict[str, Any]]:
    """Summarise a run: a plain dictionary for each setting and mix, ready for JSON.

    Values are in base units (bit/s, s, bytes). An estimate is a dictionary with `mean`, `n`
    and `ci95` (half width; None with one trial), or None where nothing was measured.
    `trials_unconverged` counts the valid trials whose throughput still drifted.
    `per_flow_throughput` and `queue_occupancy` hold one estimate for each strategy.
    `equilibrium` and `epsilon_equilibrium` are True, False or, where mixes are missing, None.

    Args:
        run_dir: A run directory.

    Raises:
        RunError: The directory is not a readable run.
    """
    measures = measure_run(run_dir)
    return summary_rows(measures, equilibria_of_measures(measures))


def summary_rows(
    measures: RunMeasures, equilibria: Sequence[SettingEquilibria]
) -> list[dict[str, Any]]:
    """The rows of measured trials; settings in the plan's order, mixes by their flows."""
    return [
        _row(measures, equilibria, cell)
        for equilibria in equilibria
        for cell in measures.cells(equilibria.setting)
    ]


def _row(measures: RunMeasures, equilibria: SettingEquilibria, cell: Cell) -> dict[str, Any]:
    setting = equilibria.setting
    row: dict[str, Any] = {
        "setting": setting.label,
        "rate_bps": measures.applied_rate(setting),
        "buffer": setting.buffer_label,
        "buffer_bytes": measures.applied_buffer(setting),
        "base_rtt_ns": list(setting.base_rtt_ns),
        "mix": state_text(cell.state, measures.strategies, measures.group_names),
        "counts": dict(zip(measures.strategies, strategy_totals(cell.state), strict=True)),
        "trials_valid": len(cell.trials),
        "trials_invalid": _invalid(measures, cell),
        "trials_unconverged": cell.unconverged,
    }
    for name in FLOW_METRICS:
        row[name] = {s: estimate_dict(cell.estimate(name, s)) for s in measures.strategies}
    for name in TRIAL_METRICS:
        row[name] = estimate_dict(cell.estimate(name))
    if len(measures.group_names) > 1:
        row["groups"] = [_group(measures, cell, i) for i in range(len(measures.group_names))]
    return row | _game(equilibria, cell)


def _group(measures: RunMeasures, cell: Cell, group: int) -> dict[str, Any]:
    names = measures.strategies
    return {
        "group": measures.group_names[group],
        "counts": dict(zip(names, cell.state[group], strict=True)),
        "per_flow_throughput": {
            s: estimate_dict(cell.estimate("per_flow_throughput", s, group)) for s in names
        },
    }


def _game(equilibria: SettingEquilibria, cell: Cell) -> dict[str, Any]:
    verdict = equilibria.verdict(cell.state)
    gain = None if verdict.gain is None else verdict.gain / equilibria.fair_share
    return {
        "equilibrium": TRUTH[verdict.equilibrium],
        "epsilon_equilibrium": TRUTH[verdict.epsilon_equilibrium],
        "gain_of_fair_share": gain,
        "probability": equilibria.frequency.get(cell.state),
    }


def _invalid(measures: RunMeasures, cell: Cell) -> int:
    """Trials of the cell that are not valid, repeated attempts counted."""
    bad = (t for t in measures.run.trials if not t.record.valid)
    here = (t for t in bad if t.setting.label == cell.setting.label)
    return sum(mix_state(t.record.mix, measures.strategies) == cell.state for t in here)


def estimate_dict(estimate: Estimate | None) -> dict[str, float | int | None] | None:
    """An estimate as plain data."""
    if estimate is None:
        return None
    return {"mean": estimate.mean, "n": estimate.n, "ci95": estimate.half_width}
