"""TCP_INFO samples of the senders: flow_samples.bin -> flow_samples.parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from ..contract.records import FLOW_SAMPLE
from .parquet import TableLayout, write_table
from .raw_files import read_generator_file

BBR_GAIN_UNIT = 256.0
"""What BBR's gains are counted in, in the kernel and in the raw records."""
_BBR_GAINS = ("bbr_pacing_gain", "bbr_cwnd_gain")
_BBR_COLUMNS = {
    "bbr_bw_bps": pa.uint64(),
    "bbr_min_rtt_us": pa.uint32(),
    **dict.fromkeys(_BBR_GAINS, pa.float64()),
    "bbr_mode": pa.uint32(),
}

FLOW_SAMPLES = TableLayout(
    "flow_samples",
    pa.schema(
        [
            (name, _BBR_COLUMNS.get(name, pa.from_numpy_dtype(FLOW_SAMPLE[name])))
            for name in FLOW_SAMPLE.names or ()
        ]
    ),
)
"""One TCP_INFO sample; the bbr_ columns are null where has_bbr is 0, and bbr_mode is null where it
is not told, as by the kernel's BBR."""


def read_flow_samples(path: Path, t0_ns: int) -> NDArray[Any]:
    """Read the sender's samples as records, with times after t0.

    Args:
        path: The flow generator's file.
        t0_ns: The trial's t0 on CLOCK_MONOTONIC.

    Raises:
        HostError: The file is missing or cut off.
    """
    records = read_generator_file(path, FLOW_SAMPLE)
    records["t_ns"] -= t0_ns
    return records


def write_flow_samples(folder: Path, records: NDArray[Any]) -> int:
    """Write the table of a trial in `folder`; returns its number of rows."""
    columns: dict[str, Any] = {name: records[name] for name in FLOW_SAMPLES.schema.names}
    for name, kind in _BBR_COLUMNS.items():
        values = records[name] / BBR_GAIN_UNIT if name in _BBR_GAINS else records[name].copy()
        missing = records["has_bbr"] == 0
        if name == "bbr_mode":
            missing |= records[name] == 0
        columns[name] = pa.array(values, kind, mask=missing)
    return write_table(folder, FLOW_SAMPLES, [columns])
