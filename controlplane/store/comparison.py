"""Two trials that should have measured the same: what differs, and where first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..contract.manifest import Manifest
from ..contract.model import JsonObject
from ..contract.trial import TrialDigests, TrialRecord
from .digests import digest_captures, digest_tables, plain_values
from .documents import read_document
from .errors import TRIAL_REMEDY, damaged
from .parquet import BATCH_ROWS

Kind = Literal["table", "capture", "fact", "sealed", "environment"]
NOTHING = "nothing"
"""Stands for a column or a row that one of the tables does not have."""

TIMES = ("t_ns", "enqueue_ns")
"""Columns that say when in the trial a row is of."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was.

    Attributes:
        kind: A table, a capture or another fact of the trial; a file that was changed after it
            was sealed; or something that every trial of a run depends on.
        recorded: What was recorded: the first value that differs, or a digest.
        repeated: What the repetition has in its place.
        row: The row of a table, from 0; None: in none.
        column: The table's column, or the fact's key; empty: none.
        place: Whose row it is, and when in the trial, as far as the table says.
    """

    kind: Kind
    name: str
    recorded: Any
    repeated: Any
    row: int | None = None
    column: str = ""
    place: str = ""

    def __str__(self) -> str:
        if self.kind == "sealed":
            return f"{self.name} was changed after the trial was sealed"
        name = self.name if self.kind == "environment" else f"{self.kind} {self.name}"
        row = "" if self.row is None else f", row {self.row}"
        row += f" ({self.place})" if self.place else ""
        column = f", {self.column}" if self.column else ""
        return f"{name}{row}{column}: {self.recorded} recorded, {self.repeated} repeated"


@dataclass(frozen=True)
class RepeatedTrial:
    """A trial and its repetition.

    Attributes:
        digest: The digest that was sealed with it.
        differences: Everything that differs; of a table the first place.
    """

    id: str
    digest: str
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Whether it measured the same again."""
        return not self.differences


def compare_trials(sealed: Path, repeated: Path) -> RepeatedTrial:
    """Hold a repetition against the sealed trial.

    Args:
        sealed: Folder of the sealed trial.
        repeated: Folder of its repetition.

    Raises:
        RunError: A file of one of them is damaged.
    """
    records = _record(sealed), _record(repeated)
    digests = records[0].digests, records[1].digests
    differences = [
        *_changed(sealed, digests[0]),
        *_of_tables(sealed, repeated, digests),
        *_of_digests("capture", digests[0].captures, digests[1].captures),
        *_of_facts(records, digests),
    ]
    return RepeatedTrial(records[0].id, digests[0].trial, tuple(differences))


def environment_differences(recorded: Manifest, repeated: Manifest) -> tuple[Difference, ...]:
    """What two runs depend on and do not have in common: programs, kernels, settings of hosts."""
    found = _of_values("environment", "", _environment(recorded), _environment(repeated))
    return tuple(found)


@dataclass(frozen=True)
class TableDifference:
    """The first difference of two tables: in the first row that differs, its first column.

    Attributes:
        row: The row, from 0; None: the tables' columns differ.
        first: What the first table has there: a value, or the type of the column.
        place: Whose row it is, and when, as far as the table says.
    """

    row: int | None
    column: str
    first: Any
    second: Any
    place: str = ""


def first_difference(first: Path, second: Path) -> TableDifference | None:
    """Find the first difference of two tables; both are read in batches.

    Args:
        first: A Parquet file.
        second: Another one.

    Returns:
        The difference; None: the contents are equal.

    Raises:
        RunError: A file is missing or damaged.
    """
    with _opened(first) as one, _opened(second) as other:
        difference = _of_columns(one.schema_arrow, other.schema_arrow)
        if difference is not None:
            return difference
        row = 0
        for left, right in _aligned(_batches(one, first), _batches(other, second)):
            difference = _of_rows(left, right, row)
            if difference is not None:
                return difference
            row += left.num_rows if left is not None else 0
    return None


def _record(folder: Path) -> TrialRecord:
    return read_document(folder / "trial.json", TrialRecord, TRIAL_REMEDY)


def _changed(folder: Path, digests: TrialDigests) -> Iterator[Difference]:
    """Tables and captures that are not what was sealed."""
    recorded = {f"{name}.parquet": digest for name, digest in digests.tables.items()}
    now = {f"{name}.parquet": digest for name, digest in digest_tables(folder).items()}
    yield from _of_digests("sealed", recorded | digests.captures, now | digest_captures(folder))


def _of_tables(
    sealed: Path, repeated: Path, digests: tuple[TrialDigests, TrialDigests]
) -> Iterator[Difference]:
    for each in _of_digests("table", digests[0].tables, digests[1].tables):
        files = [folder / f"{each.name}.parquet" for folder in (sealed, repeated)]
        first = first_difference(files[0], files[1]) if all(f.is_file() for f in files) else None
        if first is None:
            yield each
        else:
            values = first.first, first.second
            yield Difference("table", each.name, *values, first.row, first.column, first.place)


