"""A run directory while the run writes it: a name is given only to what is complete."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from ..config import Loaded
from ..contract.errors import HostError
from ..contract.manifest import Manifest
from ..contract.model import ContractModel
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import FailedAttempt, FailedAttempts, TrialRecord
from .checksums import file_digest, sums_of, write_sums
from .documents import read_document, write_document
from .errors import RunError, disk_errors, is_unseen
from .integrity import checked, damaged_files, is_of_run, list_of, trial_folders
from .staging import Staging, flush_all, flush_names, remove_stale, write_whole

FAILURES = "failures.json"

D = TypeVar("D", bound=ContractModel)

REPORT = "report"
"""The folder with a run's report."""


class RunDirectory:
    """Names and files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials = path / "trials"
        self.log = path / "run.log"
        self._unsealed: dict[str, Staging] = {}
        self._lists: dict[str, str] = {}
        self._damaged: set[str] = set()

    @contextmanager
    def unsealed(self, trial_id: str) -> Iterator[Path]:
        """Yield where a trial's folder is made until it is sealed; one that is not goes with it."""
        with Staging(self.trials, trial_id) as staging:
            self._unsealed[trial_id] = staging
            try:
                yield staging.place / trial_id
            finally:
                del self._unsealed[trial_id]

    def write(self, name: str, document: ContractModel) -> None:
        """Write a document, replaced as a whole."""
        write_document(self.path / name, document)

    def read(self, name: str, model: type[D]) -> D:
        """Read a document; raises RunError when it is missing or damaged."""
        return read_document(self.path / name, model, "restore it, or start a new run")

    def begin(self, manifest: Manifest) -> Manifest:
        """Write the manifest of a new run, which lists all that the run has been given.

        Returns:
            The manifest with that list. All of it is on the disk.
        """
        complete = manifest.model_copy(update={"sealed": sums_of(self.path)})
        with disk_errors(self.path):
            flush_all(self.path)
            self.write("manifest.json", complete)
            flush_names(self.path.parent)
        return complete

    def testbed(self, name: str) -> Path:
        """The file of one of several testbeds that trials could be given to."""
        return self.path / "testbeds" / f"{name}.yaml"

    def seal(self, trial_id: str, record: TrialRecord) -> Path:
        """Complete a trial that is `unsealed`: its record, everything on disk, then the name."""
        staging = self._unsealed[trial_id]
        folder, sealed = staging.place / trial_id, self.trials / trial_id
        with disk_errors(sealed):
            write_document(folder / "trial.json", record)
            self._lists[list_of(trial_id)] = write_sums(folder)
            staging.publish(folder, sealed, replace=trial_id in self._damaged)
        self._damaged.discard(trial_id)
        return sealed

    def sealed(self) -> list[TrialRecord]:
        """Records of all sealed trials, but of those that were set aside.

        Raises:
            RunError: One is damaged.
        """
        names = (folder.name for folder in trial_folders(self.path))
        return [_sealed(self.trials / name) for name in names if name not in self._damaged]

    def set_damaged_aside(self, manifest: Manifest) -> tuple[str, ...]:
        """Take trials with damaged files for such that were never sealed: they are run again.

        Each stays where it is until its successor is sealed. Every file of every trial is read;
        one in a shared folder that is not mounted here is not taken for damaged.

        Returns:
            What is damaged, in a line for each file.
        """
        found = [
            each
            for each in damaged_files(self.path, manifest)
            if each.trial and not is_unseen(self.trials / each.trial / each.name)
        ]
        self._damaged = {each.trial for each in found}
        return tuple(map(str, found))

    def lists(self, known: Mapping[str, str]) -> dict[str, str]:
        """The digests for the manifest, those of all sealed trials' lists among them.

        Args:
            known: The digests in the manifest so far; they stand, unless a trial was sealed since.
        """
        trials = {list_of(folder.name) for folder in trial_folders(self.path)}
        kept = {name: digest for name, digest in known.items() if is_of_run(name) or name in trials}
        new = {name for name in trials - set(kept) if (self.path / name).is_file()}
        return kept | {name: file_digest(self.path / name) for name in new} | self._lists

    def failures(self) -> tuple[FailedAttempt, ...]:
        """The attempts that failed so far; raises RunError when their document is damaged."""
        return read_failures(self.path)

    def note_failure(self, failure: FailedAttempt) -> None:
        """Add an attempt that failed. Not safe between threads."""
        attempts = (*self.failures(), failure)
        write_document(self.path / FAILURES, FailedAttempts(attempts=attempts))

    def remove_unfinished(self) -> None:
        """Remove what was being written when a process was killed: trials, documents, a report."""
        for folder in (self.path, self.trials, self.path / REPORT):
            remove_stale(folder)


