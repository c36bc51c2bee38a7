"""Targets: a few operations, intent in, truth out; which one, the testbed says."""

from .base import Target, TelemetryStream
from .dpdk import DpdkTarget
from .registry import artefact_of, capabilities_of, make_target, preview, resolve
from .switch import Switch, SwitchRegisters
from .with_hosts import SwitchWithHosts

__all__ = [
    "DpdkTarget",
    "Switch",
    "SwitchRegisters",
    "SwitchWithHosts",
    "Target",
    "TelemetryStream",
    "artefact_of",
    "capabilities_of",
    "make_target",
    "preview",
    "resolve",
]
