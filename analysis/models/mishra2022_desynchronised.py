"""Mishra 2022, many flows, one CUBIC flow loses in each congestion event: the other bound."""

from __future__ import annotations

from .mishra2022 import SOURCE, VALIDITY, answer, k_desynchronised
from .prediction import Model, Prediction
from .question import Question

NAME = "mishra-desynchronised"


def predict(question: Question) -> Prediction:
    """Predict with k = (N_c - 0.3) / N_c: the most that BBR gets.

    Args:
        question: The question.

    Source: equations 18 to 20 and 22 of Mishra, Tiu, Leong, IMC 2022.
    """
    k = k_desynchronised(question.cubic) if question.cubic else None
    return answer(NAME, question, k)


MODEL = Model(
    NAME,
    "Mishra, de-synchronised",
    f"{SOURCE}, equations 18 to 20 and 22",
    f"{VALIDITY}; a bound: CUBIC flows lose one at a time",
    predict,
)
