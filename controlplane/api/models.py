"""Models of who gets what: ours and published ones, asked in the quantities of a scenario.

>>> import nashbed as nb
>>> nb.models.fluid.share(rate="50mbit", base_rtt="40ms", buffer="5bdp", flows=10, second_flows=3)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nashbed.analysis.models import MODELS, Competition, Model, Prediction, answers, cubic_against
from nashbed.analysis.models.answers import ErrorsAnswer, PredictionsAnswer, chosen_models
from nashbed.analysis.models.crossing import PredictedCrossing, predicted_crossing
from nashbed.analysis.models.starts import BBR, Starts
from nashbed.controlplane.contract.disciplines import DROPTAIL
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.units import Buffer, Duration, Rate

from .files import quantity
from .steps import ShowStep, show_nothing

__all__ = [
    "AskedModel",
    "Competition",
    "ErrorsAnswer",
    "PredictedCrossing",
    "Prediction",
    "PredictionsAnswer",
    "closed_form",
    "competition",
    "errors",
    "fluid",
    "mishra_desynchronised",
    "mishra_given_k",
    "mishra_synchronised",
    "mishra_two_flow",
    "models",
    "predictions",
    "ware",
]


def competition(  # noqa: PLR0913 - each is a part of the question
    *,
    rate: str | Rate,
    base_rtt: str | Duration,
    buffer: str | Buffer,
    flows: int,
    second_flows: int = 0,
    second: str = BBR,
    duration: str | Duration = "120s",
    warmup: str | Duration = "0s",
    cubic_start: str | Duration = "0s",
    second_start: str | Duration = "0s",
    window: str | Buffer | None = None,
    discipline: str = DROPTAIL.name,
) -> Competition:
    """CUBIC flows against those of one other congestion control at a drop-tail bottleneck.

    Args:
        rate: Bottleneck, e.g. 100mbit.
        base_rtt: Base RTT of all flows, e.g. 40ms.
        buffer: Drop-tail buffer: 5bdp, 1MB.
        flows: Flows in all.
        second_flows: How many of them run the other one; who is asked for shares must be told.
        second: The congestion control beside CUBIC, e.g. bbr3, copa.
        duration: How long they compete.
        warmup: Time at the beginning that does not count.
        cubic_start: When the CUBIC flows start, e.g. 5s: the others are first.
        second_start: When the others start.
        window: Most that socket buffers let a flow have in flight: 2.7MB; None: no limit.
        discipline: The queue's; models describe drop-tail alone.

    Raises:
        ConfigError: A quantity cannot be read, or is out of its range; or no model describes the
            queue.
    """
    if discipline != DROPTAIL.name:
        raise ConfigError(
            f"discipline: no model describes {discipline}, only {DROPTAIL.name}; measure it with "
            "`nashbed run`, in virtual time without root"
        )
    link = quantity(Rate, "rate", rate)
    base = quantity(Duration, "base_rtt", base_rtt)
    size = quantity(Buffer, "buffer", buffer).to_bytes(link, base)
    if not 0 <= second_flows <= flows:
        raise ConfigError(f"second_flows: {second_flows} of {flows} flows; write 0 to {flows}")
    first_s, second_s, warmup_s, duration_s = (
        quantity(Duration, name, value).seconds
        for name, value in (
            ("cubic_start", cubic_start),
            ("second_start", second_start),
            ("warmup", warmup),
            ("duration", duration),
        )
    )
    most = None if window is None else quantity(Buffer, "window", window).to_bytes(link, base)
    game = cubic_against(
        link.bps, base.seconds, size, flows - second_flows, second_flows, second, duration_s
    )
    return game.started(Starts(first_s, second_s, 0.1), warmup_s).limited(most)


def _mix(**question: Any) -> Competition:
    """One mix, as `competition` has it: without BBR flows there is nothing to share."""
    if "second_flows" not in question:
        raise ConfigError("second_flows: is missing; say how many of the flows run the other CCA")
    return competition(**question)


@dataclass(frozen=True)
class AskedModel:
    """A model to ask.

    Attributes:
        name: As on the command line.
    """

    name: str

    @property
    def about(self) -> Model:
        """Its title, source (paper and equations) and validity."""
        return MODELS[self.name]

    def predict(
        self,
        game: Competition | None = None,
        *,
        k: float | None = None,
        unvalidated: bool = False,
        **question: Any,
    ) -> Prediction:
        """Its whole answer: the share with its range and reservations, or why there is none.

        Args:
            game: What is asked; None: `question` is.
            k: Part of its window that CUBIC keeps, for the model that takes it.
            unvalidated: Answer also where our runs do not bear it out.
            question: As `competition` has it.

        Raises:
            ConfigError: The question makes no sense.
        """
        asked = _mix(**question) if game is None else game
        return self._model(asked, k, unvalidated).predict(asked)

    def share(self, game: Competition | None = None, **question: Any) -> float | None:
        """Part of the throughput, 0 to 1, of the flows that do not run CUBIC; None: it refuses.

        Args:
            game: As `predict` has it.
            question: As `predict` has it.
        """
        return self.predict(game, **question).share

    def equilibrium(
        self,
        game: Competition | None = None,
        *,
        k: float | None = None,
        unvalidated: bool = False,
        **question: Any,
    ) -> PredictedCrossing:
        """Where the second congestion control's lead over CUBIC ends among as many flows.

        Args:
            game: As `predict` has it; how its flows are split plays no part.
            k: As `predict` has it.
            unvalidated: As `predict` has it.
            question: As `predict` has it.
        """
        asked = competition(**question) if game is None else game
        return predicted_crossing(self._model(asked, k, unvalidated), asked)

    def _model(self, game: Competition, k: float | None, unvalidated: bool) -> Model:
        return chosen_models([self.name], k, game.second.cca, unvalidated)[0]


def models() -> tuple[AskedModel, ...]:
    """Every model, in the order of tables."""
    return tuple(map(AskedModel, MODELS))


def predictions(
    game: Competition | None = None,
    *,
    every_mix: bool = False,
    names: Sequence[str] = (),
    k: float | None = None,
    unvalidated: bool = False,
    on_step: ShowStep = show_nothing,
    **question: Any,
) -> PredictionsAnswer:
    """Ask several models the same, and where each expects the mix to settle.

    Args:
        game: As `AskedModel.predict` has it.
        every_mix: Whether every mix of as many flows is asked for, not only the game's.
        names: Which models; empty: all.
        k: Part of its window that CUBIC keeps, if measured, for the model that takes it.
        unvalidated: Answer also where our runs do not bear it out.
        on_step: Called as models answer: model, questions answered, questions in all.
        question: As `competition` has it.

    Raises:
        ConfigError: The question makes no sense, or there is no such model.
    """
    read = competition if every_mix else _mix
    asked = read(**question) if game is None else game
    chosen = chosen_models(names, k, asked.second.cca, unvalidated)
    return answers.predictions(asked, every_mix, chosen, on_step, k)


def errors(
    measured: str | Path, names: Sequence[str] = (), on_step: ShowStep = show_nothing
) -> ErrorsAnswer:
    """Hold models against measurements: errors of shares by buffer, and of equilibria.

    Args:
        measured: Run directory to compare with, or CSV of mixes, as `nashbed equilibria --mixes`
            writes one.
        names: Which models; empty: all.
        on_step: As `predictions` has it.

    Raises:
        RunError: It cannot be read, or has no such mix.
        ConfigError: There is no such model.
    """
    return answers.errors_against(Path(measured), names, on_step)


fluid = AskedModel("fluid")
closed_form = AskedModel("closed-form")
ware = AskedModel("ware")
mishra_two_flow = AskedModel("mishra-two-flow")
mishra_synchronised = AskedModel("mishra-synchronised")
mishra_desynchronised = AskedModel("mishra-desynchronised")
mishra_given_k = AskedModel("mishra-given-k")
