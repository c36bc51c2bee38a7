"""Calibration: a testbed is proved before it is believed."""
