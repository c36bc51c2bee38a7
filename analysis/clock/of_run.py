"""The captures of a whole run: every trial that has some before and behind the bottleneck."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import FinishedRun, once
from nashbed.controlplane.store.staging import write_whole

from .queueing import TapComparison, compare
from .taps import taps_of

MAX_TRIALS = 12
"""Trials of a run that are compared: each is read whole."""
COLUMNS = ("flow", "tcp_seq", "problem", "postcard_ns", "capture_ns")


@dataclass(frozen=True)
class RunTaps:
    """What captures say of a run.

    Attributes:
        compared: The trials that could be compared.
        problems: One line for each that could not.
        left_out: Trials with captures beyond the first MAX_TRIALS.
    """

    compared: tuple[TapComparison, ...]
    problems: tuple[str, ...]
    left_out: int

    def __bool__(self) -> bool:
        return bool(self.compared or self.problems)


@once
def compare_run(run: FinishedRun) -> RunTaps:
    """Compare the valid trials of a run that were captured on both sides."""
    compared: list[TapComparison] = []
    problems: list[str] = []
    left_out = 0
    for trial in run.valid_trials:
        try:
            taps = taps_of(run, trial)
            if taps is None:
                continue
            if len(compared) + len(problems) == MAX_TRIALS:
                left_out += 1
                continue
            compared.append(compare(trial, taps))
        except RunError as error:
            problems.append(error.message)
    return RunTaps(tuple(compared), tuple(dict.fromkeys(problems)), left_out)


def write_mismatches(comparisons: Sequence[TapComparison], folder: Path) -> list[Path]:
    """List every mismatch of each trial in a CSV file of its own; returns the files."""
    paths = []
    for comparison in comparisons:
        if comparison.mismatches:
            paths.append(folder / f"mismatches-{comparison.trial}.csv")
            text = io.StringIO(newline="")
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(COLUMNS)
            for each in comparison.mismatches:
                writer.writerow([getattr(each, name) for name in COLUMNS])
            write_whole(paths[-1], text.getvalue())
    return paths
