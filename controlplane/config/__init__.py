"""YAML files -> contract models, with errors that name file, line, key and remedy."""

from .cca import (
    available_ccas,
    check_strategies,
    configured_ccas,
    find_ccas,
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
    "available_ccas",
    "check_strategies",
    "check_utility",
    "configured_ccas",
    "find_ccas",
    "load_cluster",
    "load_scenario",
    "load_testbed",
    "parse_cluster",
    "parse_scenario",
    "parse_testbed",
    "takes_modules",
]
