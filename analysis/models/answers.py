"""What `nashbed model` answers, in JSON: predictions, or errors against measurements.

`bbr` stands for the second CCA, whatever its name. Units: bit/s, s, bytes.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.model import ContractModel, JsonAnswer, Number

from . import MODELS, fluid, mishra2022
from .accuracy import ModelErrors, model_errors
from .band import Band, equilibrium_band
from .competition import Competition, ModelError
from .crossing import CrossingAnswer, ShowAsked, ask_all, crossing_of, show_nothing
from .prediction import Model, ModelAbout, Prediction, Status
from .starts import BBR


class QuestionAnswer(ContractModel):
    """What was asked.

    Attributes:
        bbr: Flows of the second CCA.
        k: The k of Mishra's model; null: it was not given.
        bbr_start_s: When the others start.
        start_spread_s: Each starts up to so much later.
        connecting_s: How long before time 0 they begin to connect; 0: all are connected then.
        measured_from_s: Start of the time over which shares are meant.
        window_bytes: Most that a flow has in flight; null: no limit.
        fair_share_bps: Rate / number of flows.
    """

    rate_bps: Number
    base_rtt_s: Number
    buffer_bytes: Number
    cubic: int
    bbr: int
    duration_s: Number
    k: float | None
    cubic_start_s: Number
    bbr_start_s: Number
    start_spread_s: Number
    connecting_s: Number
    measured_from_s: Number
    window_bytes: Number | None
    flows: int
    buffer_bdp: Number
    fair_share_bps: float


class Rates(ContractModel):
    """Throughputs of the two CCAs in bit/s.

    Attributes:
        bbr: The second CCA's; null: refused, or no such flow.
        cubic: CUBIC's; null likewise.
    """

    bbr: float | None
    cubic: float | None


class PredictionAnswer(ContractModel):
    """What a model says of a mix.

    Attributes:
        status: `valid`, `flagged` or `refused`.
        bbr: Flows of the second CCA.
        bbr_share: Part of the throughput of all flows that the second CCA has; null if
            refused.
        share_range: The least and the most over the seeds; null: no chance is in the model.
        aggregate_bps: Throughputs of all flows of a CCA.
        per_flow_bps: Those of a flow.
        reasons: Why there is no number, or the model's reservations.
        inner: Quantities inside the model that there are in this mix, by name.
    """

    model: str
    status: Status
    bbr: int
    cubic: int
    bbr_share: Number | None
    share_range: tuple[Number, Number] | None
    aggregate_bps: Rates
    per_flow_bps: Rates
    reasons: tuple[str, ...]
    inner: dict[str, Number]


class MixAnswer(ContractModel):
    """What models say of a mix.

    Attributes:
        bbr: Flows of the second CCA.
        predictions: Of each model.
    """

    bbr: int
    cubic: int
    predictions: tuple[PredictionAnswer, ...]


class PredictionsAnswer(JsonAnswer):
    """What models say of a game.

    Attributes:
        second: The second CCA.
        question: What was asked.
        models: What the models are.
        mixes: What they say of each mix.
        crossings: Where each expects the second CCA's lead to end.
        equilibrium: Mishra's band; null if the second CCA is not BBR.
    """

    second: str
    question: QuestionAnswer
    models: tuple[ModelAbout, ...]
    mixes: tuple[MixAnswer, ...]
    crossings: tuple[CrossingAnswer, ...]
    equilibrium: Band | None


class ErrorsAnswer(ModelErrors, JsonAnswer):
    """How far models are from measured mixes, and from where these settle.

    Attributes:
        against: Where the measured mixes are from.
        left_out: Why others were left out -> how many.
    """

    against: str
    mixes: int
    left_out: dict[str, int]
    models: tuple[ModelAbout, ...]


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
        raise ConfigError(f"names: {unknown[0]!r} is unknown; there are {', '.join(MODELS)}")
    try:
        fluid_model = fluid.model_of(second, unvalidated)
    except ModelError as error:
        raise ConfigError(f"second: {error}") from error
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
) -> PredictionsAnswer:
    """What models say to a game, where each expects the mix to settle, and Mishra's band.

    Args:
        game: CUBIC against another CCA; its flows start alike in every mix.
        every_mix: Ask for every mix of its flows, not only for its own.
        show: Is told how far it is.
        k: The k of Mishra's model, if it was given.
    """
    counts = range(game.flows + 1) if every_mix else [game.second.flows]
    asked = [game.with_second(flows) for flows in counts]
    answers = [ask_all(model, asked, show) for model in models]
    mixes = [
        MixAnswer(
            bbr=mix.second.flows,
            cubic=mix.first.flows,
            predictions=tuple(_prediction(answer[i]) for answer in answers),
        )
        for i, mix in enumerate(asked)
    ]
    return PredictionsAnswer(
        second=game.second.cca,
        question=_question(game, k),
        models=tuple(model.about for model in models),
        mixes=tuple(mixes),
        crossings=tuple(
            crossing_of(model, game.with_second, game.flows).answer(model.name) for model in models
        ),
        equilibrium=equilibrium_band(game) if game.second.cca == BBR else None,
    )


def _question(game: Competition, k: float | None) -> QuestionAnswer:
    first, second = game.kinds
    return QuestionAnswer(
        rate_bps=game.rate_bps,
        base_rtt_s=game.base_rtt_s,
        buffer_bytes=game.buffer_bytes,
        cubic=first.flows,
        bbr=second.flows,
        duration_s=game.duration_s,
        k=k,
        cubic_start_s=first.start_s,
        bbr_start_s=second.start_s,
        start_spread_s=second.start_spread_s,
        connecting_s=second.connecting_s,
        measured_from_s=game.measured_from_s,
        window_bytes=second.window_limit,
        flows=game.flows,
        buffer_bdp=game.buffer_bdp,
        fair_share_bps=game.fair_share_bps,
    )


def _prediction(prediction: Prediction) -> PredictionAnswer:
    return PredictionAnswer(
        model=prediction.model,
        status=prediction.status,
        bbr=prediction.question.second.flows,
        cubic=prediction.question.first.flows,
        bbr_share=prediction.share,
        share_range=prediction.share_range,
        aggregate_bps=Rates(bbr=prediction.second_bps, cubic=prediction.first_bps),
        per_flow_bps=Rates(bbr=prediction.second_per_flow_bps, cubic=prediction.first_per_flow_bps),
        reasons=(*prediction.refusals, *prediction.flags),
        inner={name: value for name, value in prediction.inner.items() if math.isfinite(value)},
    )


def errors_against(
    path: Path, names: Sequence[str] = (), show: ShowAsked = show_nothing
) -> ErrorsAnswer:
    """How far models are from measured mixes, and from where these settle.

    Args:
        path: A run directory, or a CSV file with the columns of fabric_mixes.csv.
        names: Which models; none: all.

    Raises:
        RunError: It cannot be read, or holds no mix to compare with.
        ConfigError: There is no such model.
    """
    from .measured import measured_mixes  # noqa: PLC0415 - reads runs, slow to import

    models = chosen_models(names)
    measured = measured_mixes(path)
    errors = model_errors(measured.mixes, measured.games, models, show)
    return ErrorsAnswer(
        against=measured.source,
        mixes=len(measured.mixes),
        left_out=measured.left_out,
        models=tuple(model.about for model in models),
        **vars(errors),
    )
