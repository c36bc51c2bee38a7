"""What a model answers: a share with its reservations, or a refusal with its reasons."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from nashbed.controlplane.contract.model import ContractModel

from .competition import Competition
from .starts import BBR, CUBIC

Status = Literal["valid", "flagged", "refused"]


@dataclass(frozen=True)
class Prediction:
    """The answer of a model.

    Attributes:
        question: What was asked.
        share: Part of the throughput of all flows that those of the second CCA
            have, BBR's or what runs in its place, 0 to 1; None if refused.
        refusals: Why there is no number: the question is outside the model's validity.
        flags: Reservations about the number.
        inner: Quantities inside the model, by name, in SI units and bytes.
        share_range: Smallest and largest share over the seeds; None: no chance is in the model.
    """

    model: str
    question: Competition
    share: float | None
    refusals: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    inner: Mapping[str, float] = field(default_factory=dict)
    share_range: tuple[float, float] | None = None

    @property
    def status(self) -> Status:
        """Whether there is a number, and whether with reservations."""
        if self.share is None:
            return "refused"
        return "flagged" if self.flags else "valid"

    @property
    def second_bps(self) -> float | None:
        """Aggregate throughput of the second CCA's flows in bit/s."""
        return None if self.share is None else self.share * self.question.rate_bps

    @property
    def first_bps(self) -> float | None:
        """Aggregate throughput of the first CCA's flows, CUBIC's, in bit/s."""
        return None if self.second_bps is None else self.question.rate_bps - self.second_bps

    @property
    def second_per_flow_bps(self) -> float | None:
        """Throughput of one flow of the second CCA in bit/s; None without one."""
        return _each(self.second_bps, self.question.second.flows)

    @property
    def first_per_flow_bps(self) -> float | None:
        """Throughput of one CUBIC flow in bit/s; None without a CUBIC flow."""
        return _each(self.first_bps, self.question.first.flows)


def _each(total: float | None, flows: int) -> float | None:
    return None if total is None or flows == 0 else total / flows


class ModelAbout(ContractModel):
    """What a model is, in JSON.

    Attributes:
        source: Paper and equations.
        validity: Where it is valid, in words.
    """

    name: str
    title: str
    source: str
    validity: str


@dataclass(frozen=True)
class Model:
    """A model of CUBIC against another CCA: a published one, or ours.

    Attributes:
        source: Paper and equations.
        validity: Where it is valid, in words.
    """

    name: str
    title: str
    source: str
    validity: str
    predict: Callable[[Competition], Prediction]

    @property
    def about(self) -> ModelAbout:
        """What it is, in JSON."""
        return ModelAbout(
            name=self.name, title=self.title, source=self.source, validity=self.validity
        )


def no_competition(model: str, question: Competition) -> Prediction | None:
    """The answer when there is only one CCA; None if both are there.

    Like flows divide the link evenly by definition; no model is needed to say so.
    """
    if question.first.flows and question.second.flows:
        return None
    flag = "only one congestion control: all of the link by definition, not by the model"
    return Prediction(model, question, 1.0 if question.second.flows else 0.0, flags=(flag,))


def other_than_bbr(model: str, question: Competition) -> Prediction | None:
    """The refusal of a model of CUBIC and BBR where other flows compete; None if there are none."""
    others = [kind.cca for kind in question.kinds if kind.cca not in (CUBIC, BBR)]
    if not others:
        return None
    reason = f"it is a model of CUBIC and BBR version 1, not of {others[0]}"
    return Prediction(model, question, None, (reason,))
