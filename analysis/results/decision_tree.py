"""When to use which CCA: a decision tree over rate, base RTT and buffer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..measures import RunMeasures
from ..metrics.statistics import welch
from .sweep import pure_cell

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

FEATURES = ("rate (Mbit/s)", "base RTT (ms)", "buffer (MB)", "buffer (BDP)")
LOG = logging.getLogger(__name__)
REMEDY = "run `pip install 'nashbed[tree]'`"
DEPTH = 3
LEAST_SETTINGS = 8
NEITHER = "neither"
"""Class of the settings in which the two differ by no more than their repetitions do."""


@dataclass(frozen=True)
class Decision:
    """A fitted tree.

    Attributes:
        classes: The CCAs, and `neither`, in the classifier's order.
        settings: How many settings it was fitted to.
        accuracy: Share of these settings that it gets right.
    """

    tree: DecisionTreeClassifier
    classes: tuple[str, ...]
    settings: int
    accuracy: float


def features(setting: Setting) -> tuple[float, ...]:
    """A setting as the tree sees it, in the order and units of FEATURES."""
    return (
        setting.rate_bps / 1e6,
        setting.base_rtt_ns[0] / 1e6,
        setting.buffer_bytes / 1e6,
        setting.buffer_bdp,
    )


def decide(measures: RunMeasures) -> Decision | None:
    """Fit a tree to which of the first two CCAs has more goodput alone.

    One wins only where it is more than the spread of the repetitions that sets them apart: where
    the 95 % interval of the difference (Welch) leaves out zero. Otherwise neither wins. Without
    repetitions nobody knows the spread, so such settings are left out.

    Returns:
        The tree; None with fewer than 8 settings that have both with repetitions, or if all
        fall into one class.

    Source: Cao et al., IMC 2019, figure 6 (scikit-learn's CART).
    """
    rows, winners = [], []
    for setting in measures.run.settings:
        winner = _winner(measures, setting)
        if winner is not None:
            rows.append(features(setting))
            winners.append(winner)
    return fit(np.array(rows), winners) if len(rows) >= LEAST_SETTINGS else None


def fit(rows: NDArray[np.float64], winners: Sequence[str]) -> Decision | None:
    """Fit a tree of at most three levels.

    Args:
        rows: Features, shape (n, len(FEATURES)).
        winners: The better CCA of each row, or `neither`.

    Returns:
        The tree; None if all rows are of one class, or scikit-learn is not installed.
    """
    if len(set(winners)) < 2:
        return None
    if find_spec("sklearn") is None:
        LOG.warning("scikit-learn is not installed, so no decision tree is drawn: %s", REMEDY)
        return None
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - of an extra

    leaf = max(1, len(rows) // 50)
    tree: Any = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=leaf, random_state=0)
    tree.fit(rows, list(winners))
    accuracy = float(tree.score(rows, list(winners)))
    return Decision(tree, tuple(str(c) for c in tree.classes_), len(rows), accuracy)


def _winner(measures: RunMeasures, setting: Setting) -> str | None:
    """The better one beyond the spread, or neither; None where there is no spread to go by."""
    names = measures.strategies[:2]
    cells = [pure_cell(measures, setting, name) for name in names]
    values = [
        [] if cell is None else [t.value("per_flow_throughput", name) for t in cell.trials]
        for cell, name in zip(cells, names, strict=True)
    ]
    change = welch(values[0], values[1]) if len(names) == 2 else None
    if change is None:
        return None
    if abs(change.difference) <= (change.half_width or 0.0):
        return NEITHER
    return names[1] if change.difference > 0 else names[0]