def _of_facts(
    records: tuple[TrialRecord, TrialRecord], digests: tuple[TrialDigests, TrialDigests]
) -> Iterator[Difference]:
    """The facts that differ; with the key and its values, where the record has them."""
    values = [_facts(record) for record in records]
    for each in _of_digests("fact", digests[0].facts, digests[1].facts):
        one, other = (value.get(each.name, {}) for value in values)
        yield next(iter(_of_values("fact", each.name, one, other)), each)


def _facts(record: TrialRecord) -> dict[str, JsonObject]:
    return {
        "applied": record.applied.model_dump(mode="json"),
        "lane": record.lane_counters.model_dump(mode="json", exclude={"lateness"}),
        "losses": record.ports_delta,
    }


def _environment(manifest: Manifest) -> JsonObject:
    kernels = {
        f"guest kernel {name}".rstrip(): f"{kernel.release} (binary {kernel.binary_digest})"
        for name, kernel in manifest.guest_kernels.items()
    }
    return {
        "P4 artefact": manifest.artefact_digest,
        "data plane": manifest.software.get("dataplane", NOTHING),
        **kernels,
        **manifest.guest_programs,
        "CPU": manifest.host.get("cpu_family", NOTHING),
        **{f"sysctl {name}": value for name, value in manifest.sysctls.items()},
    }


def _of_digests(
    kind: Kind, recorded: Mapping[str, str], repeated: Mapping[str, str]
) -> Iterator[Difference]:
    for name in dict.fromkeys([*recorded, *repeated]):
        one, other = recorded.get(name, NOTHING), repeated.get(name, NOTHING)
        if one != other:
            yield Difference(kind, name, one, other)


def _of_values(
    kind: Kind, name: str, recorded: Mapping[str, Any], repeated: Mapping[str, Any]
) -> Iterator[Difference]:
    """Keys with different values: of a fact, or of the environment, where a key is a name."""
    for key in dict.fromkeys([*recorded, *repeated]):
        one, other = recorded.get(key, NOTHING), repeated.get(key, NOTHING)
        if one != other:
            yield Difference(kind, name or key, one, other, column=key if name else "")


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error


def _batches(file: pq.ParquetFile, path: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from (b for b in file.iter_batches(BATCH_ROWS, use_threads=False) if b.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error


def _aligned(
    first: Iterator[pa.RecordBatch], second: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch | None, pa.RecordBatch | None]]:
    """Batches of one length, however the files are cut; at the end of the shorter one, None."""
    left, right = next(first, None), next(second, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left = left.slice(rows) if rows < left.num_rows else next(first, None)
        right = right.slice(rows) if rows < right.num_rows else next(second, None)
    yield left, right


def _of_columns(first: pa.Schema, second: pa.Schema) -> TableDifference | None:
    kinds = [{field.name: str(field.type) for field in schema} for schema in (first, second)]
    for name in dict.fromkeys([*kinds[0], *kinds[1]]):
        left, right = (kind.get(name, NOTHING) for kind in kinds)
        if left != right:
            return TableDifference(None, name, left, right)
    for left, right in zip(*kinds, strict=True):
        if left != right:
            return TableDifference(None, left, "here", f"column {right}")
    return None


def _of_rows(
    left: pa.RecordBatch | None, right: pa.RecordBatch | None, row: int
) -> TableDifference | None:
    """The first difference of two batches of one length, of which the first row is `row`."""
    longer = left if left is not None else right
    if longer is None:
        return None
    if left is None or right is None:
        name = longer.schema.names[0]
        one, other = (
            NOTHING if batch is None else batch.column(0)[0].as_py() for batch in (left, right)
        )
        return TableDifference(row, name, one, other, _place_in_trial(longer, 0))
    places = [
        _first_place(one, other) for one, other in zip(left.columns, right.columns, strict=True)
    ]
    known = [place for place in places if place is not None]
    if not known:
        return None
    column = places.index(min(known))
    one, other = (batch.column(column)[min(known)].as_py() for batch in (left, right))
    place = _place_in_trial(left, min(known))
    return TableDifference(row + min(known), left.schema.names[column], one, other, place)


def _place_in_trial(batch: pa.RecordBatch, row: int) -> str:
    told = [f"flow {batch.column('flow')[row]}"] if "flow" in batch.schema.names else []
    for name in [name for name in TIMES if name in batch.schema.names][:1]:
        at_ns = batch.column(name)[row].as_py()
        told += [] if at_ns is None else [f"at {at_ns / 1e9:.9f} s"]
    return " ".join(told)


def _first_place(first: pa.Array, second: pa.Array) -> int | None:
    """The first place at which two columns of one length differ."""
    differ = _nulls(first) != _nulls(second)
    one, other = plain_values(first), plain_values(second)
    differ |= (one != other) & ~((one != one) & (other != other))  # noqa: PLR0124 - a NaN is like a NaN
    return int(np.argmax(differ)) if differ.any() else None


def _nulls(column: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))
