"""How telemetry goes with throughput: the queue's shares, CUBIC's losses, BBR's path.

Pure functions, one per file; `of_run` applies them to every valid trial of a run.
"""

from .of_run import RunCorrelation, correlate_run, correlation_dict, mix_readings

__all__ = ["RunCorrelation", "correlate_run", "correlation_dict", "mix_readings"]
