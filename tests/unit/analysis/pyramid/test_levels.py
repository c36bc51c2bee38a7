"""Pyramids: every level adds up to what the packets do, however they are read."""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.align.totals import POSTCARD_COLUMNS, Link, sum_postcards
from nashbed.analysis.metrics.queue import TimeBins
from nashbed.analysis.pyramid.levels import (
    FACTOR,
    LONGEST,
    PIXELS,
    SUMS,
    OpenBins,
    build_pyramid,
    cells_of,
    level_path,
    level_widths_ns,
    make_pyramid,
    merged,
    open_pyramid,
)
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CE
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.sealed_trial import SealedTrial, open_trial
from tests.support.damage import damages
from tests.support.synthetic_run import bins_of

FLOWS = 3
MARKED = "marked_packets"


def first_trial(run: Path) -> SealedTrial:
    return open_trial(sorted((run / "trials").iterdir())[0])


def split_in_groups(trial: SealedTrial, rows: int) -> None:
    """Write the postcards again in many row groups, as long trials have them."""
    path = trial.path / "postcards.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=rows)


def level(folder: Path, width: int) -> dict[str, Any]:
    table = pq.read_table(level_path(folder, width))
    return {name: table.column(name).to_numpy() for name in table.column_names}


def test_each_level_adds_up_to_the_packets(run_copy: Path, tmp_path: Path) -> None:
    trial = first_trial(run_copy)
    split_in_groups(trial, 200)
    record = build_pyramid(trial, tmp_path / "made")
    link = Link((record.first_ns, record.last_ns + 1), trial.record.applied.rate_bps, 0)
    whole = sum_postcards(trial.batches("postcards", POSTCARD_COLUMNS), record.flows, link)
    assert whole.dropped_packets.sum() > 0
    for width in record.widths_ns:
        rows = level(tmp_path / "made", width)
        for name in set(SUMS) - {MARKED}:
            sums = np.zeros(record.flows, np.int64)
            np.add.at(sums, rows["flow"], rows[name])
            assert sums.tolist() == getattr(whole, name).astype(np.int64).tolist(), name


def test_each_bin_is_what_one_packet_at_a_time_gives(run_copy: Path, tmp_path: Path) -> None:
    trial = first_trial(run_copy)
    split_in_groups(trial, 97)
    record = build_pyramid(trial, tmp_path / "made")
    postcards = pq.read_table(trial.path / "postcards.parquet").to_pydict()
    for width in record.widths_ns:
        expected = bins_of({name: np.array(v) for name, v in postcards.items()}, width)
        made = level(tmp_path / "made", width)
        held = (made["departed_packets"] + made["dropped_packets"] + made["occupancy_byte_ns"]) > 0
        rows = np.flatnonzero(held)
        assert (made["bin"][rows] * width).tolist() == expected["bin_start_ns"].tolist()
        assert made["flow"][rows].tolist() == expected["flow"].tolist()
        for name in ("departed_bytes", "departed_packets", "dropped_packets", "dropped_bytes"):
            assert made[name][rows].tolist() == expected[name].tolist(), name
        mean = made["occupancy_byte_ns"][rows] / width
        assert mean.tolist() == pytest.approx(expected["occupancy_bytes_mean"].tolist(), rel=1e-12)


