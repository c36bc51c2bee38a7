"""Measured mixes that models are held against: published ones, and those of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures, measure_run
from ..state import strategy_totals
from .accuracy import MeasuredMix
from .published_mixes import PublishedMixes, read_mixes
from .question import Question

CUBIC, BBR = "cubic", "bbr"
METRIC = "per_flow_throughput"


@dataclass(frozen=True)
class MeasuredMixes:
    """Measured mixes and what had to be left out.

    Attributes:
        source: Where they are from.
        mixes: The mixes with both congestion controls in them.
        left_out: Why mixes were left out -> how many.
    """

    source: str
    mixes: tuple[MeasuredMix, ...]
    left_out: dict[str, int]


def measured_mixes(path: Path) -> MeasuredMixes:
    """Read measured mixes.

    Args:
        path: A run directory, or a CSV file with the columns of fabric_mixes.csv.

    Raises:
        RunError: It cannot be read, or holds no mix that a model could be held against.
    """
    measured = mixes_of_run(path) if path.is_dir() else mixes_of_file(path)
    if not measured.mixes:
        why = "; ".join(
            f"{count} left out: {reason}" for reason, count in measured.left_out.items()
        )
        raise RunError(f"{path}: no mix of cubic and bbr to compare with ({why or 'it is empty'})")
    return measured


def mixes_of_file(path: Path) -> MeasuredMixes:
    """The published mixes of a file, without the invalid ones.

    Args:
        path: A CSV file with the columns of fabric_mixes.csv.

    Raises:
        RunError: The file cannot be read.
    """
    panels = read_mixes(path).values()
    mixes = tuple(mix for panel in panels for mix in _of_panel(panel))
    invalid = sum(len(panel.invalid) for panel in panels)
    left_out = {"invalid: the total is above 1.05 of the rate": invalid} if invalid else {}
    return MeasuredMixes(str(path), mixes, left_out)


def _of_panel(panel: PublishedMixes) -> list[MeasuredMix]:
    key = panel.key
    rate_bps, rtt_s = key.rate_mbps * 1e6, key.base_rtt_ms / 1e3
    size = key.buffer_bdp * rate_bps * rtt_s / 8
    return [
        MeasuredMix(
            Question(rate_bps, rtt_s, size, cubic=key.flows - k, bbr=k),
            bbr / (cubic + bbr),
            key.buffer_bdp,
        )
        for k, (cubic, bbr) in sorted(panel.aggregate_mbps.items())
        if 0 < k < key.flows and k not in panel.invalid and cubic + bbr > 0
    ]


def mixes_of_run(run_dir: Path) -> MeasuredMixes:
    """The measured mixes of a run: means over valid repetitions, with what was applied.

    Args:
        run_dir: A run directory.

    Raises:
        RunError: It is not a readable run.
    """
    measures = measure_run(run_dir)
    mixes: list[MeasuredMix] = []
    left_out: Counter[str] = Counter()
    for setting in measures.run.settings:
        for cell in measures.cells(setting):
            problem = _problem(measures, setting, cell)
            if problem:
                left_out[problem] += 1
            else:
                mixes.append(_of_cell(measures, setting, cell))
    return MeasuredMixes(str(run_dir), tuple(mixes), dict(left_out))


def _problem(measures: RunMeasures, setting: Setting, cell: Cell) -> str | None:
    """Why no model can be held against a mix; None if one can."""
    flows = dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))
    others = sorted(name for name in flows if name not in (CUBIC, BBR) and flows[name])
    if others:
        return f"it has {others[0]} flows"
    if not (flows.get(CUBIC) and flows.get(BBR)):
        return "it has only one congestion control"
    if len(set(setting.base_rtt_ns)) > 1:
        return "its flows have several base RTTs"
    if cell.estimate(METRIC) is None:
        return "it has no valid trial with goodput"
    return None


def _of_cell(measures: RunMeasures, setting: Setting, cell: Cell) -> MeasuredMix:
    flows = dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))
    total = {name: flows[name] * _mean(cell, name) for name in (CUBIC, BBR)}
    question = Question(
        rate_bps=measures.applied_rate(setting),
        base_rtt_s=setting.base_rtt_ns[0] / 1e9,
        buffer_bytes=measures.applied_buffer(setting),
        cubic=flows[CUBIC],
        bbr=flows[BBR],
        duration_s=measures.run.scenario.longest.seconds,
    )
    return MeasuredMix(question, total[BBR] / sum(total.values()), setting.buffer_bdp)


def _mean(cell: Cell, strategy: str) -> float:
    estimate = cell.estimate(METRIC, strategy)
    return 0.0 if estimate is None else estimate.mean
