"""Scenario to trials: settings, mixes, seeds, resources."""
