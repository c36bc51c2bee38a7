"""The segments of a trial's video."""

import numpy as np
from nashbed.controlplane.store.errors import TRIAL_REMEDY, damaged
from nashbed.controlplane.store.sealed_trial import SealedTrial

from .data import Segments

COLUMNS = ("flow", "segment", "bitrate_bps", "requested_ns", "completed_ns", "buffer_ns")


def load_segments(trial: SealedTrial, flows: int) -> Segments | None:
    """The segments of a trial by flow and number; None: it has no video.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.has("segments"):
        return None
    table = trial.arrays("segments", COLUMNS)
    last = int(table["flow"].max(initial=0))
    if last >= flows:
        problem = f"holds flow {last}, but the trial has {flows} flows"
        raise damaged(trial.path / "segments.parquet", problem, TRIAL_REMEDY)
    order = np.lexsort((table["segment"], table["flow"]))
    return Segments(
        flow=table["flow"][order].astype(np.int64),
        bitrate_bps=table["bitrate_bps"][order].astype(np.float64),
        requested_ns=table["requested_ns"][order].astype(np.int64),
        completed_ns=table["completed_ns"][order].astype(np.float64),
        buffer_ns=table["buffer_ns"][order].astype(np.float64),
    )
