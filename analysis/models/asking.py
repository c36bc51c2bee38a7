"""Asking models: many questions side by side, and where a game settles."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from .crossing import PredictedCrossing, predicted_crossing
from .prediction import Model, Prediction
from .question import Question

ShowAsked = Callable[[str, int, int], None]
"""(what is asked, how much of it is answered, of how much)."""


def show_nothing(title: str, done: int, total: int) -> None:
    """Of a caller that shows no progress."""


def ask_all(
    model: Model, questions: Sequence[Question], show: ShowAsked = show_nothing
) -> list[Prediction]:
    """What a model answers to each question.

    Args:
        model: The model. One in C is asked on every core; the others take microseconds.
        questions: The questions.
        show: Is told how many are answered.
    """
    answers = []
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for answer in workers.map(model.predict, questions):
            answers.append(answer)
            show(model.title, len(answers), len(questions))
    return answers


def crossing_of(
    model: Model, mixes: Callable[[int], Question], flows: int, start: float | None = None
) -> PredictedCrossing:
    """Where a model expects a game to settle whose mixes start each in their own way.

    Args:
        model: The model.
        mixes: BBR flows -> the question of that mix.
        flows: Flows N.
        start: BBR flows near which it is expected; None: half of the flows.
    """
    of_mix = replace(model, predict=lambda question: model.predict(mixes(question.bbr)))
    return predicted_crossing(of_mix, mixes(max(1, flows // 2)), start)
