"""What `nashbed model` says, as plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.errors import ConfigError

from . import MODELS, fluid, mishra2022
from .accuracy import accuracy_by_buffer, accuracy_of_games, equilibrium_errors
from .band import equilibrium_band
from .competition import Competition, ModelError
from .crossing import ShowAsked, ask_all, crossing_of, show_nothing
from .prediction import Model, Prediction
from .starts import BBR

Json = dict[str, Any]


def chosen_models(
    names: Sequence[str], k: float | None = None, second: str = BBR, unvalidated: bool = False
) -> list[Model]:
    """The models that are to be asked, in the order of tables.

    Args:
        names: Which; none: all, the one with a given k only where k is given.
        k: The k of Mishra's model, if it is given.
        second: The CCA beside CUBIC; of others than BBR only the fluid one speaks.
        unvalidated: The fluid model answers also where our runs do not bear it out.

    Raises:
        ConfigError: There is no such model, or the fluid model does not know the CCA.
    """
    unknown = sorted(set(names) - set(MODELS))
    if unknown:
        raise ConfigError(f"--model: {unknown[0]!r} is unknown; there are {', '.join(MODELS)}")
    try:
        fluid_model = fluid.model_of(second, unvalidated)
    except ModelError as error:
        raise ConfigError(f"--second: {error}") from error
    given = mishra2022.given_k(k)
    models = {**MODELS, fluid_model.name: fluid_model, given.name: given}
    wanted = set(names) or set(MODELS) - (set() if k is not None else {given.name})
    return [model for name, model in models.items() if name in wanted]


def predictions(
    game: Competition,
    every_mix: bool,
    models: Sequence[Model],
    show: ShowAsked = show_nothing,
    k: float | None = None,
) -> Json:
    """What models say to a game, where each expects the mix to settle, and Mishra's band.

    Args:
        game: CUBIC against another CCA; its flows start alike in every mix.
        every_mix: Ask for every mix of its flows, not only for its own.
        models: Which models.
        show: Is told how far it is.
        k: The k of Mishra's model, if it was given.

    Returns:
        `second`, `question`, `models` (what they are), `mixes` (for each: `bbr`, `cubic` and the
        models' `predictions`), `crossings` (of each model, in the same order: where the second
        CCA's lead ends, in flows) and `equilibrium`, the band, None if `second` is not BBR.
        `bbr` stands for the second CCA, whatever its name. Units: bit/s, s, bytes.
    """
    counts = range(game.flows + 1) if every_mix else [game.second.flows]
    asked = [game.with_second(flows) for flows in counts]
    answers = [ask_all(model, asked, show) for model in models]
    second = game.second.cca
    return {
        "second": second,
        "question": _question(game, k),
        "models": _about(models),
        "mixes": [
            {
                "bbr": mix.second.flows,
                "cubic": mix.first.flows,
                "predictions": [_plain(answer[i]) for answer in answers],
            }
            for i, mix in enumerate(asked)
        ],
        "crossings": [
            {"model": m.name, **crossing_of(m, game.with_second, game.flows).to_dict()}
            for m in models
        ],
        "equilibrium": equilibrium_band(game).to_dict() if second == BBR else None,
    }


def _question(game: Competition, k: float | None) -> Json:
    """What was asked, as plain data."""
    first, second = game.kinds
    return {
        "rate_bps": game.rate_bps,
        "base_rtt_s": game.base_rtt_s,
        "buffer_bytes": game.buffer_bytes,
        "cubic": first.flows,
        "bbr": second.flows,
        "duration_s": game.duration_s,
        "k": k,
        "cubic_start_s": first.start_s,
        "bbr_start_s": second.start_s,
        "start_spread_s": second.start_spread_s,
        "connecting_s": second.connecting_s,
        "measured_from_s": game.measured_from_s,
        "window_bytes": second.window_limit,
        "flows": game.flows,
        "buffer_bdp": game.buffer_bdp,
        "fair_share_bps": game.fair_share_bps,
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

    models = chosen_models(names)
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
