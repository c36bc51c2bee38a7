"""Targets: six operations, intent in, truth out."""

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

__all__ = [
    "Counters",
    "DpdkTarget",
    "FlowEntry",
    "GroupDelay",
    "LaneProgram",
    "Target",
    "TelemetryPlan",
    "TelemetryStream",
    "TelemetryTotals",
]
