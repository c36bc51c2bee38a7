"""What a client and its workers say to each other, as plain data.

Nothing of ours is pickled but the name of a function: what a worker runs is its own nashbed, and of
a scenario nothing but the C files of its congestion controls.
"""

from __future__ import annotations

import hashlib

from ..contract.lab_facts import LabFacts
from ..contract.model import ContractModel
from ..contract.plan import PlannedTrial
from .identity import Identity
from .parcel import Parcel


class ControlSource(ContractModel):
    """A congestion control that comes from C files.

    Attributes:
        name: What flows ask for.
        source: Its own file, one of `files`.
        digest: As in `ControlFile`.
        files: Path within a folder -> text; empty of one that nashbed brings along.
    """

    name: str
    source: str
    digest: str
    files: dict[str, str]


class RunBundle(ContractModel):
    """What all trials of a run have in common.

    Attributes:
        run: Name that the run has on its workers, and nobody else's run has.
        directory: Name of the run directory.
        scenario: Text of the scenario file.
        testbed: Text of the testbed file that the run was planned for.
        identity: What a worker must have in common with the client.
        controls: The congestion controls that are not the kernel's own.
        window_bytes: The most that a flow of any trial may have in flight.
        shared: Folder on a shared file system, for large tables; empty: there is none.
    """

    run: str
    directory: str
    scenario: str
    testbed: str
    identity: Identity
    controls: tuple[ControlSource, ...]
    window_bytes: int
    shared: str = ""

    @property
    def resource(self) -> str:
        """The Dask resource that a worker declares once it has been found fit for this run."""
        digest = hashlib.sha256(self.model_dump_json().encode()).hexdigest()
        return f"nashbed-{self.run}-{digest[:12]}"


class TrialRequest(ContractModel):
    """A trial for a worker.

    Attributes:
        run: As in `RunBundle`.
        trial: What is planned.
        attempt: Which attempt at it.
    """

    run: str
    trial: PlannedTrial
    attempt: int


class Failure(ContractModel):
    """Why a worker has no sealed trial.

    Attributes:
        kind: Name of the error's class.
        message: In words, with the worker's machine.
        is_ours: Whether it is a mistake of nashbed's own.
    """

    kind: str
    message: str
    is_ours: bool


class Outcome(ContractModel):
    """What came of a trial on a worker: a sealed trial, or a failure.

    Attributes:
        worker: Address of the worker.
        lab: What the trial ran on.
        parcel: The sealed trial.
        failure: Why there is none.
    """

    worker: str
    lab: LabFacts | None = None
    parcel: Parcel | None = None
    failure: Failure | None = None
