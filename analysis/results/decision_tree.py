"""When to use which congestion control: a decision tree over rate, base RTT and buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..measures import RunMeasures
from .sweep import pure_cell

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

FEATURES = ("rate (Mbit/s)", "base RTT (ms)", "buffer (MB)", "buffer (BDP)")
DEPTH = 3
LEAST_SETTINGS = 8


@dataclass(frozen=True)
class Decision:
    """A fitted tree.

    Attributes:
        tree: scikit-learn's classifier.
        classes: The congestion controls, in the classifier's order.
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
    """Fit a tree to which of the first two congestion controls has more goodput alone.

    Args:
        measures: The run's measures.

    Returns:
        The tree; None with fewer than 8 settings that have both, or if one always wins.

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
        winners: The better congestion control of each row.

    Returns:
        The tree; None if one always wins.
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - slow to import

    if len(set(winners)) < 2:
        return None
    leaf = max(1, len(rows) // 50)
    tree: Any = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=leaf, random_state=0)
    tree.fit(rows, list(winners))
    accuracy = float(tree.score(rows, list(winners)))
    return Decision(tree, tuple(str(c) for c in tree.classes_), len(rows), accuracy)


def _winner(measures: RunMeasures, setting: Setting) -> str | None:
    means = {}
    for strategy in measures.strategies[:2]:
        cell = pure_cell(measures, setting, strategy)
        estimate = None if cell is None else cell.estimate("per_flow_throughput", strategy)
        if estimate is None:
            return None
        means[strategy] = estimate.mean
    return max(means, key=lambda name: means[name])
