"""What the analysis cannot tell."""

from __future__ import annotations


class NotMeasuredError(Exception):
    """A metric cannot be had from the telemetry that a trial kept; the text says why."""
