"""How much a testbed carries at once with every validity gate passing: measured, not believed."""

from .bed import Lanes, why_not
from .level import Tell
from .measure import Capacities, Found, check_machine, measure_lanes

__all__ = [
    "Capacities",
    "Found",
    "Lanes",
    "Tell",
    "check_machine",
    "measure_lanes",
    "why_not",
]