def create(
    results: Path, scenario: Loaded[Scenario], testbed: Loaded[Testbed], plan: Plan
) -> RunDirectory:
    """Make a new run directory with the scenario, the testbed and the plan in it."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = _unused(results.resolve() / f"{stamp}-{scenario.model.name}")
    directory = RunDirectory(path)
    with disk_errors(path):
        try:
            directory.trials.mkdir(parents=True)
        except OSError as error:
            raise HostError(
                f"{path}: cannot create this folder: {error.strerror}; name another with --out"
            ) from error
        (path / "scenario.yaml").write_text(scenario.text)
        (path / "testbed.yaml").write_text(testbed.text)
        directory.write("plan.json", plan)
    return directory


def read_failures(path: Path) -> tuple[FailedAttempt, ...]:
    """The attempts of a run that failed; none has left a document in most runs.

    Raises:
        RunError: Their document is damaged.
    """
    file = path / FAILURES
    if not file.is_file():
        return ()
    return read_document(file, FailedAttempts, "move it away: nothing depends on it").attempts


def open_existing(path: Path) -> RunDirectory:
    """Open a run directory; raises RunError when it is not one."""
    if not path.is_dir():
        raise RunError(f"{path}: no such run directory")
    missing = [n for n in ("manifest.json", "plan.json", "scenario.yaml", "testbed.yaml")
               if not (path / n).is_file()]  # fmt: skip
    if missing:
        raise RunError(f"{path}: not a run directory ({missing[0]} is missing)")
    return RunDirectory(path.resolve())


def check_manifest(
    directory: RunDirectory, scenario: Loaded[Scenario], testbed: Loaded[Testbed]
) -> Manifest:
    """Read the manifest; raises RunError when the run's files were changed afterwards."""
    manifest = directory.read("manifest.json", Manifest)
    for name, loaded, digest in (
        ("scenario.yaml", scenario.digest, manifest.scenario_digest),
        ("testbed.yaml", testbed.digest, manifest.testbed_digest),
    ):
        if loaded != digest:
            raise RunError(
                f"{directory.path / name}: was changed after the run started; restore it, or "
                "start a new run"
            )
    for name, facts in manifest.testbeds.items():
        _check_testbed(directory.testbed(name), facts.testbed_digest)
    return manifest


def _check_testbed(path: Path, digest: str) -> None:
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        raise RunError(
            f"{path}: is missing or was changed after trials ran on it; restore it, or start a "
            "new run"
        )


def keep_testbed(directory: RunDirectory, name: str, text: str) -> None:
    """Keep the file of one of several testbeds with the run."""
    path = directory.testbed(name)
    with disk_errors(path):
        path.parent.mkdir(exist_ok=True)
        write_whole(path, text)


def _sealed(folder: Path) -> TrialRecord:
    remedy = f"move {folder} away and `nashbed resume` runs the trial again"
    return read_document(checked(folder / "trial.json", remedy), TrialRecord, remedy)


def _unused(path: Path) -> Path:
    """The path, or with a number when two runs start within one second."""
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