PACKETS = st.lists(
    st.tuples(
        st.integers(0, FLOWS - 1), st.integers(60, 1514), st.integers(-50, 300),
        st.integers(0, 120), st.booleans(),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@pytest.mark.slow
@given(PACKETS, st.integers(1, 9), st.integers(1, 40))
def test_taking_bins_away_early_changes_nothing(
    packets: list[tuple[int, int, int, int, bool]], at_once: int, width: int
) -> None:
    """Not even where packets overtake each other or are dropped late, as by FQ-CoDel."""
    rows = sorted(
        (enqueue + stay, enqueue, flow, size, dropped)
        for flow, size, enqueue, stay, dropped in packets
    )
    columns = {
        "dequeue_ns": np.array([r[0] for r in rows]), "enqueue_ns": np.array([r[1] for r in rows]),
        "flow": np.array([r[2] for r in rows]), "packet_bytes": np.array([r[3] for r in rows]),
        "kind": np.array([int(r[4]) for r in rows]),
        "marks": np.array([MARK_CE * (r[3] % 2) for r in rows]),
    }  # fmt: skip
    first = int(columns["enqueue_ns"].min()) // width

    def parts(size: int) -> list[dict[str, np.ndarray]]:
        bins, taken = OpenBins(FLOWS, width, first), []
        for low in range(0, len(rows), size):
            bins.add({name: values[low : low + size] for name, values in columns.items()})
            later = columns["enqueue_ns"][low + size :]
            taken.append(bins.take(int(later.min()) // width if len(later) else 1 << 40))
        return taken

    (whole,), some = parts(len(rows)), parts(at_once)
    for name in (*SUMS, LONGEST):
        assert np.array_equal(whole[name], np.concatenate([each[name] for each in some])), name


@pytest.mark.parametrize(
    ("marks", "expected"),
    [(np.array([MARK_CE, 0, MARK_CE | 1]), [0, 1]), (np.full(3, np.nan), [0, 0])],
)
def test_marks_count_where_their_packets_left(marks: np.ndarray, expected: list[int]) -> None:
    """The third packet was dropped; a column of NaN is of a queue that marks nothing."""
    chunk = {
        "kind": np.array([0, 0, KIND_DROPPED]), "flow": np.zeros(3, int),
        "packet_bytes": np.full(3, 100), "enqueue_ns": np.array([0, 1, 2]),
        "dequeue_ns": np.array([10, 11, 12]), "marks": marks,
    }  # fmt: skip
    assert cells_of(chunk, 1, TimeBins(0, 10, 2))[MARKED].ravel().tolist() == expected


def test_merged_bins_are_sums_and_the_longest() -> None:
    cells = {name: np.arange(2 * FACTOR).reshape(-1, 1) for name in ("arrived_bytes", LONGEST)}
    result = merged(cells)
    assert result["arrived_bytes"].ravel().tolist() == [6, 22]
    assert result[LONGEST].ravel().tolist() == [3, 7]


@pytest.mark.parametrize(
    ("postcards", "flows", "seconds", "first"),
    [(100_000_000, 10, 1225, 1), (1_000_000, 10, 120, 16), (20_000, 4, 20, 64)],
)
def test_widths_fit_the_trial(postcards: int, flows: int, seconds: int, first: int) -> None:
    widths = level_widths_ns(postcards, flows, seconds * 10**9)
    assert widths[0] == first * 1_000_000
    assert all(b == FACTOR * a for a, b in pairwise(widths))
    assert len(widths) == 1 or widths[-1] * PIXELS <= seconds * 10**9


def test_a_pyramid_is_in_the_run_and_the_trial_stays_as_it_was(
    run_copy: Path, tmp_path: Path
) -> None:
    trial = first_trial(run_copy)
    before = sorted(path.name for path in trial.path.iterdir())
    assert open_pyramid(trial, tmp_path / "cache") is None
    told: list[tuple[int, int]] = []
    folder, record = make_pyramid(trial, tmp_path / "cache", lambda *each: told.append(each))
    assert folder == run_copy / "pyramids" / trial.id
    assert open_pyramid(trial, tmp_path / "cache") == (folder, record)
    assert told[-1] == (record.postcards, record.postcards)
    assert sorted(path.name for path in trial.path.iterdir()) == before
    assert not (tmp_path / "cache").exists()


def test_a_run_that_cannot_be_written_to_has_its_pyramids_in_the_cache(
    run_copy: Path, tmp_path: Path
) -> None:
    (run_copy / "pyramids").write_text("in the way, as a read-only file system is, for root too")
    trial = first_trial(run_copy)
    folder, record = make_pyramid(trial, tmp_path / "cache")
    assert folder.is_relative_to(tmp_path / "cache")
    assert open_pyramid(trial, tmp_path / "cache") == (folder, record)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        make_pyramid(trial, tmp_path / "file")


def test_a_stale_pyramid_is_none(run_copy: Path, tmp_path: Path) -> None:
    trial = first_trial(run_copy)
    folder, _ = make_pyramid(trial, tmp_path)
    path = trial.path / "postcards.parquet"
    table = pq.read_table(path)
    longer = pa.concat_tables([table, table.slice(0, 1)])
    pq.write_table(longer, path)
    assert open_pyramid(trial, tmp_path) is None
    made = make_pyramid(trial, tmp_path)
    assert open_pyramid(trial, tmp_path) == made
    said = json.loads((folder / "pyramid.json").read_text())
    (folder / "pyramid.json").write_text(json.dumps(said | {"format": 0}))
    assert open_pyramid(trial, tmp_path) is None
    (folder / "pyramid.json").write_text("{")
    assert open_pyramid(trial, tmp_path) is None


def test_a_damaged_pyramid_is_none(run_copy: Path, tmp_path: Path) -> None:
    trial = first_trial(run_copy)
    folder, record = make_pyramid(trial, tmp_path)
    for damage in damages(folder, seed=4):
        assert open_pyramid(trial, tmp_path) is None, damage
    assert open_pyramid(trial, tmp_path) == (folder, record)


def test_damaged_postcards_are_named_and_leave_no_pyramid(run_copy: Path, tmp_path: Path) -> None:
    trial = first_trial(run_copy)
    path = trial.path / "postcards.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"\xff" * (
        len(content) // 2 - len(content) // 3
    )
    path.write_bytes(bytes(content))
    with pytest.raises(RunError, match="postcards"):
        make_pyramid(trial, tmp_path)
    assert list((run_copy / "pyramids").iterdir()) == []


def test_a_trial_without_packets_has_an_empty_pyramid(run_copy: Path, tmp_path: Path) -> None:
    trial = first_trial(run_copy)
    path = trial.path / "postcards.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    folder, record = make_pyramid(trial, tmp_path)
    assert (record.postcards, len(record.widths_ns)) == (0, 1)
    assert pq.read_table(level_path(folder, record.widths_ns[0])).num_rows == 0
    shutil.rmtree(folder)
