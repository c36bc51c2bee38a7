"""How much a testbed carries at once with every validity gate passing: measured."""

from .bed import Lanes, why_not
from .level import ShowLine
from .measure import Capacities, LaneCount, check_machine, measure_lanes

__all__ = [
    "Capacities",
    "LaneCount",
    "Lanes",
    "ShowLine",
    "check_machine",
    "measure_lanes",
    "why_not",
]
