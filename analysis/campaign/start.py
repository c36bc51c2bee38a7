"""The model's equilibrium as the place where a search begins."""

from __future__ import annotations

from ..models.band import equilibrium_band
from ..models.question import Question
from ..state import State


def start_of(question: Question) -> State | None:
    """The mix in the middle of the band of Mishra 2022.

    Args:
        question: The setting; how its flows are split plays no part.

    Returns:
        The state of (CUBIC, BBR) flows; None where the model refuses.
    """
    middle = equilibrium_band(question).middle
    return None if middle is None else ((question.flows - middle, middle),)
