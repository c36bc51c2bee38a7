"""The tables of a sealed trial. Every time in them is int64 nanoseconds after the trial's t0."""

from __future__ import annotations

from .bins import BINS
from .counters import COUNTERS
from .disturbances import DISTURBANCES, PAUSES
from .flow_samples import FLOW_SAMPLES
from .flows import FLOWS
from .goodput import GOODPUT
from .postcards import POSTCARDS

_LAYOUTS = (
    POSTCARDS,
    BINS,
    FLOW_SAMPLES,
    GOODPUT,
    FLOWS,
    COUNTERS,
    DISTURBANCES,
    PAUSES,
)
TABLES = {table.name: table.schema for table in _LAYOUTS}
"""Table name -> schema; the file of a table is `<name>.parquet`."""

LATER = {FLOW_SAMPLES.name: ("bbr_mode",)}
"""Table name -> columns that trials of earlier versions lack; who reads them gets nulls."""
