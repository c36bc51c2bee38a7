"""What came after each change of the path: when throughput was steady, and new capacity used."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.trial import Setting

from ..align.course import PathChange
from ..measures import Cell, RunMeasures
from ..metrics.changes import ChangeResponse
from ..metrics.statistics import Estimate, estimate
from ..state import State


@dataclass(frozen=True)
class Response:
    """What came after one change in the repetitions of a mix.

    Attributes:
        number: Which change, from 0.
        length_ns: Time to the next one, or to the end of the measured window.
        strategy: Whose flows converge; None: it is the time until new capacity was used.
        group: Their flow group; None likewise.
        metric: `convergence_time` or `time_to_use_capacity`.
        known: Of these, where it came within the time.
        time_s: Seconds, over those; None: it came in none.
    """

    setting: Setting
    state: State
    number: int
    change: PathChange
    length_ns: int
    strategy: str | None
    group: str | None
    metric: str
    trials: int
    known: int
    time_s: Estimate | None


def responses_of_run(measures: RunMeasures) -> list[Response]:
    """Every change of every mix, in their order; empty where no path changes."""
    return [row for cell in measures.all_cells for row in _of_cell(measures, cell)]


def _of_cell(measures: RunMeasures, cell: Cell) -> Iterator[Response]:
    by_number: dict[int, list[ChangeResponse]] = {}
    for trial in cell.trials:
        for each in trial.responses:
            by_number.setdefault(each.number, []).append(each)
    for found in by_number.values():
        used = [each.use_s for each in found if each.use_s is not None]
        if used:
            yield _row(cell, found[0], None, None, used)
        kinds = dict.fromkeys(kind for each in found for kind in each.convergence_s)
        for group, strategy in kinds:
            kind = group, strategy
            times = [each.convergence_s[kind] for each in found if kind in each.convergence_s]
            name = measures.run.scenario.flows[group].name
            yield _row(cell, found[0], strategy, name, times)


def _row(
    cell: Cell, each: ChangeResponse, strategy: str | None, group: str | None, times: list[float]
) -> Response:
    metric = "time_to_use_capacity" if strategy is None else "convergence_time"
    known = int(np.isfinite(times).sum())
    return Response(
        cell.setting, cell.state, each.number, each.change, each.length_ns, strategy, group,
        metric, len(times), known, estimate(times, possible=(0, math.inf)),
    )  # fmt: skip
