"""Fit the closed form's constants on published mixes, and cross-validate it by panel.

    python -m nashbed.analysis.models.fit_closed_form

Each of the seven published panels (a rate and a base RTT) is left out once, the constants are
fitted on the other six (least mean absolute error of BBR's share, Nelder-Mead), and the errors on
the one left out are shown by buffer. Takes a few minutes.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from . import closed_form
from .accuracy import MeasuredMix
from .measured import measured_mixes
from .mix_files import PUBLISHED_MIXES

FITTED = ("EXTRA_PACKETS", "FOLLOW_ROUNDS", "RAMP_RTTS")
EVERY = 5
"""The fit uses every fifth mix: neighbouring mixes say the same."""


def set_constants(values: Sequence[float]) -> None:
    """Give the fitted constants these values."""
    for name, value in zip(FITTED, values, strict=True):
        setattr(closed_form, name, float(value))


def errors(mixes: Sequence[MeasuredMix]) -> np.ndarray:
    """Predicted less measured share of BBR, shape (n,)."""
    predicted = np.array([closed_form.predict(mix.question).share for mix in mixes], float)
    return np.asarray(predicted - np.array([mix.share for mix in mixes]))


def fit(mixes: Sequence[MeasuredMix], start: Sequence[float]) -> list[float]:
    """Fit the constants on some mixes, from a start."""

    def error(factors: Sequence[float]) -> float:
        if min(factors) <= 0.1:
            return 1.0
        set_constants([s * f for s, f in zip(start, factors, strict=True)])
        return float(np.abs(errors(mixes[::EVERY])).mean())

    ones = np.ones(len(start))
    simplex = np.vstack([ones, ones + 0.2 * np.eye(len(start))])
    options = {"maxfev": 90, "initial_simplex": simplex}
    found = minimize(error, ones, method="Nelder-Mead", options=options)
    return [s * f for s, f in zip(start, found.x, strict=True)]


def main() -> None:
    """Print the fit on all panels, and the errors of each panel from a fit without it."""
    start = [getattr(closed_form, name) for name in FITTED]
    panels = defaultdict(list)
    for mix in measured_mixes(PUBLISHED_MIXES).mixes:
        panels[mix.question.rate_bps, mix.question.base_rtt_s].append(mix)
    everything = [mix for panel in panels.values() for mix in panel]
    print("all panels:", dict(zip(FITTED, np.round(fit(everything, start), 2), strict=True)))
    by_buffer = defaultdict(list)
    for key, panel in panels.items():
        values = fit([m for k, p in panels.items() if k != key for m in p], start)
        set_constants(values)
        off = errors(panel)
        print(f"without {key}: {np.round(values, 2)}, median {100 * np.median(abs(off)):.1f}")
        for mix, error in zip(panel, off, strict=True):
            by_buffer[mix.buffer_bdp].append(abs(error))
    for buffer, found in sorted(by_buffer.items()):
        print(f"{buffer:g} BDP: {100 * np.median(found):.1f} points (median of {len(found)})")
    print(f"all: {100 * np.median([e for found in by_buffer.values() for e in found]):.1f} points")
    set_constants(start)


if __name__ == "__main__":
    main()
