"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .controls import (
    available_congestion_controls,
    check_strategies,
    configured_congestion_controls,
    find_controls,
    takes_modules,
)
from .load import (
    Loaded,
    check_utility,
    load_cluster,
    load_scenario,
    load_testbed,
    parse_cluster,
    parse_scenario,
    parse_testbed,
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
