"""What is claimed of the fluid model, and what belongs beside it: bounds, baselines and noise.

    python -m nashbed.analysis.fits.claim

For the published mixes, by buffer: the fluid model's error on panels that it was not fitted to, the
distance from Mishra's band, how wide that is and how many mixes it holds (and would hold if it were
around the fluid model's shares), the error of a prediction without any physics, and the noise of a
trial. Then how far BBR's share was from its settled one at each setting's equilibrium by the fluid
model: median, and settings in which it was more than two points.
Two minutes of two cores; it fits nothing and writes nothing but to standard output.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ..models import MODELS
from ..models.accuracy import BandAccuracy, MeasuredGame, MeasuredMix, accuracy_by_buffer
from ..models.measured import MeasuredMixes, mixes_of_file
from ..models.settling import settling_of
from ..models.starts import BBR
from ..models.transients import MATTERS
from .fluid import Panel, left_out_constants, panel_of, predictions
from .published_panels import MIXES

FloatArray = NDArray[np.float64]
NEAREST = 2
"""Panels whose mean is the prediction without physics."""
FROM_BDP = 5.0
"""Where Mishra's equations begin among the published buffers."""
LONG_RUN = ("ware", "mishra-synchronised", "mishra-desynchronised")


def neighbours(mixes: Sequence[MeasuredMix]) -> FloatArray:
    """Errors of a prediction without physics: what the same mix got in the nearest other panels.

    A panel is a rate and a base RTT, and near are those whose logarithm of the bandwidth-delay
    product is. The prediction is the mean of their shares at the same buffer in BDP and the same
    number of BBR flows; where one lacks the mix, the next nearest takes its place.

    Args:
        mixes: Published mixes of several panels.

    Returns:
        Predicted less measured share of each mix, shape (M,); NaN if no other panel has the mix.
    """
    shares: dict[Panel, dict[tuple[float, int], float]] = defaultdict(dict)
    for mix in mixes:
        shares[panel_of(mix)][_mix_key(mix)] = mix.share
    near = {panel: _others(panel, list(shares)) for panel in shares}

    def error(mix: MeasuredMix) -> float:
        key = _mix_key(mix)
        found = [shares[other][key] for other in near[panel_of(mix)] if key in shares[other]]
        return float(np.mean(found[:NEAREST])) - mix.share if found else math.nan

    return np.array([error(mix) for mix in mixes])


def _mix_key(mix: MeasuredMix) -> tuple[float, int]:
    return mix.buffer_bdp, mix.question.second.flows


def _others(panel: Panel, panels: Sequence[Panel]) -> list[Panel]:
    """The other panels, the nearest first."""

    def distance(other: Panel) -> float:
        return abs(math.log(other[0] * other[1] / (panel[0] * panel[1])))

    return sorted((other for other in panels if other != panel), key=distance)


def trial_noise(mixes: Sequence[MeasuredMix]) -> FloatArray:
    """How far one trial of each mix is from what its neighbours say, as a trial's own error.

    Shares bend little from one mix to the next, so that y[k-1] - 2 y[k] + y[k+1] is noise; that of
    three trials with a standard deviation s has one of sqrt(6) s.

    Args:
        mixes: Published mixes, one trial each.

    Returns:
        The second difference by sqrt(6) of each mix, shape (M,); NaN without both neighbours.
    """
    shares = {(panel_of(mix), *_mix_key(mix)): mix.share for mix in mixes}

    def bend(mix: MeasuredMix) -> float:
        panel, (buffer, bbr) = panel_of(mix), _mix_key(mix)
        below, above = (shares.get((panel, buffer, bbr + step), math.nan) for step in (-1, 1))
        return (below - 2 * mix.share + above) / math.sqrt(6)

    return np.array([bend(mix) for mix in mixes])


def unseen_errors(mixes: Sequence[MeasuredMix]) -> FloatArray:
    """Errors of the fluid model on each mix, with constants that its panel had no part in.

    Args:
        mixes: Published mixes.

    Returns:
        Predicted less measured share, shape (M,).
    """
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return predictions(pool, mixes, left_out_constants())


