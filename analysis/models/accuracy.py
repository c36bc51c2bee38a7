"""How far each model is from measured mixes by buffer, and from where they settle."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from nashbed.controlplane.contract.model import ContractModel, Number

from . import MODELS
from .competition import Competition
from .crossing import CrossingAnswer, ShowAsked, ask_all, crossing_of, show_nothing
from .mishra2022 import DESYNCHRONISED, SYNCHRONISED
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


class Accuracy(ContractModel):
    """The error of one model over some mixes, in parts of the throughput of all flows.

    Attributes:
        answered: Mixes that it answered.
        refused: Mixes that it refused.
        median_abs: Median of |predicted - measured| BBR share; null if all were refused.
        median: Median of predicted - measured: above 0 if BBR is overestimated.
        p90_abs: 90th percentile of |predicted - measured|.
        spread: Median of the largest less the smallest share over the seeds; null: no chance in it.
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


class BandAccuracy(ContractModel):
    """How far measured shares are from the band between Mishra's two bounds.

    The authors publish the band as their prediction: a share inside it is no error.

    Attributes:
        answered: Mixes that have a band.
        outside: Median distance to the band, 0 inside it, as part of the throughput of all flows.
        width: Median distance between the bounds, likewise.
        holds: Share of the mixes that are inside.
    """

    answered: int
    outside: float
    width: float
    holds: float


class BufferAccuracy(ContractModel):
    """The errors of every model at one buffer.

    Attributes:
        buffer_bdp: The buffer in BDP; null: all buffers together.
        band: That of Mishra's two bounds taken as a band; null: one was not asked, or refused all.
    """

    buffer_bdp: Number | None
    mixes: int
    models: tuple[Accuracy, ...]
    band: BandAccuracy | None

    @property
    def nearest(self) -> Accuracy | None:
        """The model with the smallest median error, of those that answer every mix."""
        whole = [e for e in self.models if e.median_abs is not None and not e.refused]
        return min(whole, key=lambda e: e.median_abs or 0.0, default=None)


def accuracy_by_buffer(
    mixes: Iterable[MeasuredMix], models: Sequence[Model] = (), show: ShowAsked = show_nothing
) -> list[BufferAccuracy]:
    """The errors at each buffer, smallest first, and over all of them at the end.

    Args:
        models: Which models; none: all.

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
    errors = tuple(_accuracy(name, held) for name in models)
    return BufferAccuracy(
        buffer_bdp=buffer, mixes=len(held), models=errors, band=_band_accuracy(held)
    )


def _band_accuracy(held: Sequence[_AnsweredMix]) -> BandAccuracy | None:
    bounds = [model.name for model in (SYNCHRONISED, DESYNCHRONISED)]
    if any(name not in held[0].answers for name in bounds):
        return None
    answers = [[each.answers[name].share for name in bounds] for each in held]
    known = [
        (min(first, second), max(first, second), each.mix.share)
        for each, (first, second) in zip(held, answers, strict=True)
        if first is not None and second is not None
    ]
    if not known:
        return None
    low, high, share = np.array(known, dtype=float).T
    outside = np.maximum(0.0, np.maximum(low - share, share - high))
    return BandAccuracy(
        answered=len(known),
        outside=float(np.median(outside)),
        width=float(np.median(high - low)),
        holds=float(np.mean(outside == 0)),
    )


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


class PredictedEquilibrium(CrossingAnswer):
    """Where a model expects BBR's lead to end, and how far that is from a measured equilibrium.

    Attributes:
        off_cubic: CUBIC flows between its equilibrium and the nearest measured one; null: it has
            none.
    """

    off_cubic: float | None


class GameAccuracy(ContractModel):
    """Where models expect one setting to settle, beside where it does.

    Attributes:
        setting: The setting, in words or by its label.
        buffer_bdp: Its buffer in BDP, as it was asked for.
        flows: Flows N.
        measured_cubic: CUBIC flows of every measured equilibrium.
        models: Where each model expects the lead to end.
    """

    setting: str
    buffer_bdp: Number
    flows: int
    measured_cubic: tuple[int, ...]
    models: tuple[PredictedEquilibrium, ...]

    def of(self, model: str) -> PredictedEquilibrium:
        """What one model expects."""
        return next(each for each in self.models if each.model == model)


class EquilibriumAccuracy(ContractModel):
    """How far a model's equilibria are from measured ones, in CUBIC flows.

    Attributes:
        answered: Settings for which it has an equilibrium.
        refused: Settings for which it has none.
        median_abs: Median of the differences; null if it has none.
        within: Share of the answered ones that are at most `within_flows` off; null likewise.
        within_flows: How far off still counts as near.
    """

    model: str
    answered: int
    refused: int
    median_abs: float | None
    within: float | None
    within_flows: Number = NEAR_FLOWS


class ModelErrors(ContractModel):
    """How far models are from what was measured.

    Attributes:
        buffers: Errors of the predicted shares by buffer, all together at the end; empty: no
            measured mix is one that models speak of.
        games: Equilibria of each model beside the measured ones.
        equilibria: Errors over these.
    """

    buffers: tuple[BufferAccuracy, ...]
    games: tuple[GameAccuracy, ...]
    equilibria: tuple[EquilibriumAccuracy, ...]


def model_errors(
    mixes: Iterable[MeasuredMix],
    games: Sequence[MeasuredGame],
    models: Sequence[Model] = (),
    show: ShowAsked = show_nothing,
) -> ModelErrors:
    """Hold models against measured mixes and equilibria.

    Args:
        games: Settings with their measured equilibria.
        models: Which models; none: all.
    """
    buffers = accuracy_by_buffer(mixes, models, show)
    found = accuracy_of_games(games, models, show)
    return ModelErrors(
        buffers=tuple(buffers), games=tuple(found), equilibria=tuple(equilibrium_errors(found))
    )


def accuracy_of_games(
    games: Sequence[MeasuredGame], models: Sequence[Model] = (), show: ShowAsked = show_nothing
) -> list[GameAccuracy]:
    """Where each model expects measured settings to settle.

    Args:
        models: Which models; none: all.
    """
    chosen = tuple(models) or tuple(MODELS.values())
    found = []
    for game in games:
        found.append(
            GameAccuracy(
                setting=game.name,
                buffer_bdp=game.buffer_bdp,
                flows=game.flows,
                measured_cubic=game.cubic,
                models=tuple(_predicted(model, game) for model in chosen),
            )
        )
        show("equilibria", len(found), len(games))
    return found


def _predicted(model: Model, game: MeasuredGame) -> PredictedEquilibrium:
    crossing = crossing_of(model, game.question, game.flows)
    off = None if crossing.first is None else game.off(crossing.first)
    return PredictedEquilibrium(**vars(crossing.answer(model.name)), off_cubic=off)


def equilibrium_errors(games: Sequence[GameAccuracy]) -> list[EquilibriumAccuracy]:
    """The errors of each model over settings; nothing where there is none."""
    models = games[0].models if games else ()
    return [_equilibrium_error(each.model, games) for each in models]


def _equilibrium_error(model: str, games: Sequence[GameAccuracy]) -> EquilibriumAccuracy:
    off = [each for game in games if (each := game.of(model).off_cubic) is not None]
    return EquilibriumAccuracy(
        model=model,
        answered=len(off),
        refused=len(games) - len(off),
        median_abs=float(np.median(off)) if off else None,
        within=float(np.mean([each <= NEAR_FLOWS for each in off])) if off else None,
    )
