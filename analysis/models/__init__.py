"""Models of CUBIC against BBR, ours and published: one question to all, one form of answer."""

from . import (
    closed_form,
    fluid,
    mishra2022_desynchronised,
    mishra2022_given_k,
    mishra2022_synchronised,
    mishra2022_two_flow,
    ware2019,
)
from .prediction import Model, Prediction
from .question import ModelError, Question

MODELS: dict[str, Model] = {
    module.MODEL.name: module.MODEL
    for module in (
        fluid,
        closed_form,
        ware2019,
        mishra2022_two_flow,
        mishra2022_synchronised,
        mishra2022_desynchronised,
        mishra2022_given_k,
    )
}
"""By name, in the order in which tables show them."""

__all__ = ["MODELS", "Model", "ModelError", "Prediction", "Question"]
