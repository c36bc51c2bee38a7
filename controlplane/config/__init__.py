"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .load import Loaded, load_scenario, load_testbed, parse_scenario, parse_testbed
from .needs import (
    available_congestion_controls,
    check_strategies,
    check_utility,
    configured_congestion_controls,
)

__all__ = [
    "Loaded",
    "available_congestion_controls",
    "check_strategies",
    "check_utility",
    "configured_congestion_controls",
    "load_scenario",
    "load_testbed",
    "parse_scenario",
    "parse_testbed",
]
