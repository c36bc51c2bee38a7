"""Trials that take no time: a worker answers with one that was run before, under the asked name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import get_worker

from ..cluster.parcel import Parcel, pack, unpack
from ..cluster.request import TrialAssignment, TrialOutcome
from ..cluster.worker import tell_start
from ..contract.trial import TrialRecord
from ..store.documents import read_document, write_document
from ..store.staging import scratch_folder

RECORD = "trial.json"


@dataclass(frozen=True)
class Stored:
    """What workers answer with.

    Attributes:
        outcome: Of the trial that was run, without its parcel.
        folder: A parcel for each trial that may be asked for; worker and client both see it.
    """

    outcome: TrialOutcome
    folder: Path


_STORED: list[Stored] = []
"""Of this process: what every trial returns."""


def store(outcome: TrialOutcome, trials: Iterable[str], folder: Path) -> Stored:
    """Pack a trial that was run under the names of others: only what was asked for is sealed.

    Args:
        outcome: The trial's.
        trials: The others' ids.
        folder: Where the parcels go; it is made.
    """
    folder.mkdir()
    parcel = Parcel.from_bytes(outcome.parcel)
    with scratch_folder("bench", folder) as work:
        place = work / "trial"
        unpack(parcel, place)
        record = read_document(place / RECORD, TrialRecord, "run the trial again")
        for trial in trials:
            write_document(place / RECORD, record.model_copy(update={"id": trial}))
            named = place.with_name(trial)
            named.symlink_to(place)
            (folder / trial).write_bytes(pack(named).to_bytes())
    return Stored(replace(outcome, parcel=b""), folder)


def keep(stored: Stored) -> None:
    """On a worker: answer with this from now on.

    Args:
        stored: What `store` has made.
    """
    _STORED[:] = [stored]


def stored_trial(text: str) -> TrialOutcome:
    """Do what `run_trial` does, but for the trial and its packing.

    Args:
        text: A `TrialAssignment`, as JSON.
    """
    worker, (stored,) = get_worker(), _STORED
    asked = TrialAssignment.model_validate_json(text)
    tell_start(worker, asked)
    parcel = (stored.folder / asked.trial.attempt_id(asked.attempt)).read_bytes()
    return replace(stored.outcome, worker=worker.address, parcel=parcel)
