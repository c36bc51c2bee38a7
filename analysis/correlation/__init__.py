"""What CUBIC and BBR really do in the queue, and which of the model's assumptions hold.

One idea per file; `of_run` applies them to every valid trial of a run.
"""

from .answer import correlation_answer
from .of_run import RunCorrelation, correlate_run, mix_readings, mix_text

__all__ = ["RunCorrelation", "correlate_run", "correlation_answer", "mix_readings", "mix_text"]
