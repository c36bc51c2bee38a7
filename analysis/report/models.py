"""The page's section on models: how far each is from the measured mixes and equilibria."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..measures import RunMeasures
from ..models import MODELS
from ..models.accuracy import (
    NEAR_FLOWS,
    Accuracy,
    BufferAccuracy,
    EquilibriumAccuracy,
    GameAccuracy,
    accuracy_by_buffer,
    accuracy_of_games,
    equilibrium_errors,
)
from ..models.crossing import PredictedCrossing
from ..models.measured import mixes_of_measures
from ..text import NONE

Json = dict[str, Any]


@dataclass(frozen=True)
class ModelFindings:
    """Models held against a run.

    Attributes:
        rows: Errors by buffer, all together at the end; empty: the run has no mix of CUBIC and BBR
            that models speak of.
        games: Equilibria of each model beside the measured ones.
    """

    rows: tuple[BufferAccuracy, ...]
    games: tuple[GameAccuracy, ...]

    def to_dict(self) -> Json:
        """Plain data for JSON."""
        return {
            "buffers": [row.to_dict() for row in self.rows],
            "games": [game.to_dict() for game in self.games],
            "equilibria": [each.to_dict() for each in equilibrium_errors(self.games)],
        }


def models_of(measures: RunMeasures) -> ModelFindings:
    """Hold every model against a run.

    Args:
        measures: The run's measures.
    """
    measured = mixes_of_measures(measures)
    rows, games = accuracy_by_buffer(measured.mixes), accuracy_of_games(measured.games)
    return ModelFindings(tuple(rows), tuple(games))


def models_context(found: ModelFindings) -> Json | None:
    """Everything the section shows; None if there is nothing to hold models against."""
    if not found.rows:
        return None
    rows = found.rows if len(found.rows) > 2 else found.rows[:1]  # all buffers are this one
    names = [e.model for e in found.rows[-1].errors if e.answered]
    off = {each.model: each for each in equilibrium_errors(found.games)}
    return {
        "models": [MODELS[name].title for name in names],
        "rows": [_row(row, names) for row in rows],
        "spread": _spread(found.rows[-1]),
        "equilibria": [_game(game, names) for game in found.games],
        "equilibrium_errors": [_within(off.get(name)) for name in names] if found.games else [],
        "near": NEAR_FLOWS,
        "sentences": _sentences(found.rows[-1], off),
        "refusals": _refusals(found.rows[-1]),
    }


def _row(row: BufferAccuracy, names: Sequence[str]) -> Json:
    errors = {error.model: error for error in row.errors}
    return {
        "buffer": "all" if row.buffer_bdp is None else f"{row.buffer_bdp:g} BDP",
        "mixes": row.mixes,
        "errors": [_error(errors[name], row.mixes) for name in names],
    }


def _error(error: Accuracy, mixes: int) -> Json:
    if error.median_abs is None or error.median is None or error.p90_abs is None:
        return {"median": NONE, "rest": "refused"}
    bias = round(100 * error.median, 1) + 0.0  # never -0.0
    rest = f"{bias:+.1f}; {100 * error.p90_abs:.1f}"
    answered = "" if error.answered == mixes else f"; n {error.answered}"
    return {"median": f"{100 * error.median_abs:.1f}", "rest": f"({rest}{answered})"}


def _spread(row: BufferAccuracy) -> str:
    """How far apart the seeds of a model with chance are."""
    spreads = [
        f"{MODELS[e.model].title}: {100 * e.spread:.1f}" for e in row.errors if e.spread is not None
    ]
    return ", ".join(spreads)


def _game(game: GameAccuracy, names: Sequence[str]) -> Json:
    return {
        "setting": game.game.name,
        "measured": ", ".join(map(str, game.game.cubic)),
        "flows": game.game.flows,
        "predicted": [_crossing(game.predicted[name]) for name in names],
    }


def _crossing(each: PredictedCrossing) -> str:
    """CUBIC flows at a model's equilibrium, with their range where it has one."""
    if each.first is None or each.low is None or each.high is None:
        return NONE
    text = f"{each.first:.1f}"
    if each.low == each.high:
        return text
    return f"{text} ({each.flows - each.high:.1f} to {each.flows - each.low:.1f})"


def _within(error: EquilibriumAccuracy | None) -> str:
    if error is None or error.median_abs is None or error.within is None:
        return NONE
    near = round(error.within * error.answered)
    return f"{error.median_abs:.1f} ({near} of {error.answered})"


def _sentences(row: BufferAccuracy, off: dict[str, EquilibriumAccuracy]) -> list[str]:
    """Which model is nearest, in plain words."""
    return [*_nearest_share(row), *_nearest_equilibrium(off)]


def _nearest_share(row: BufferAccuracy) -> list[str]:
    nearest = row.nearest
    if nearest is None or nearest.median_abs is None or nearest.p90_abs is None:
        return []
    rest = [e for e in row.errors if e.median_abs is not None and e is not nearest]
    text = (
        f"Closest to the {nearest.answered} measured mixes is {_quoted(nearest.model)}: its error "
        f"in BBR's share of the throughput is {100 * nearest.median_abs:.1f} percentage points in "
        f"the median, and in nine of ten mixes at most {100 * nearest.p90_abs:.1f}"
    )
    if not rest:
        return [f"{text}."]
    others = "; ".join(f"{MODELS[e.model].title} {100 * (e.median_abs or 0):.1f}" for e in rest)
    return [f"{text}. Median errors of the others: {others}."]


def _nearest_equilibrium(off: dict[str, EquilibriumAccuracy]) -> list[str]:
    whole = [e for e in off.values() if e.median_abs is not None and not e.refused]
    if not whole:
        return []
    nearest = min(whole, key=lambda e: e.median_abs or 0.0)
    near = round((nearest.within or 0.0) * nearest.answered)
    settings = "the setting" if nearest.answered == 1 else f"{nearest.answered} settings"
    return [
        f"Closest to the measured equilibria is {_quoted(nearest.model)}: its median error is "
        f"{nearest.median_abs:.1f} flows over {settings}, and in {near} it is within {NEAR_FLOWS} "
        "flows."
    ]


def _quoted(model: str) -> str:
    return f'"{MODELS[model].title}"'


def _refusals(row: BufferAccuracy) -> list[str]:
    """Who refused something, those with the same reason together."""
    alike: dict[tuple[int, str], list[str]] = {}
    for error in row.errors:
        if error.refused and error.answered:
            alike.setdefault((error.refused, error.reason), []).append(MODELS[error.model].title)
    return [
        f"{'; '.join(titles)} refused {refused} of {row.mixes} mixes: {reason}."
        for (refused, reason), titles in alike.items()
    ]
