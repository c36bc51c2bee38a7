"""Payoff tables from trials, and their equilibria."""
