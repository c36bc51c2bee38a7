"""Mishra 2022 with a k that was measured, between its two bounds."""

from __future__ import annotations

from .mishra2022 import SOURCE, VALIDITY, answer, k_desynchronised, k_synchronised
from .prediction import Model, Prediction
from .question import Question

NAME = "mishra-given-k"
SLACK = 1e-9


def predict(question: Question) -> Prediction:
    """Predict with the k of the question.

    Args:
        question: The question; without a k, or with one outside the bounds of equations 21
            and 22, it is refused.

    Source: equations 18 to 20 of Mishra, Tiu, Leong, IMC 2022; see k_of_synchrony for k.
    """
    return answer(NAME, question, question.k, _refusals(question))


def _refusals(question: Question) -> tuple[str, ...]:
    if question.k is None:
        return ("k is not given (the share of its window that CUBIC keeps)",)
    if question.cubic == 0:
        return ()
    low, high = k_synchronised(), k_desynchronised(question.cubic)
    if low - SLACK <= question.k <= high + SLACK:
        return ()
    return (f"k = {question.k:g} is outside its bounds for this mix, {low:g} to {high:.3g}",)


MODEL = Model(
    NAME,
    "Mishra, k given",
    f"{SOURCE}, equations 18 to 20",
    f"{VALIDITY}; k between 0.7 and (N_c - 0.3) / N_c",
    predict,
)
