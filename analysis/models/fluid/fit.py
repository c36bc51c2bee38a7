"""Fit of the fluid model's constants on the published mixes, with cross-validation by panel.

    python -m nashbed.analysis.models.fluid.fit

It asks the model about every STRIDE-th mix with every point of a grid of constants, in half an
hour of one core. The constants are those with the smallest mean
error. Each panel (one rate and base RTT, seven buffers) is also predicted with the constants that
are best on the six others: these errors, over every mix and equilibrium, are what the model does
where it was not fitted. The result is `analysis/models/fluid/fitted.json`, with both.
"""

import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import groupby, product
from statistics import median

import numpy as np
from numpy.typing import NDArray
from rich.progress import track

from ..accuracy import MeasuredMix
from ..equilibrium_files import read_published
from ..measured import mixes_of_file
from ..mix_files import PUBLISHED_MIXES
from . import FluidConstants, simulate
from .model import SEEDS
from .native import FITTED_FILE

GRID = {
    "losing_packets": (1.0, 2.0, 3.0),
    "rate_noise": (0.15, 0.25, 0.35),
    "aggregated_packets": (4.0, 7.0, 10.0),
    "timeout_weight": (0.5, 1.0, 2.0),
}
STRIDE = 7
"""The fit uses every seventh mix: neighbouring mixes say much the same."""
WITHIN = 3
"""CUBIC flows by which equilibria of repeated trials may differ."""

FloatArray = NDArray[np.float64]
Panel = tuple[float, float]
"""Rate in bit/s and base RTT in s."""


@dataclass(frozen=True)
class Task:
    """One mix, one seed, one point of the grid."""

    mix: MeasuredMix
    constants: FluidConstants
    seed: int


def share(task: Task) -> float:
    """BBR's share by the model."""
    return simulate(task.mix.question, task.seed, task.constants).share_of("bbr")


def panel_of(mix: MeasuredMix) -> Panel:
    """The panel that a mix belongs to."""
    return mix.question.rate_bps, mix.question.base_rtt_s


def grid() -> list[FluidConstants]:
    """Every point."""
    return [
        FluidConstants(**dict(zip(GRID, point, strict=True))) for point in product(*GRID.values())
    ]


def errors(
    pool: ProcessPoolExecutor,
    mixes: Sequence[MeasuredMix],
    constants: FluidConstants,
    seeds: Sequence[int],
) -> FloatArray:
    """Predicted less measured share of each mix, mean over seeds, shape (M,)."""
    tasks = [Task(mix, constants, seed) for mix in mixes for seed in seeds]
    shares = np.array(list(pool.map(share, tasks, chunksize=32))).reshape(len(mixes), len(seeds))
    return np.asarray(shares.mean(axis=1) - np.array([mix.share for mix in mixes]))


def fit(
    pool: ProcessPoolExecutor, mixes: Sequence[MeasuredMix]
) -> dict[Panel | None, FluidConstants]:
    """The best point for all mixes (None), and for those of all panels but one."""
    points = grid()
    shown = track(points, "fitting", disable=not sys.stderr.isatty())
    off = [np.abs(errors(pool, mixes, point, SEEDS[:1])) for point in shown]
    return chosen_of(points, mixes, off)


def chosen_of(
    points: Sequence[FluidConstants], mixes: Sequence[MeasuredMix], off: Sequence[FloatArray]
) -> dict[Panel | None, FluidConstants]:
    """The point with the smallest mean error on all mixes (None), and without each panel.

    Args:
        points: The grid.
        off: Absolute errors of each mix by each point, shape (M,) each.
    """
    panels = [panel_of(mix) for mix in mixes]

    def best(left_out: Panel | None) -> FluidConstants:
        used = np.array([panel != left_out for panel in panels])
        return points[int(np.argmin([values[used].mean() for values in off]))]

    return {left_out: best(left_out) for left_out in (None, *sorted(set(panels)))}


