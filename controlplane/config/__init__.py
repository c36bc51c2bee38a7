"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .kernel import available_congestion_controls, check_strategies
from .load import Loaded, load_scenario, load_testbed, parse_scenario, parse_testbed

__all__ = [
    "Loaded",
    "available_congestion_controls",
    "check_strategies",
    "load_scenario",
    "load_testbed",
    "parse_scenario",
    "parse_testbed",
]
