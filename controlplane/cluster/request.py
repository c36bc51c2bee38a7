"""What a client and its workers say to each other, as plain data.

Nothing of ours is pickled but the name of a function: what a worker runs is its own nashbed, and of
a scenario nothing but the C files of its congestion controls.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ..contract.manifest import LabFacts, TestbedFacts
from ..contract.model import ContractModel
from ..contract.plan import PlannedTrial
from ..contract.scenario import Name
from ..contract.trial import RanOn
from .identity import Identity


class ControlSource(ContractModel):
    """A congestion control that comes from C files.

    Attributes:
        name: What flows ask for.
        source: Its own file, one of `files`.
        digest: As in `ControlFile`.
        files: Path within a folder -> content, a character for each byte; empty of one that nashbed
            brings along.
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
    def shared_folder(self) -> Path | None:
        """The run's own folder on the shared file system; None: there is none."""
        return Path(self.shared) / f"{self.directory}-{self.run}" if self.shared else None

    def resource(self, testbed: str = "") -> str:
        """The Dask resource that a worker declares once it has been found fit for this run.

        Args:
            testbed: Name of the real testbed that the worker is; empty: virtual time.
        """
        digest = hashlib.sha256(self.model_dump_json().encode()).hexdigest()
        name = f"{self.run}-{digest[:12]}"
        return f"nashbed-testbed-{name}-{testbed}" if testbed else f"nashbed-{name}"


class TrialAssignment(ContractModel):
    """A trial for a worker.

    Attributes:
        run: As in `RunBundle`.
        trial: What is planned.
        attempt: Which attempt at it.
    """

    run: str
    trial: PlannedTrial
    attempt: int


class TestbedOffer(ContractModel):
    """A real testbed that a worker offers to a run.

    Attributes:
        name: Its name.
        text: Its file.
        facts: What the run's manifest says of it.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    name: Name
    text: str
    facts: TestbedFacts


class Failure(ContractModel):
    """Why a worker has no sealed trial.

    Attributes:
        kind: Name of the error's class.
        message: In words, with the worker's machine.
        repeatable: Whether another attempt may go better.
    """

    kind: str
    message: str
    repeatable: bool = False


class Sent(ContractModel):
    """What comes with a sealed trial.

    Attributes:
        lab: What the trial ran on.
        ran_on: Where.
    """

    lab: LabFacts
    ran_on: RanOn


@dataclass(frozen=True)
class TrialOutcome:
    """What came of a trial on a worker: a parcel and what comes with it, or a failure.

    Attributes:
        worker: Address of the worker.
        sent: A `Sent`, as JSON; empty after a failure.
        parcel: The sealed trial, as `Parcel.to_bytes` has it; empty after a failure.
        failure: A `Failure`, as JSON; empty: there is none.
        began_at: When the trial began, in seconds of the worker's clock; 0 after a failure.
        ended_at: When it was sealed there, before it was packed; 0 after a failure.
    """

    worker: str
    sent: str = ""
    parcel: bytes = b""
    failure: str = ""
    began_at: float = 0.0
    ended_at: float = 0.0
