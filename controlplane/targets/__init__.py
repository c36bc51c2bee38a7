"""Targets: a few operations, intent in, truth out; which one, the testbed says."""

from .base import (
    Counters,
    FlowEntry,
    GroupDelay,
    LaneProgram,
    Target,
    TelemetryPlan,
    TelemetryStream,
    TelemetryTotals,
)
from .dpdk import DpdkTarget
from .registry import artefact_of, capabilities_of, make_target, preview, resolve
from .switch import Switch, SwitchRegisters
from .with_hosts import SwitchWithHosts

__all__ = [
    "Counters",
    "DpdkTarget",
    "FlowEntry",
    "GroupDelay",
    "LaneProgram",
    "Switch",
    "SwitchRegisters",
    "SwitchWithHosts",
    "Target",
    "TelemetryPlan",
    "TelemetryStream",
    "TelemetryTotals",
    "artefact_of",
    "capabilities_of",
    "make_target",
    "preview",
    "resolve",
]
