"""Mishra 2022, one CUBIC flow against one BBR flow."""

from __future__ import annotations

from .mishra2022 import CUBIC_KEEPS, SOURCE, VALIDITY, answer
from .prediction import Model, Prediction
from .question import Question

NAME = "mishra-two-flow"


def predict(question: Question) -> Prediction:
    """Predict one against one: k = 0.7, for one flow always loses alone.

    Args:
        question: The question; with other than one flow of each it is refused.

    Source: equations 5 to 20 of Mishra, Tiu, Leong, IMC 2022.
    """
    refusals: tuple[str, ...] = ()
    if (question.cubic, question.bbr) != (1, 1):
        mix = f"{question.cubic} CUBIC and {question.bbr} BBR flows"
        refusals = (f"{mix}: this form is for one of each",)
    return answer(NAME, question, CUBIC_KEEPS, refusals)


MODEL = Model(
    NAME,
    "Mishra 1 v 1",
    f"{SOURCE}, equations 5 to 20",
    f"{VALIDITY}, one flow of each; tested at 1 to 30 BDP",
    predict,
)
