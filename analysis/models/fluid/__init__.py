"""The fluid model: congestion controls by their rules, at a drop-tail queue of fluid."""

from .model import MODEL, model_of, validations
from .native import (
    FITTED,
    Course,
    FluidConstants,
    FluidNotBuiltError,
    Outcome,
    controls,
    simulate,
)

__all__ = [
    "FITTED",
    "MODEL",
    "Course",
    "FluidConstants",
    "FluidNotBuiltError",
    "Outcome",
    "controls",
    "model_of",
    "simulate",
    "validations",
]
