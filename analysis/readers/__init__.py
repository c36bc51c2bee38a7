"""Open a run directory, its sealed trials and their tables."""

from .run import DamagedTrial, Run, open_run
from .trial import Trial

__all__ = ["DamagedTrial", "Run", "Trial", "open_run"]
