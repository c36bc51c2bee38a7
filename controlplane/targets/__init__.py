"""Targets: a few operations, intent in, truth out; which one, the testbed says."""

from .base import Finding, Switch, SwitchRegisters, Target, TelemetryStream
from .registry import artefact_of, capabilities_of, examine, make_target, preview, resolve

__all__ = [
    "Finding",
    "Switch",
    "SwitchRegisters",
    "Target",
    "TelemetryStream",
    "artefact_of",
    "capabilities_of",
    "examine",
    "make_target",
    "preview",
    "resolve",
]