@dataclass(frozen=True)
class Unsettled:
    """How far a published setting was from settled at its equilibrium, by the fluid model.

    Attributes:
        off: BBR's share as published trials measure it, less its settled share.
    """

    buffer_bdp: float
    off: float


def unsettled(game: MeasuredGame) -> Unsettled:
    """Hold a setting's measured time against what it settles to.

    Args:
        game: The setting; the mix is the one nearest to its first equilibrium that has both CCAs.
    """
    bbr = min(max(game.flows - game.cubic[0], 1), game.flows - 1)
    settling = settling_of(game.question(bbr))
    off = settling.planned_shares(BBR)[0] - settling.settled_share(BBR)
    return Unsettled(game.buffer_bdp, float(off))


@dataclass(frozen=True)
class Claim:
    """Everything that belongs beside each other, for each mix.

    Attributes:
        fluid: Errors of the fluid model on unseen panels, shape (M,).
        neighbours: Errors without physics, shape (M,).
        noise: Noise of a trial, shape (M,).
        unsettled: Of the settings.
    """

    mixes: Sequence[MeasuredMix]
    fluid: FloatArray
    neighbours: FloatArray
    noise: FloatArray
    unsettled: Sequence[Unsettled]

    def row(self, low: float, high: float) -> list[str]:
        """The cells of the buffers from `low` to `high` BDP."""
        chosen = [i for i, mix in enumerate(self.mixes) if low <= mix.buffer_bdp <= high]
        long_run = [MODELS[name] for name in LONG_RUN]
        every = accuracy_by_buffer([self.mixes[i] for i in chosen], long_run)[-1]
        edges = [_points(None if e.refused else e.median_abs) for e in every.models]
        whole = every.band if every.band and every.band.answered == every.mixes else None
        off = [abs(each.off) for each in self.unsettled if low <= each.buffer_bdp <= high]
        return [
            str(len(chosen)),
            _median(self.fluid[chosen]),
            *edges,
            *_band_cells(whole, self.fluid[chosen]),
            _median(self.neighbours[chosen]),
            _median(self.noise[chosen]),
            _points(float(np.median(off))),
            _count(off),
        ]


def _band_cells(band: BandAccuracy | None, fluid: FloatArray) -> list[str]:
    """The band, and what a band of the same width around the fluid model's share would hold."""
    if band is None:
        return ["-", "-", "-", "-"]
    as_wide = float(np.mean(np.abs(fluid) <= band.width / 2))
    return [_points(band.outside), _points(band.width), _percent(band.holds), _percent(as_wide)]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _count(off: Sequence[float]) -> str:
    return f"{sum(each > MATTERS for each in off)} of {len(off)}"


def _median(errors: FloatArray) -> str:
    return _points(float(np.nanmedian(np.abs(errors))))


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def claim_of(measured: MeasuredMixes) -> Claim:
    """Compute everything for published mixes.

    Args:
        measured: The mixes, and the settings whose equilibria are known.
    """
    mixes = measured.mixes
    off = [unsettled(game) for game in measured.games]  # each on all cores
    return Claim(mixes, unseen_errors(mixes), neighbours(mixes), trial_noise(mixes), off)


def table(claim: Claim) -> Table:
    """All of it by buffer, from 5 BDP on, and over all."""
    shown = Table(title="Error of BBR's share in points, median of the absolutes")
    for name in (
        "buffer\nBDP", "mixes", "fluid,\nunseen", "Ware", "Mishra,\nsync.", "de-sync.",
        "outside\nits band", "width", "holds", "fluid,\nas wide", "nearest\npanels", "noise",
        "not settled:\npoints", "settings",
    ):  # fmt: skip
        shown.add_column(name, justify="right", no_wrap=True)
    buffers = sorted({mix.buffer_bdp for mix in claim.mixes})
    for buffer in buffers:
        shown.add_row(f"{buffer:g}", *claim.row(buffer, buffer))
    shown.add_section()
    shown.add_row(f"{FROM_BDP:g} on", *claim.row(FROM_BDP, math.inf))
    shown.add_row("all", *claim.row(0.0, math.inf))
    return shown


def main() -> None:
    """Compute, print."""
    Console(width=150).print(table(claim_of(mixes_of_file(MIXES))))


if __name__ == "__main__":
    main()
