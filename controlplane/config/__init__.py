"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .load import Loaded, load_scenario, load_testbed, parse_scenario, parse_testbed
from .needs import available_congestion_controls, check_strategies, check_utility

__all__ = [
    "Loaded",
    "available_congestion_controls",
    "check_strategies",
    "check_utility",
    "load_scenario",
    "load_testbed",
    "parse_scenario",
    "parse_testbed",
]
