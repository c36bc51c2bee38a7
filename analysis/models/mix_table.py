"""Measured mixes of runs as a table to hold models against; `published_mixes` reads it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..state import strategy_totals
from .asked import problem_of_setting, question_of
from .starts import CUBIC

THROUGHPUT, DELAY, LOSS = "per_flow_throughput", "mean_queueing_delay", "per_flow_loss_rate"
COLUMNS = (
    "bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_bbr", "n_cubic", "duration_s",
    "bbr_agg_mbps", "cubic_agg_mbps", "total_mbps", "valid", "cubic_start_s", "bbr_start_s",
    "start_spread_s", "connecting_s", "measured_from_s", "window_bytes", "control", "source",
    "setting", "trials", "settled", "queueing_delay_s", "loss_bbr", "loss_cubic",
)  # fmt: skip
OVERFULL = 1.05
"""Of the rate: a larger total is of flows that did not run at the same time."""

Row = dict[str, Any]


@dataclass(frozen=True)
class MixTable:
    """Rows with the columns `COLUMNS`, and what had to be left out.

    Attributes:
        rows: One for each setting, second congestion control and measured mix.
        left_out: Why mixes were left out -> how many.
    """

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]

    def text(self) -> str:
        """The table as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(row[name]) for name in COLUMNS} for row in self.rows)
        return out.getvalue()


def mix_table(runs: Iterable[RunMeasures]) -> MixTable:
    """Every mix of CUBIC and one other congestion control, as means over valid trials.

    A mix of CUBIC alone has a row for each other control of its run: it is an end of each line.

    Args:
        runs: Measures of runs, in the order of the rows.
    """
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    for measures in runs:
        for setting in measures.run.settings:
            problem = problem_of_setting(measures.run.scenario, setting)
            for cell in measures.cells(setting):
                why = problem or _problem_of_cell(measures, cell)
                if why:
                    left_out[why] += 1
                else:
                    rows += [_row(measures, setting, cell, name) for name in _lines(measures, cell)]
    return MixTable(tuple(rows), dict(left_out))


def _problem_of_cell(measures: RunMeasures, cell: Cell) -> str | None:
    if CUBIC not in measures.strategies:
        return "its run has no cubic flows"
    if not _lines(measures, cell):
        return "it has flows of two controls beside cubic"
    if cell.estimate(THROUGHPUT) is None:
        return "it has no valid trial with goodput"
    return None


def _lines(measures: RunMeasures, cell: Cell) -> list[str]:
    """The second congestion controls on whose line from CUBIC alone to none a mix is."""
    running = {name for name, flows in _flows(measures, cell).items() if flows}
    return [s for s in measures.strategies if s != CUBIC and running <= {CUBIC, s}]


def _flows(measures: RunMeasures, cell: Cell) -> dict[str, int]:
    return dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))


def _row(measures: RunMeasures, setting: Setting, cell: Cell, second: str) -> Row:
    flows = _flows(measures, cell)
    applied = measures.applied_rate(setting), measures.applied_buffer(setting)
    records = [trial.trial.record for trial in cell.trials]
    question = question_of(measures.run.scenario, setting, cell.state, applied, records, second)
    aggregate = {
        name: flows[name] * (_mean(cell, THROUGHPUT, name) or 0.0) / 1e6 for name in (CUBIC, second)
    }
    total, rate = sum(aggregate.values()), question.rate_bps / 1e6
    return {
        "bandwidth_mbps": rate,
        "base_rtt_ms": question.base_rtt_s * 1e3,
        "buffer_bdp": question.buffer_bdp,
        "n_flows": question.flows,
        "n_bbr": question.second.flows,
        "n_cubic": question.first.flows,
        "duration_s": question.duration_s,
        "bbr_agg_mbps": aggregate[second],
        "cubic_agg_mbps": aggregate[CUBIC],
        "total_mbps": total,
        "valid": "INVALID_total_gt_1.05C" if total > OVERFULL * rate else "ok",
        "cubic_start_s": question.first.start_s,
        "bbr_start_s": question.second.start_s,
        "start_spread_s": question.second.start_spread_s,
        "connecting_s": question.second.connecting_s,
        "measured_from_s": question.measured_from_s,
        "window_bytes": question.second.window_limit,
        "control": second,
        "source": measures.run.scenario.name,
        "setting": setting.label,
        "trials": len(cell.trials),
        "settled": sum(trial.settled is True for trial in cell.trials),
        "queueing_delay_s": _mean(cell, DELAY),
        "loss_bbr": _mean(cell, LOSS, second),
        "loss_cubic": _mean(cell, LOSS, CUBIC),
    }


def _mean(cell: Cell, metric: str, strategy: str | None = None) -> float | None:
    estimate = cell.estimate(metric, strategy)
    return None if estimate is None else estimate.mean


def _text(value: Any) -> Any:
    """Seven digits are more than any trial repeats; empty: not measured, or no limit."""
    return f"{value:.7g}" if isinstance(value, float) else value
