"""Bring a trial's tables onto one set of axes: the measured window, and flows 0 to F - 1."""

from .data import FlowSamples, Goodput, QueueTotals, TrialData
from .load import load_trial

__all__ = ["FlowSamples", "Goodput", "QueueTotals", "TrialData", "load_trial"]
