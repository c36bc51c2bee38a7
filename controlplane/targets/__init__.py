"""Targets: a few operations, intent in, truth out; which one, the testbed says."""

from .base import Counters, Target, TelemetryStream, TelemetryTotals
from .registry import artefact_of, capabilities_of, make_target, preview, resolve
from .switch import Switch, SwitchRegisters

__all__ = [
    "Counters",
    "Switch",
    "SwitchRegisters",
    "Target",
    "TelemetryStream",
    "TelemetryTotals",
    "artefact_of",
    "capabilities_of",
    "make_target",
    "preview",
    "resolve",
]
