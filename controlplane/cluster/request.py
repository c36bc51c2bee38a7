"""What a client and its workers say to each other, as plain data.

Nothing of ours is pickled but the name of a function: what a worker runs is its own nashbed, and of
a scenario nothing but the C files of its CCAs. A client sends a `RunBundle` for all
trials and a `TrialAssignment` for each; a `TrialOutcome` comes back. Meanwhile workers tell what
happens as events of a Dask topic for each run.
"""

import hashlib
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..contract.c_files import CFile
from ..contract.errors import (
    ConfigError,
    HostError,
    InternalError,
    NashbedError,
    TargetError,
    is_repeatable,
)
from ..contract.manifest import LabFacts, TestbedFacts
from ..contract.model import ContractModel, Name
from ..contract.plan import PlannedTrial
from ..contract.trial import RanOn
from ..machine.c_files.kinds import CCA, is_shipped
from ..machine.process.flow_programs import strategy_programs
from ..run.active_run import ActiveRun
from ..store.errors import DiskFullError
from .identity import Identity, identity_here

STARTED = "started"
"""A trial has begun there: `trial`, `worker` (its address), `name`."""
REFUSED = "refused"
"""A worker takes no part: `worker`, `name`, `reasons` (a list of lines)."""
WANTS_KERNELS = "wants kernels"
"""A worker lacks kernels of virtual time: `worker`, `name`."""
LOGGED = "logged"
"""A line of a worker's log: `worker`, `name`, `level` (as in `logging`), `line`."""
OFFERS = "offers"
"""A worker is a real testbed and waits for the client's answer: `worker`, `name`, `offer` (a
`TestbedOffer`, as JSON)."""
JOINED = "joined"
"""A worker takes part: `worker`, `name`, `seats` (trials at once), `testbed` (of a real testbed its
name; empty: virtual time)."""
_KINDS: dict[str, type[NashbedError]] = {
    each.__name__: each
    for each in (ConfigError, DiskFullError, HostError, InternalError, TargetError)
}
"""What the client tells apart: what dismisses a worker, and what is an exit code of its own."""
BYTES = "latin-1"
"""A character for each byte: C files arrive as they are, whatever encoding and line ends they have;
their digest is over their bytes."""


class CcaSource(ContractModel):
    """A CCA that comes from C files.

    Attributes:
        source: Its own file, one of `files`.
        digest: As in `CFile`.
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
        files: Path of a file that it names for its content, as written -> the content, a character
            for each byte.
        testbed: Text of the testbed file that the run was planned for.
        controls: The CCAs that are not the kernel's own.
        programs: Those that are strategies, by name -> SHA-256.
        window_bytes: The most that a flow of any trial may have in flight.
        shared: Folder on a shared file system, for large tables; empty: there is none.
    """

    run: str
    directory: str
    scenario: str
    files: dict[str, str]
    testbed: str
    identity: Identity
    controls: tuple[CcaSource, ...]
    programs: dict[str, str]
    window_bytes: int
    shared: str = ""

    @property
    def shared_folder(self) -> Path | None:
        """The run's own folder on the shared file system; None: there is none."""
        return Path(self.shared) / f"{self.directory}-{self.run}" if self.shared else None

    def resource(self, testbed: str = "") -> str:
        """The Dask resource that a worker declares once it has been found fit for this run."""
        digest = hashlib.sha256(self.model_dump_json().encode()).hexdigest()
        name = f"{self.run}-{digest[:12]}"
        return f"nashbed-testbed-{name}-{testbed}" if testbed else f"nashbed-{name}"