def predictions(
    pool: ProcessPoolExecutor,
    mixes: Sequence[MeasuredMix],
    chosen: dict[Panel | None, FluidConstants],
) -> FloatArray:
    """Errors of every mix with the constants that its panel had no part in, shape (M,)."""
    off = np.zeros(len(mixes))
    panels = [panel_of(mix) for mix in mixes]
    for panel in sorted(set(panels)):
        index = [i for i, each in enumerate(panels) if each == panel]
        off[index] = errors(pool, [mixes[i] for i in index], chosen[panel], SEEDS)
    return off


def table(mixes: Sequence[MeasuredMix], off: FloatArray) -> list[dict[str, float | int | None]]:
    """Errors by buffer, and over all, in points of 100."""
    buffers = np.array([mix.buffer_bdp for mix in mixes])
    rows = []
    for buffer in (*np.unique(buffers), None):
        of = 100 * (off if buffer is None else off[buffers == buffer])
        rows.append(
            {
                "buffer_bdp": buffer,
                "mixes": len(of),
                "median_abs": round(float(np.median(np.abs(of))), 2),
                "median": round(float(np.median(of)), 2),
                "p90_abs": round(float(np.percentile(np.abs(of), 90)), 2),
            }
        )
    return rows


def equilibria(mixes: Sequence[MeasuredMix], off: FloatArray) -> dict[str, float | int]:
    """How far the predicted equilibria are from the nearest published ones, in CUBIC flows."""
    shares = [(mix, mix.share + error) for mix, error in zip(mixes, off, strict=True)]
    distances = []
    for published in read_published(PUBLISHED_MIXES.with_name("fabric_equilibria.csv")):
        key = published.key
        of = [
            (mix.question.second.flows, predicted)
            for mix, predicted in shares
            if panel_of(mix) == (key.rate_mbps * 1e6, key.base_rtt_ms / 1e3)
            and mix.buffer_bdp == key.buffer_bdp
        ]
        at = key.flows - crossing(sorted(of), key.flows)
        distances.append(float(min(abs(at - each) for each in published.cubic)))
    return {
        "settings": len(distances),
        "median": round(median(distances), 2),
        "within_3": sum(each < WITHIN + 0.5 for each in distances),
        "largest": round(max(distances), 1),
    }


def crossing(shares: Sequence[tuple[int, float]], flows: int) -> float:
    """BBR flows at which its share is first the fair one, between the mixes that were asked."""
    before = (0, 0.0)
    for bbr, predicted in shares:
        lead = predicted - bbr / flows
        if lead <= 0:
            return before[0] + (bbr - before[0]) * before[1] / ((before[1] - lead) or 1.0)
        before = bbr, lead
    return float(flows)


def fitted_mixes(mixes: Sequence[MeasuredMix]) -> list[MeasuredMix]:
    """Every STRIDE-th mix of each setting: what the fit uses."""
    return [
        mix
        for _, setting in groupby(mixes, key=lambda m: (panel_of(m), m.buffer_bdp))
        for mix in list(setting)[::STRIDE]
    ]


def main() -> None:
    """Fit, cross-validate, write."""
    mixes = mixes_of_file(PUBLISHED_MIXES).mixes
    some = fitted_mixes(mixes)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        chosen = fit(pool, some)
        unseen = predictions(pool, mixes, chosen)
        seen = errors(pool, mixes, chosen[None], SEEDS)
    result = {
        "constants": asdict(chosen[None]),
        "grid": GRID,
        "fitted_on": len(some),
        "left_out": [
            {"rate_mbps": panel[0] / 1e6, "base_rtt_ms": panel[1] * 1e3, **asdict(constants)}
            for panel, constants in chosen.items()
            if panel is not None
        ],
        "unseen": {"shares": table(mixes, unseen), "equilibria": equilibria(mixes, unseen)},
        "seen": {"shares": table(mixes, seen), "equilibria": equilibria(mixes, seen)},
    }
    FITTED_FILE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(result["unseen"], indent=1) + "\n")


if __name__ == "__main__":
    main()
