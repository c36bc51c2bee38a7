"""What held frames up on its way into the tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.records import DISTURBANCE, PAUSE
from nashbed.controlplane.store.tables import (
    DISTURBANCES,
    PAUSES,
    read_disturbances,
    read_pauses,
    write_disturbances,
    write_pauses,
)


def test_times_are_after_t0_and_every_column_is_kept(tmp_path: Path) -> None:
    raw = np.zeros(2, DISTURBANCE)
    for place, name in enumerate(DISTURBANCES.schema.names):
        raw[name] = [1000 + place, 2000 + place]
    raw.tofile(tmp_path / "disturbances.bin")
    records = read_disturbances(tmp_path / "disturbances.bin", 1500)
    assert write_disturbances(tmp_path, records) == 2
    columns = pq.read_table(tmp_path / "disturbances.parquet").to_pydict()
    assert list(columns) == DISTURBANCES.schema.names
    assert columns.pop("t_ns") == [-500, 500]
    assert list(columns.values()) == [[1000 + n, 2000 + n] for n in range(1, len(columns) + 1)]


def test_pauses_are_kept(tmp_path: Path) -> None:
    np.array([(10**15 + 5, 2**40), (10**15 + 7, 3)], PAUSE).tofile(tmp_path / "pauses.bin")
    assert write_pauses(tmp_path, read_pauses(tmp_path / "pauses.bin", 10**15)) == 2
    assert pq.read_table(tmp_path / "pauses.parquet").to_pydict() == {
        "t_ns": [5, 7], "length_ns": [2**40, 3],
    }  # fmt: skip


def test_a_trial_without_pauses_has_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "pauses.bin").touch()
    assert write_pauses(tmp_path, read_pauses(tmp_path / "pauses.bin", 0)) == 0
    assert pq.read_schema(PAUSES.path(tmp_path)).names == ["t_ns", "length_ns"]


def test_a_file_that_is_missing_or_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="did not write this file"):
        read_disturbances(tmp_path / "disturbances.bin", 0)
    (tmp_path / "pauses.bin").write_bytes(bytes(17))
    with pytest.raises(TargetError, match="ends in the middle of a record"):
        read_pauses(tmp_path / "pauses.bin", 0)
