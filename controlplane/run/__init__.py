"""Scenario -> plan -> trials -> sealed run directory."""
