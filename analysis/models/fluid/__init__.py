"""The fluid model: congestion controls by their rules, at a drop-tail queue of fluid."""

from .competition import Competition, FlowKind, competition_among, competition_of
from .constants import FITTED, FluidConstants
from .model import MODEL
from .native import FluidNotBuiltError, controls, simulate
from .outcome import Course, Outcome
from .seconds import model_of, validations

__all__ = [
    "FITTED",
    "MODEL",
    "Competition",
    "Course",
    "FlowKind",
    "FluidConstants",
    "FluidNotBuiltError",
    "Outcome",
    "competition_among",
    "competition_of",
    "controls",
    "model_of",
    "simulate",
    "validations",
]
