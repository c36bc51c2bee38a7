"""Adaptive search over all settings of a run: what to measure next, and when to stop."""
