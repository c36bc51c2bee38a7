"""The run directory: written aside and renamed, so that what is there is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ..config import Loaded
from ..contract.errors import ConfigError, HostError, NashbedError
from ..contract.manifest import Manifest
from ..contract.model import ContractModel
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord

M = TypeVar("M", bound=ContractModel)


class DiskFullError(HostError):
    """No room left: the run stops, and can be resumed once there is room."""


@contextlib.contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Turn a full disk, met by us or told by a program of ours, into one clear line."""
    full = DiskFullError(f"{place}: the disk is full; free some space, then `nashbed resume`")
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full from error
        raise
    except NashbedError as error:
        if os.strerror(errno.ENOSPC) in error.message:
            raise full from error
        raise


class RunDirectory:
    """Names and files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials = path / "trials"
        self.log = path / "run.log"

    def aside(self, trial_id: str) -> Path:
        """Where a trial is written until it is complete."""
        return self.trials / f".{trial_id}.tmp"

    def write(self, name: str, model: ContractModel) -> None:
        """Write a model as JSON, replaced as a whole."""
        write_atomic(self.path / name, model.model_dump_json(indent=1) + "\n")

    def read(self, name: str, model: type[M]) -> M:
        """Read a model; raises ConfigError when the file is missing or damaged."""
        return read_model(self.path / name, model)

    def seal(self, trial_id: str, record: TrialRecord) -> Path:
        """Complete a trial: its record, everything on disk, then the name."""
        folder = self.aside(trial_id)
        with disk_errors(folder):
            (folder / "trial.json").write_text(record.model_dump_json(indent=1) + "\n")
            for path in folder.rglob("*"):
                if path.is_file():
                    _sync(path)
            _sync(folder)
            sealed = self.trials / trial_id
            folder.rename(sealed)
            _sync(self.trials)
        return sealed

    def sealed(self) -> list[TrialRecord]:
        """Records of all sealed trials; raises ConfigError for a damaged one."""
        folders = sorted(p for p in self.trials.glob("*") if not p.name.startswith("."))
        return [self._sealed(folder) for folder in folders]

    def _sealed(self, folder: Path) -> TrialRecord:
        try:
            return read_model(folder / "trial.json", TrialRecord)
        except ConfigError as error:
            raise ConfigError(
                f"{error.message}; move {folder} away and `nashbed resume` runs it again"
            ) from error

    def remove_unfinished(self) -> None:
        """Remove trials that were being written when a run was killed."""
        for folder in self.trials.glob(".*.tmp"):
            shutil.rmtree(folder)


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
            raise HostError(f"{path}: cannot be made: {error.strerror}; use --out") from error
        (path / "scenario.yaml").write_text(scenario.text)
        (path / "testbed.yaml").write_text(testbed.text)
        directory.write("plan.json", plan)
    return directory


def open_existing(path: Path) -> RunDirectory:
    """Open a run directory; raises ConfigError when it is none."""
    if not path.is_dir():
        raise ConfigError(f"{path}: no such run directory")
    missing = [n for n in ("manifest.json", "plan.json", "scenario.yaml", "testbed.yaml")
               if not (path / n).is_file()]  # fmt: skip
    if missing:
        raise ConfigError(f"{path}: not a run directory ({missing[0]} is missing)")
    return RunDirectory(path.resolve())


def check_manifest(
    directory: RunDirectory, scenario: Loaded[Scenario], testbed: Loaded[Testbed]
) -> Manifest:
    """Read the manifest; raises ConfigError when the run's files were changed afterwards."""
    manifest = directory.read("manifest.json", Manifest)
    for name, loaded, digest in (
        ("scenario.yaml", scenario.digest, manifest.scenario_digest),
        ("testbed.yaml", testbed.digest, manifest.testbed_digest),
    ):
        if loaded != digest:
            raise ConfigError(
                f"{directory.path / name}: was changed after the run started; restore it, or "
                "start a new run"
            )
    return manifest


def read_model(path: Path, model: type[M]) -> M:
    """Read a model from a JSON file; raises ConfigError when it is missing or damaged."""
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: is missing; the run directory is damaged") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        found = f"{place}: {first['msg']}" if place else first["msg"]
        raise ConfigError(f"{path}: is damaged or of another version ({found})") from error


def write_atomic(path: Path, text: str) -> None:
    """Replace a file as a whole."""
    with disk_errors(path):
        aside = path.with_name(f".{path.name}.tmp")
        aside.write_text(text)
        _sync(aside)
        aside.replace(path)


def _unused(path: Path) -> Path:
    """The path, or with a number when two runs start within one second."""
    number = 1
    candidate = path
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
