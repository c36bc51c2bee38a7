"""Targets: a few operations, intent in, truth out; which one, the testbed says."""

from .base import Counters, Target, TelemetryStream, TelemetryTotals
from .dpdk import DpdkTarget
from .registry import artefact_of, capabilities_of, make_target, preview, resolve
from .switch import Switch, SwitchRegisters
from .with_hosts import SwitchWithHosts

__all__ = [
    "Counters",
    "DpdkTarget",
    "Switch",
    "SwitchRegisters",
    "SwitchWithHosts",
    "Target",
    "TelemetryStream",
    "TelemetryTotals",
    "artefact_of",
    "capabilities_of",
    "make_target",
    "preview",
    "resolve",
]
