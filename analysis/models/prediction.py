"""What a model answers: a share with its reservations, or a refusal with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .question import Question

Status = Literal["valid", "flagged", "refused"]


@dataclass(frozen=True)
class Prediction:
    """The answer of a model.

    Attributes:
        model: Name of the model.
        question: What was asked.
        bbr_share: BBR's part of the throughput of all flows, 0 to 1; None if refused.
        refusals: Why there is no number: the question is outside the model's validity.
        flags: Reservations about the number.
        inner: Quantities inside the model, by name, in SI units and bytes.
        share_range: Smallest and largest share over the seeds; None: no chance is in the model.
    """

    model: str
    question: Question
    bbr_share: float | None
    refusals: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    inner: Mapping[str, float] = field(default_factory=dict)
    share_range: tuple[float, float] | None = None

    @property
    def status(self) -> Status:
        """Whether there is a number, and whether with reservations."""
        if self.bbr_share is None:
            return "refused"
        return "flagged" if self.flags else "valid"

    @property
    def bbr_bps(self) -> float | None:
        """Aggregate throughput of the BBR flows in bit/s."""
        return None if self.bbr_share is None else self.bbr_share * self.question.rate_bps

    @property
    def cubic_bps(self) -> float | None:
        """Aggregate throughput of the CUBIC flows in bit/s."""
        return None if self.bbr_bps is None else self.question.rate_bps - self.bbr_bps

    @property
    def bbr_per_flow_bps(self) -> float | None:
        """Throughput of one BBR flow in bit/s; None without a BBR flow."""
        return _each(self.bbr_bps, self.question.bbr)

    @property
    def cubic_per_flow_bps(self) -> float | None:
        """Throughput of one CUBIC flow in bit/s; None without a CUBIC flow."""
        return _each(self.cubic_bps, self.question.cubic)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "model": self.model,
            "status": self.status,
            "bbr": self.question.bbr,
            "cubic": self.question.cubic,
            "bbr_share": self.bbr_share,
            "share_range": self.share_range,
            "aggregate_bps": {"bbr": self.bbr_bps, "cubic": self.cubic_bps},
            "per_flow_bps": {"bbr": self.bbr_per_flow_bps, "cubic": self.cubic_per_flow_bps},
            "reasons": [*self.refusals, *self.flags],
            "inner": dict(self.inner),
        }


def _each(total: float | None, flows: int) -> float | None:
    return None if total is None or flows == 0 else total / flows


@dataclass(frozen=True)
class Model:
    """A model of CUBIC against BBR: a published one, or ours.

    Attributes:
        name: Short name, as on the command line.
        title: What a table says.
        source: Paper and equations.
        validity: Where it is valid, in words.
        predict: Its answer to a question.
    """

    name: str
    title: str
    source: str
    validity: str
    predict: Callable[[Question], Prediction]


def no_competition(model: str, question: Question) -> Prediction | None:
    """The answer when there is only one congestion control; None if both are there.

    Like flows divide the link evenly by definition; no model is needed to say so.

    Args:
        model: Name of the model that was asked.
        question: The question.
    """
    if question.cubic and question.bbr:
        return None
    flag = "only one congestion control: all of the link by definition, not by the model"
    return Prediction(model, question, 1.0 if question.bbr else 0.0, flags=(flag,))
