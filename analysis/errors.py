"""What the analysis cannot measure."""

from __future__ import annotations


class NotMeasuredError(Exception):
    """A metric cannot be computed from the telemetry of a trial; the text says why."""
