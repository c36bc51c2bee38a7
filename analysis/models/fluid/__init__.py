"""The fluid model: CCAs by their rules, at a drop-tail queue of fluid."""

from .model import MODEL, model_of, validations
from .native import (
    FITTED,
    Course,
    FluidConstants,
    FluidNotBuiltError,
    Outcome,
    ccas,
    simulate,
)

__all__ = [
    "FITTED",
    "MODEL",
    "Course",
    "FluidConstants",
    "FluidNotBuiltError",
    "Outcome",
    "ccas",
    "model_of",
    "simulate",
    "validations",
]
