"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .kernel import available_congestion_controls, check_strategies
from .load import Loaded, load_scenario, load_testbed, parse_scenario, parse_testbed
from .utility import check_utility

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