def bundle_of(run: ActiveRun, shared: str = "") -> RunBundle:
    """What workers are told of a run."""
    if run.disciplines:
        raise ConfigError(
            f"{run.directory.path}: {run.disciplines[0].name} is a queue discipline of your own, "
            "and workers of a cluster load none; go on with it on this machine"
        )
    kernels = sorted({trial.setting.kernel for trial in run.plan.trials})
    return RunBundle(
        run=run_name(run.directory.path),
        directory=run.directory.path.name,
        scenario=run.scenario.text,
        files={name: file.read_bytes().decode(BYTES) for name, file in run.scenario.files.items()},
        testbed=run.testbed.text,
        identity=identity_here(run.testbed.model, kernels),
        controls=tuple(_source(cca) for cca in run.ccas),
        programs=strategy_programs(run.scenario.model),
        window_bytes=run.plan.largest_window_bytes,
        shared=shared,
    )


def run_name(path: Path) -> str:
    """Twelve hexadecimal digits that stand for a run directory of this machine."""
    place = f"{socket.gethostname()}\0{path.resolve()}"
    return hashlib.sha256(place.encode()).hexdigest()[:12]


def _source(cca: CFile) -> CcaSource:
    files: dict[str, str] = {}
    if not is_shipped(cca):
        own = CCA.own_sources(cca)
        files = {name: file.read_bytes().decode(BYTES) for name, file in own.items()}
    return CcaSource(name=cca.name, source=cca.source.name, digest=cca.digest, files=files)


def unpacked_ccas(sources: Sequence[CcaSource], folder: Path) -> tuple[CFile, ...]:
    """The CCAs of a bundle, as files.

    Args:
        folder: Where the files of those go that nashbed does not bring along.

    Raises:
        ConfigError: One is not what the client has.
    """
    return tuple(_unpacked(source, folder / source.name) for source in sources)


def unpacked_files(files: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """The files that a bundle's scenario names: path as written -> where its copy is now.

    Args:
        folder: Where they go, each with its own name: that may say what it holds.
    """
    placed = {}
    for number, (written, text) in enumerate(files.items()):
        placed[written] = _write(folder / str(number) / PurePosixPath(written).name, text)
    return placed


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(BYTES))
    return path


def _unpacked(source: CcaSource, folder: Path) -> CFile:
    for name, text in source.files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise ConfigError(f"{name}: a file of a congestion control stands outside its folder")
        _write(folder / name, text)
    cca = CCA.read((folder if source.files else CCA.headers) / source.source)
    if cca.digest != source.digest:
        raise ConfigError(
            f"{source.name}: the client has another version of it ({source.digest[:12]}) than "
            f"there is here ({cca.digest[:12]})"
        )
    return cca


class TrialAssignment(ContractModel):
    """A trial for a worker."""

    run: str
    trial: PlannedTrial
    attempt: int


class TestbedOffer(ContractModel):
    """A real testbed that a worker offers to a run."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    name: Name
    text: str
    facts: TestbedFacts


@dataclass(frozen=True)
class TrialOutcome:
    """What came of a trial on a worker: a parcel and what comes with it, or a failure.

    Attributes:
        sent: `SentFacts` as JSON; empty after a failure.
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


class SentFacts(ContractModel):
    """What comes with a sealed trial."""

    lab: LabFacts
    ran_on: RanOn


class Failure(ContractModel):
    """Why a worker has no sealed trial.

    Attributes:
        message: In words, with the worker's machine.
        repeatable: Whether another attempt may go better.
    """

    kind: str
    message: str
    repeatable: bool = False


def failure_of(error: Exception, words: str) -> Failure:
    """An error as it travels: by the nearest of its classes that the client knows."""
    kinds = (each.__name__ for each in type(error).__mro__ if each.__name__ in _KINDS)
    kind = next(kinds, InternalError.__name__)
    return Failure(kind=kind, message=words, repeatable=is_repeatable(error))


def error_of(failure: Failure) -> NashbedError:
    """The error that a failure stands for."""
    kind = _KINDS.get(failure.kind, InternalError)
    return kind(failure.message, repeatable=failure.repeatable)


def topic_of(run: str) -> str:
    """The topic of a run."""
    return f"nashbed-{run}"
