"""YAML files -> contract models, with errors that name file, line, key and remedy."""

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
    "check_utility",
    "load_cluster",
    "load_scenario",
    "load_testbed",
    "parse_cluster",
    "parse_scenario",
    "parse_testbed",
]
