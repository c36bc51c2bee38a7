"""Mishra 2022, many flows, every CUBIC flow loses in every congestion event: one bound."""

from __future__ import annotations

from .mishra2022 import SOURCE, VALIDITY, answer, k_synchronised
from .prediction import Model, Prediction
from .question import Question

NAME = "mishra-synchronised"


def predict(question: Question) -> Prediction:
    """Predict with k = 0.7: the least that BBR gets.

    Args:
        question: The question.

    Source: equations 18 to 21 of Mishra, Tiu, Leong, IMC 2022.
    """
    return answer(NAME, question, k_synchronised())


MODEL = Model(
    NAME,
    "Mishra, synchronised",
    f"{SOURCE}, equations 18 to 21",
    f"{VALIDITY}; a bound: all CUBIC flows lose at once",
    predict,
)
