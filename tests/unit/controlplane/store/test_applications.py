"""The tables of applications: what sender and sink wrote, joined; nulls for what never was."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from nashbed.controlplane.contract.records import ARRIVED_DATAGRAM, SEGMENT, SENT_DATAGRAM
from nashbed.controlplane.contract.shared import CONSTANTS
from nashbed.controlplane.store.applications import (
    read_datagrams,
    read_segments,
    write_datagrams,
    write_segments,
)

T0 = 1_000


def test_datagrams_are_joined_by_flow_and_number(tmp_path: Path) -> None:
    sent = [(T0 + 5, 1, 0, 200, 0), (T0 + 6, 0, 0, 100, 0), (T0 + 7, 1, 1, 200, 0)]
    arrived = [(T0 + 30, 1, 1), (T0 + 25, 0, 0), (T0 + 40, 1, 1)]
    np.array(sent, SENT_DATAGRAM).tofile(tmp_path / CONSTANTS.sent_file)
    np.array(arrived, ARRIVED_DATAGRAM).tofile(tmp_path / CONSTANTS.arrived_file)
    joined = read_datagrams(tmp_path, T0)
    assert joined["copies"].tolist() == [1, 0, 2]
    assert write_datagrams(tmp_path, [joined]) == 3
    table = pq.read_table(tmp_path / "datagrams.parquet").to_pydict()
    assert table == {
        "flow": [0, 1, 1],
        "seq": [0, 0, 1],
        "bytes": [100, 200, 200],
        "sent_ns": [6, 5, 7],
        "arrived_ns": [25, None, 30],
    }


def test_a_segment_that_never_came_has_no_time(tmp_path: Path) -> None:
    rows = [
        (3, 1, 8, 1, T0 + 9, 0, 0, 4),
        (3, 0, 8, 1, T0 + 1, T0 + 3, 77, 0),
    ]
    np.array(rows, SEGMENT).tofile(tmp_path / CONSTANTS.segments_file)
    assert write_segments(tmp_path, [read_segments(tmp_path, T0)]) == 2
    table = pq.read_table(tmp_path / "segments.parquet").to_pydict()
    assert table["segment"] == [0, 1]
    assert table["requested_ns"] == [1, 9]
    assert table["completed_ns"] == [3, None]
    assert table["buffer_ns"] == [77, None]
    assert table["stalled_ns"] == [0, 4]
