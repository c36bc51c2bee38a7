"""The fluid model against runs whose groups of flows have base RTTs of their own.

    python -m nashbed.analysis.fits.fluid_groups RUN...

It asks the model about each measured mix of CUBIC and BBR, with the flows of a group as a kind of
their own, and prints how far BBR's share is off.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures, measure_run
from ..models.fluid import FITTED, simulate
from ..models.fluid.model import SEEDS
from ..models.starts import BBR
from ..models.transients import competition_of_mix
from ..state import strategy_totals


def errors(measures: RunMeasures) -> Iterator[float]:
    """Predicted less measured share, in points of 100, of each mix of both."""
    for setting in measures.run.settings:
        for cell in measures.cells(setting):
            measured = _measured(measures, cell)
            if measured is not None:
                yield 100 * (_predicted(measures, setting, cell) - measured)


def _measured(measures: RunMeasures, cell: Cell) -> float | None:
    flows = dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))
    share_of_a_flow = cell.estimate("throughput_share", BBR)
    if share_of_a_flow is None or not all(flows.values()):
        return None
    return flows[BBR] * share_of_a_flow.mean


def _predicted(measures: RunMeasures, setting: Setting, cell: Cell) -> float:
    competition = competition_of_mix(measures.run.scenario, setting, cell.state)
    return float(np.mean([simulate(competition, seed, FITTED).share_of(BBR) for seed in SEEDS]))


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    for run in parser.parse_args().runs:
        off = np.array(list(errors(measure_run(run))))
        median, bias, most = np.median(np.abs(off)), np.median(off), np.percentile(np.abs(off), 90)
        print(f"{run.name}: {len(off)} mixes, {median:.1f} ({bias:+.1f}), 90 % within {most:.1f}")


if __name__ == "__main__":
    main()
