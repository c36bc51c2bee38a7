"""How far each model is from measured mixes by buffer, and from where they settle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from . import MODELS
from .competition import Competition
from .crossing import PredictedCrossing, ShowAsked, ask_all, crossing_of, show_nothing
from .prediction import Model, Prediction

NEAR_FLOWS = 3
"""An equilibrium agrees with the published trials within this many flows."""


@dataclass(frozen=True)
class MeasuredMix:
    """One measured mix, with both CCAs in it.

    Attributes:
        question: The competition, with what was applied.
        share: Part of the throughput of all flows that those of the second CCA have.
        buffer_bdp: The buffer that it is counted under, in BDP as it was asked for.
    """

    question: Competition
    share: float
    buffer_bdp: float


@dataclass(frozen=True)
class MeasuredGame:
    """Where the mixes of a setting settle, as measured.

    Attributes:
        name: The setting, in words or by its label.
        buffer_bdp: Its buffer in BDP, as it was asked for.
        flows: Flows N.
        cubic: CUBIC flows of every mix in which no flow gains by switching; at least one.
        question: BBR flows -> what models are asked about that mix.
    """

    name: str
    buffer_bdp: float
    flows: int
    cubic: tuple[int, ...]
    question: Callable[[int], Competition]

    def off(self, cubic: float) -> float:
        """Flows between a predicted number of CUBIC flows and the nearest measured equilibrium."""
        return min(abs(cubic - measured) for measured in self.cubic)


@dataclass(frozen=True)
class Accuracy:
    """The error of one model over some mixes, in parts of the throughput of all flows.

    Attributes:
        model: Name of the model.
        answered: Mixes that it answered.
        refused: Mixes that it refused.
        median_abs: Median of |predicted - measured| BBR share; None if all were refused.
        median: Median of predicted - measured: above 0 if BBR is overestimated.
        p90_abs: 90th percentile of |predicted - measured|.
        spread: Median of the largest less the smallest share over the seeds; None: no chance in it.
        reason: Why the first refused mix was refused, or "".
    """

    model: str
    answered: int
    refused: int
    median_abs: float | None
    median: float | None
    p90_abs: float | None
    spread: float | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class BufferAccuracy:
    """The errors of every model at one buffer.

    Attributes:
        buffer_bdp: The buffer in BDP; None: all buffers together.
        mixes: Measured mixes.
        errors: One for each model.
    """

    buffer_bdp: float | None
    mixes: int
    errors: tuple[Accuracy, ...]

    @property
    def nearest(self) -> Accuracy | None:
        """The model with the smallest median error, of those that answer every mix."""
        whole = [e for e in self.errors if e.median_abs is not None and not e.refused]
        return min(whole, key=lambda e: e.median_abs or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        errors = [error.to_dict() for error in self.errors]
        return {"buffer_bdp": self.buffer_bdp, "mixes": self.mixes, "models": errors}


def accuracy_by_buffer(
    mixes: Iterable[MeasuredMix], models: Sequence[Model] = (), show: ShowAsked = show_nothing
) -> list[BufferAccuracy]:
    """The errors at each buffer, smallest first, and over all of them at the end.

    Args:
        mixes: What was measured.
        models: Which models; none: all.
        show: Is told how many questions are answered.

    Returns:
        Nothing at all if nothing was measured.
    """
    chosen = tuple(models) or tuple(MODELS.values())
    ordered = sorted(mixes, key=lambda mix: mix.buffer_bdp)
    questions = [mix.question for mix in ordered]
    answers = {model.name: ask_all(model, questions, show) for model in chosen}
    held = [
        _AnsweredMix(mix, {n: a[i] for n, a in answers.items()}) for i, mix in enumerate(ordered)
    ]
    rows = [
        _at_buffer(buffer, list(group))
        for buffer, group in groupby(held, key=lambda each: each.mix.buffer_bdp)
    ]
    return [*rows, _at_buffer(None, held)] if rows else []


@dataclass(frozen=True)
class _AnsweredMix:
    """A measured mix, and what each model says of it."""

    mix: MeasuredMix
    answers: dict[str, Prediction]


def _at_buffer(buffer: float | None, held: Sequence[_AnsweredMix]) -> BufferAccuracy:
    models = held[0].answers
    return BufferAccuracy(buffer, len(held), tuple(_accuracy(name, held) for name in models))


def _accuracy(model: str, held: Sequence[_AnsweredMix]) -> Accuracy:
    answers = [(each.answers[model], each.mix.share) for each in held]
    off = np.array([a.share - s for a, s in answers if a.share is not None])
    refused = [answer.refusals[0] for answer, _ in answers if answer.share is None]
    ranges = [a.share_range for a, _ in answers if a.share_range is not None]
    return Accuracy(
        model=model,
        answered=len(off),
        refused=len(refused),
        median_abs=float(np.median(np.abs(off))) if len(off) else None,
        median=float(np.median(off)) if len(off) else None,
        p90_abs=float(np.percentile(np.abs(off), 90)) if len(off) else None,
        spread=float(np.median([high - low for low, high in ranges])) if ranges else None,
        reason=refused[0] if refused else "",
    )


@dataclass(frozen=True)
class GameAccuracy:
    """Where models expect one setting to settle, beside where it does.

    Attributes:
        game: The setting, as measured.
        predicted: Model -> where it expects BBR's lead to end.
    """

    game: MeasuredGame
    predicted: dict[str, PredictedCrossing]

    def off(self, model: str) -> float | None:
        """CUBIC flows between a model's equilibrium and the nearest measured one."""
        cubic = self.predicted[model].first
        return None if cubic is None else self.game.off(cubic)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; numbers of CUBIC flows."""
        return {
            "setting": self.game.name,
            "buffer_bdp": self.game.buffer_bdp,
            "flows": self.game.flows,
            "measured_cubic": list(self.game.cubic),
            "models": [
                {"model": name, "off_cubic": self.off(name), **each.to_dict()}
                for name, each in self.predicted.items()
            ],
        }


@dataclass(frozen=True)
class EquilibriumAccuracy:
    """How far a model's equilibria are from measured ones, in CUBIC flows.

    Attributes:
        model: Name of the model.
        answered: Settings for which it has an equilibrium.
        refused: Settings for which it has none.
        median_abs: Median of the differences; None if it has none.
        within: Share of the answered ones that are at most `NEAR_FLOWS` off.
    """

    model: str
    answered: int
    refused: int
    median_abs: float | None
    within: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**self.__dict__, "within_flows": NEAR_FLOWS}


def accuracy_of_games(
    games: Sequence[MeasuredGame], models: Sequence[Model] = (), show: ShowAsked = show_nothing
) -> list[GameAccuracy]:
    """Where each model expects measured settings to settle.

    Args:
        games: Settings with their measured equilibria.
        models: Which models; none: all.
        show: Is told how many settings are done.
    """
    chosen = tuple(models) or tuple(MODELS.values())
    found = []
    for game in games:
        predicted = {m.name: crossing_of(m, game.question, game.flows) for m in chosen}
        found.append(GameAccuracy(game, predicted))
        show("equilibria", len(found), len(games))
    return found


def equilibrium_errors(games: Sequence[GameAccuracy]) -> list[EquilibriumAccuracy]:
    """The errors of each model over settings; nothing where there is none."""
    return [_equilibrium_error(name, games) for name in (games[0].predicted if games else ())]


def _equilibrium_error(model: str, games: Sequence[GameAccuracy]) -> EquilibriumAccuracy:
    off = [each for game in games if (each := game.off(model)) is not None]
    return EquilibriumAccuracy(
        model=model,
        answered=len(off),
        refused=len(games) - len(off),
        median_abs=float(np.median(off)) if off else None,
        within=float(np.mean([each <= NEAR_FLOWS for each in off])) if off else None,
    )
