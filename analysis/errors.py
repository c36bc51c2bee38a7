"""What the analysis cannot measure."""


class NotMeasuredError(Exception):
    """A metric cannot be computed from the telemetry of a trial; the text says why."""
