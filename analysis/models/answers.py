"""What `nashbed model` says, as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.errors import ConfigError

from . import MODELS, fluid
from .accuracy import accuracy_by_buffer, accuracy_of_games, equilibrium_errors
from .asking import ShowAsked, ask_all, crossing_of, show_nothing
from .band import equilibrium_band
from .prediction import Model, Prediction
from .question import ModelError, Question
from .starts import BBR

Json = dict[str, Any]


def chosen_models(names: Sequence[str], k_given: bool) -> list[Model]:
    """The models that are to be asked, in the order of tables.

    Args:
        names: Which; none: all, the one with a given k only where k is given.
        k_given: Whether k is given.

    Raises:
        ConfigError: There is no such model.
    """
    unknown = sorted(set(names) - set(MODELS))
    if unknown:
        raise ConfigError(f"--model: {unknown[0]!r} is unknown; there are {', '.join(MODELS)}")
    needs_k = {"mishra-given-k"}
    wanted = set(names) or set(MODELS) - (set() if k_given else needs_k)
    return [model for name, model in MODELS.items() if name in wanted]


def models_beside(second: str, models: Sequence[Model], unvalidated: bool = False) -> list[Model]:
    """Models of CUBIC against another congestion control than BBR: only the fluid one answers.

    Args:
        second: The other one, e.g. `bbr3`.
        models: Models of CUBIC against BBR.
        unvalidated: The fluid model answers also where our runs do not bear it out.

    Raises:
        ConfigError: The fluid model does not know it.
    """
    try:
        found = {fluid.MODEL.name: fluid.model_of(second, unvalidated)}
    except ModelError as error:
        raise ConfigError(f"--second: {error}") from error
    return [found.get(model.name) or _of_bbr_alone(model, second) for model in models]


def _of_bbr_alone(model: Model, second: str) -> Model:
    reason = f"it is a model of CUBIC and BBR version 1, not of {second}"
    return replace(
        model, predict=lambda question: Prediction(model.name, question, None, (reason,))
    )


def predictions(
    question: Question,
    every_mix: bool,
    models: Sequence[Model],
    show: ShowAsked = show_nothing,
    second: str = BBR,
) -> Json:
    """What models say to a question, where each expects the mix to settle, and Mishra's band.

    Args:
        question: The question; its flows start alike in every mix.
        every_mix: Ask for every mix of its flows, not only for its own.
        models: Which models.
        show: Is told how far it is.
        second: What runs in place of BBR; the models are `models_beside` it.

    Returns:
        `second`, `question`, `models` (what they are), `mixes` (for each: `bbr`, `cubic` and the
        models' `predictions`), `crossings` (of each model, in the same order: where BBR's lead
        ends, in flows) and `equilibrium`, the band, None if `second` is not BBR. Units: bit/s, s,
        bytes.
    """
    counts = range(question.flows + 1) if every_mix else [question.bbr]
    asked = [question.with_bbr(bbr) for bbr in counts]
    answers = [ask_all(model, asked, show) for model in models]
    return {
        "second": second,
        "question": {
            **asdict(question),
            "flows": question.flows,
            "buffer_bdp": question.buffer_bdp,
            "fair_share_bps": question.fair_share_bps,
        },
        "models": _about(models),
        "mixes": [
            {
                "bbr": mix.bbr,
                "cubic": mix.cubic,
                "predictions": [_plain(answer[i]) for answer in answers],
            }
            for i, mix in enumerate(asked)
        ],
        "crossings": [
            {"model": m.name, **crossing_of(m, question.with_bbr, question.flows).to_dict()}
            for m in models
        ],
        "equilibrium": equilibrium_band(question).to_dict() if second == BBR else None,
    }


def _plain(prediction: Prediction) -> Json:
    """An answer for JSON, without inner quantities that there are not in this mix."""
    inner = {n: v for n, v in prediction.inner.items() if math.isfinite(v)}
    return {**prediction.to_dict(), "inner": inner}


def _about(models: Sequence[Model]) -> list[dict[str, str]]:
    return [
        {"name": m.name, "title": m.title, "source": m.source, "validity": m.validity}
        for m in models
    ]


def errors_against(path: Path, names: Sequence[str] = (), show: ShowAsked = show_nothing) -> Json:
    """How far models are from measured mixes, and from where these settle.

    Args:
        path: A run directory, or a CSV file with the columns of fabric_mixes.csv.
        names: Which models; none: all.
        show: Is told how far it is.

    Returns:
        `against`, `mixes` (how many), `left_out` (reason -> how many), `models` (what they
        are), `buffers`: for each buffer, and with `buffer_bdp` None for all, the errors of
        each model in parts of the throughput of all flows; `games`: for each setting with a
        measured equilibrium that of each model, in flows; and `equilibria`, the errors over these.

    Raises:
        RunError: It cannot be read, or holds no mix to compare with.
        ConfigError: There is no such model.
    """
    from .measured import measured_mixes  # noqa: PLC0415 - reads runs, slow to import

    models = chosen_models(names, k_given=False)
    measured = measured_mixes(path)
    rows = accuracy_by_buffer(measured.mixes, models, show)
    games = accuracy_of_games(measured.games, models, show)
    return {
        "against": measured.source,
        "mixes": len(measured.mixes),
        "left_out": measured.left_out,
        "models": _about(models),
        "buffers": [row.to_dict() for row in rows],
        "games": [game.to_dict() for game in games],
        "equilibria": [each.to_dict() for each in equilibrium_errors(games)],
    }
