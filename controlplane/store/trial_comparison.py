"""Two trials that should have measured the same: what differs, and where first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..contract.manifest import Manifest
from ..contract.trial import TrialDigests, TrialRecord
from .digests import digest_captures, digest_tables
from .documents import read_document
from .errors import TRIAL_REMEDY, damaged
from .table_difference import NOTHING, first_difference

Kind = Literal["table", "capture", "fact", "sealed", "environment"]


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was.

    Attributes:
        kind: A table, a capture or another fact of the trial; a file that was changed after it
            was sealed; or something that every trial of a run depends on.
        name: Its name.
        recorded: What was recorded: the first value that differs, or a digest.
        repeated: What the repetition has in its place.
        row: The row of a table, from 0; None: in none.
        column: The table's column, or the fact's key; empty: none.
    """

    kind: Kind
    name: str
    recorded: Any
    repeated: Any
    row: int | None = None
    column: str = ""

    def __str__(self) -> str:
        if self.kind == "sealed":
            return f"{self.name} was changed after the trial was sealed"
        name = self.name if self.kind == "environment" else f"{self.kind} {self.name}"
        row = "" if self.row is None else f", row {self.row}"
        column = f", {self.column}" if self.column else ""
        return f"{name}{row}{column}: {self.recorded} recorded, {self.repeated} repeated"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class RepeatedTrial:
    """A trial and its repetition.

    Attributes:
        id: The trial's id.
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "trial": self.id,
            "equal": self.equal,
            "digest": self.digest,
            "differences": [each.to_dict() for each in self.differences],
        }


def compare_trials(sealed: Path, repeated: Path) -> RepeatedTrial:
    """Hold a repetition against the sealed trial.

    Args:
        sealed: Folder of the sealed trial.
        repeated: Folder of its repetition.

    Raises:
        RunError: A file of one of them is damaged, or it has no digests.
    """
    records = _record(sealed), _record(repeated)
    digests = digests_of(sealed, records[0]), digests_of(repeated, records[1])
    differences = [
        *_changed(sealed, digests[0]),
        *_of_tables(sealed, repeated, digests),
        *_of_digests("capture", digests[0].captures, digests[1].captures),
        *_of_facts(records, digests),
    ]
    return RepeatedTrial(records[0].id, digests[0].trial, tuple(differences))


def environment_differences(recorded: Manifest, repeated: Manifest) -> tuple[Difference, ...]:
    """What two runs depend on and do not have in common: programs, kernels, settings of hosts."""
    return tuple(
        _of_values("environment", "", _environment(recorded), _environment(repeated)),
    )


def digests_of(folder: Path, record: TrialRecord) -> TrialDigests:
    """The digests that were sealed with a trial; raises RunError when there are none."""
    if record.digests is None:
        problem = "has no digests: an earlier version of nashbed sealed it"
        raise damaged(folder / "trial.json", problem, "run the scenario again")
    return record.digests


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
        place = first_difference(files[0], files[1]) if all(f.is_file() for f in files) else None
        if place is None:
            yield each
        else:
            yield Difference("table", each.name, place.first, place.second, place.row, place.column)


def _of_facts(
    records: tuple[TrialRecord, TrialRecord], digests: tuple[TrialDigests, TrialDigests]
) -> Iterator[Difference]:
    """The facts that differ; with the key and its values, where the record has them."""
    values = [_facts(record) for record in records]
    for each in _of_digests("fact", digests[0].facts, digests[1].facts):
        one, other = (value.get(each.name, {}) for value in values)
        yield next(iter(_of_values("fact", each.name, one, other)), each)


def _facts(record: TrialRecord) -> dict[str, dict[str, Any]]:
    return {
        "applied": record.applied.model_dump(mode="json"),
        "lane": record.lane_counters.model_dump(mode="json", exclude={"lateness"}),
        "losses": record.ports_delta,
    }


def _environment(manifest: Manifest) -> dict[str, Any]:
    kernels = {
        f"guest kernel {name}".rstrip(): f"{kernel.release} (binary {kernel.binary_digest})"
        for name, kernel in manifest.guest_kernels.items()
    }
    return {
        "P4 artefact": manifest.artefact_digest,
        "data plane": manifest.software.get("dataplane", NOTHING),
        **kernels,
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
