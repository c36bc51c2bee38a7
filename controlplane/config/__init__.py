"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .controls import find_controls
from .load import (
    Loaded,
    load_cluster,
    load_scenario,
    load_testbed,
    parse_cluster,
    parse_scenario,
    parse_testbed,
)
from .needs import (
    available_congestion_controls,
    check_strategies,
    check_utility,
    configured_congestion_controls,
    takes_modules,
)

__all__ = [
    "Loaded",
    "available_congestion_controls",
    "check_strategies",
    "check_utility",
    "configured_congestion_controls",
    "find_controls",
    "load_cluster",
    "load_scenario",
    "load_testbed",
    "parse_cluster",
    "parse_scenario",
    "parse_testbed",
    "takes_modules",
]
