"""The first difference of two tables is named, wherever it is."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.store.comparison import TableDifference, first_difference
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.parquet import BATCH_ROWS

ROWS = BATCH_ROWS + 1000
LAST = ROWS - 1


def written(path: Path, changes: dict[str, Any] | None = None, group: int = 10**6) -> Path:
    """A table of more than one batch, some of its columns replaced."""
    columns: dict[str, Any] = {
        "t_ns": np.arange(ROWS, dtype=np.int64),
        "mean": pa.array(np.full(ROWS, np.nan), mask=np.arange(ROWS) % 2 == 0),
        "cc": pa.array(["bbr"] * ROWS),
    }
    pq.write_table(pa.table(columns | (changes or {})), path, row_group_size=group)
    return path


def changed(row: int, value: int) -> Any:
    t_ns = np.arange(ROWS, dtype=np.int64)
    t_ns[row] = value
    return t_ns


def at(row: int) -> str:
    """Where in the trial a row of `written` is."""
    return f"at {row / 1e9:.9f} s"


def text_at(row: int, text: str | None) -> Any:
    texts: list[str | None] = ["bbr"] * ROWS
    texts[row] = text
    return pa.array(texts, pa.string())


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({}, None),
        ({"t_ns": changed(LAST, 7)}, TableDifference(LAST, "t_ns", LAST, 7, at(LAST))),
        ({"cc": text_at(3, None)}, TableDifference(3, "cc", "bbr", None, at(3))),
        ({"cc": text_at(3, "")}, TableDifference(3, "cc", "bbr", "", at(3))),
        (
            {"cc": text_at(5, "cubic"), "t_ns": changed(5, 7)},
            TableDifference(5, "t_ns", 5, 7, at(5)),
        ),
        (
            {"cc": text_at(4, "cubic"), "t_ns": changed(5, 7)},
            TableDifference(4, "cc", "bbr", "cubic", at(4)),
        ),
        (
            {"t_ns": np.arange(ROWS, dtype=np.int32)},
            TableDifference(None, "t_ns", "int64", "int32"),
        ),
        (
            {"more": np.arange(ROWS)},
            TableDifference(None, "more", "nothing", "int64"),
        ),
    ],
)
def test_the_first_row_and_its_first_column(
    tmp_path: Path, changes: dict[str, Any], difference: TableDifference | None
) -> None:
    first = written(tmp_path / "first.parquet")
    second = written(tmp_path / "second.parquet", changes, group=777)
    assert first_difference(first, second) == difference


def test_a_row_too_few(tmp_path: Path) -> None:
    first = written(tmp_path / "first.parquet")
    second = tmp_path / "second.parquet"
    pq.write_table(pq.read_table(first).slice(0, LAST), second)
    assert first_difference(first, second) == TableDifference(
        LAST, "t_ns", LAST, "nothing", at(LAST)
    )
    assert first_difference(second, first) == TableDifference(
        LAST, "t_ns", "nothing", LAST, at(LAST)
    )


def test_columns_in_another_order(tmp_path: Path) -> None:
    first = written(tmp_path / "first.parquet")
    second = tmp_path / "second.parquet"
    pq.write_table(pq.read_table(first).select(["mean", "t_ns", "cc"]), second)
    difference = first_difference(first, second)
    assert difference is not None
    assert (difference.row, difference.column) == (None, "t_ns")


def test_a_table_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "second.parquet").write_text("no table")
    with pytest.raises(RunError, match=r"second\.parquet: is damaged"):
        first_difference(written(tmp_path / "first.parquet"), tmp_path / "second.parquet")


def test_a_packet_is_named_by_its_flow_and_its_time(tmp_path: Path) -> None:
    tables = [tmp_path / "first.parquet", tmp_path / "second.parquet"]
    for path, sizes in zip(tables, ([100, 1500], [100, 1400]), strict=True):
        packets = {"flow": [0, 3], "packet_bytes": sizes, "enqueue_ns": [10**6, 2_500_000_000]}
        pq.write_table(pa.table(packets), path)
    difference = first_difference(*tables)
    assert difference is not None
    assert difference.place == "flow 3 at 2.500000000 s"
