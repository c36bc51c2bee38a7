"""Digests follow a table's content and nothing else."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.store.digests import digest_trial, table_digest
from nashbed.controlplane.store.errors import RunError

ROWS = 1000


def table_of(**changes: object) -> pa.Table:
    """A table with a column of each kind that our tables have, some of it replaced."""
    columns: dict[str, object] = {
        "t_ns": np.arange(ROWS, dtype=np.int64) - 500,
        "flow": pa.array(np.arange(ROWS) % 7, pa.uint32()),
        "mean": pa.array(np.arange(ROWS) / 3, mask=np.arange(ROWS) % 10 == 0),
        "cc": pa.array(["cubic", "bbr"] * (ROWS // 2)),
    }
    return pa.table(columns | changes)


def digest_of(folder: Path, table: pa.Table, **options: object) -> str:
    path = folder / "table.parquet"
    pq.write_table(table, path, **options)
    return table_digest(path)


def test_how_a_table_was_written_does_not_matter(tmp_path: Path) -> None:
    usual = digest_of(tmp_path, table_of())
    assert digest_of(tmp_path, table_of(), compression="zstd") == usual
    assert digest_of(tmp_path, table_of(), row_group_size=77, use_dictionary=False) == usual
    assert digest_of(tmp_path, table_of().replace_schema_metadata({"by": "another"})) == usual


def test_a_digest_is_the_same_everywhere(tmp_path: Path) -> None:
    assert digest_of(tmp_path, table_of()) == (
        "033a9acfd9ac8c21ac86b75bf732fd9f69b681c57143f560ee495755d84ab9dd"
    )


@pytest.mark.parametrize(
    "other",
    [
        table_of(t_ns=np.arange(ROWS, dtype=np.int64) - 499),
        table_of(flow=pa.array(np.arange(ROWS) % 7, pa.uint16())),
        table_of(mean=pa.array(np.arange(ROWS) / 3, mask=np.arange(ROWS) % 10 == 1)),
        table_of(mean=pa.array(np.arange(ROWS) / 3)),
        table_of(cc=pa.array(["cubi", "cbbr"] * (ROWS // 2))),
        table_of().rename_columns(["t_ns", "flow", "median", "cc"]),
        table_of().select(["flow", "t_ns", "mean", "cc"]),
        table_of().slice(0, ROWS - 1),
        table_of().take(np.r_[1, 0, 2:ROWS]),
    ],
    ids=["value", "type", "other nulls", "no nulls", "text", "name", "columns", "rows", "order"],
)
def test_every_change_of_the_content_is_seen(tmp_path: Path, other: pa.Table) -> None:
    assert digest_of(tmp_path, other) != digest_of(tmp_path, table_of())


def test_a_null_is_not_a_zero(tmp_path: Path) -> None:
    zero, null = pa.table({"n": pa.array([0])}), pa.table({"n": pa.array([None], pa.int64())})
    assert digest_of(tmp_path, zero) != digest_of(tmp_path, null)


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "flows.parquet").write_bytes(b"no table")
    with pytest.raises(RunError, match=r"flows\.parquet: is damaged"):
        digest_trial(tmp_path, {})


def test_the_digest_of_a_trial_covers_tables_captures_and_facts(tmp_path: Path) -> None:
    def trial_digest(**facts: object) -> str:
        return digest_trial(tmp_path, facts).trial

    pq.write_table(table_of(), tmp_path / "goodput.parquet")
    (tmp_path / "capture.pcap").write_bytes(b"segments")
    digests = digest_trial(tmp_path, {"applied": {"rate_bps": 10, "detail": "ten"}})
    assert set(digests.tables) == {"goodput"}
    assert set(digests.captures) == {"capture.pcap"}
    assert digests.trial == trial_digest(applied={"detail": "ten", "rate_bps": 10})
    assert digests.trial != trial_digest(applied={"detail": "ten", "rate_bps": 11})
    (tmp_path / "capture.pcap").write_bytes(b"segment")
    assert digests.trial != trial_digest(applied={"detail": "ten", "rate_bps": 10})
    (tmp_path / "trial.json").write_text("times and paths are no part of it")
    assert trial_digest() == trial_digest()
