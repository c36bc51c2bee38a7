"""A verification: sealed trials of a run are run again, and compared one by one."""

from __future__ import annotations

import random
import shutil
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..config import load_testbed
from ..contract.errors import ConfigError, HostError
from ..contract.manifest import Manifest
from ..contract.plan import Plan
from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..machine.c_files.kept import keep_ccas, keep_disciplines, kept_ccas, kept_disciplines
from ..store.comparison import (
    Difference,
    RepeatedTrial,
    compare_trials,
    environment_differences,
)
from ..store.run_directory import RunDirectory, check_manifest, create, open_existing
from ..targets.registry import capabilities_of
from .active_run import ActiveRun
from .dispatcher import Executor
from .manifest import new_manifest
from .named_files import keep_files, load_kept
from .progress import Snapshot
from .runner import progress_of
from .standing import standing, with_capacity
from .work import Job

MOST_FAILURES = 3
"""Times that a trial may fail for its host or guest."""


@dataclass(frozen=True)
class TrialChoice:
    """Which trials of a run are run again.

    Attributes:
        trials: These, by id; empty: trials are drawn.
        count: How many are drawn; None: all are run again.
    """

    trials: tuple[str, ...] = ()
    count: int | None = 1
    seed: int = 0

    def of(self, records: Sequence[TrialRecord], place: Path) -> list[TrialRecord]:
        """Choose among a run's trials.

        Args:
            records: The trials that can be repeated.
            place: The run, for the error.

        Raises:
            ConfigError: There is no such trial, or none at all.
        """
        by_id = {record.id: record for record in sorted(records, key=lambda record: record.id)}
        unknown = [name for name in self.trials if name not in by_id]
        if unknown:
            raise ConfigError(f"{place}: has no sealed trial {unknown[0]}; `ls {place}/trials`")
        if not by_id:
            raise ConfigError(f"{place}: no trial is sealed; `nashbed resume {place}` runs them")
        if self.trials:
            return [by_id[name] for name in dict.fromkeys(self.trials)]
        if self.count is None or self.count >= len(by_id):
            return list(by_id.values())
        drawn = random.Random(self.seed).sample(list(by_id), self.count)  # noqa: S311 - no secret
        return [by_id[name] for name in sorted(drawn)]


@dataclass
class Verification:
    """Some trials of a finished run, and their repetition.

    Attributes:
        manifest: The finished run's manifest.
        run: Where the trials are run again.
        work: Which ones, and what came of them.
        environment: What is not as it was when the run was made; known from the first snapshot on.
    """

    manifest: Manifest
    run: ActiveRun
    work: Repetition
    environment: tuple[Difference, ...] = ()

    @property
    def trials(self) -> list[RepeatedTrial]:
        """The trials that were run again, by id."""
        return self.work.trials

    @property
    def equal(self) -> bool:
        """Whether every one of them measured the same again."""
        return all(trial.equal for trial in self.trials)

    @property
    def needed_disk_bytes(self) -> int:
        """Upper estimate of what is on the disk at once."""
        plan, work = self.run.plan, self.work
        at_once = work.total if work.keep else plan.lanes
        return plan.estimated_disk_bytes * at_once // max(1, plan.expected_trials)

    def progress(self, executor: Executor | None = None) -> Generator[Snapshot]:
        """Run the trials again, compare each, and say where that stands, again and again.

        Args:
            executor: Where; None: on this machine.

        Raises:
            NashbedError: What ended it early.
        """
        snapshots = progress_of(self.run, executor)
        for number, snapshot in enumerate(snapshots):
            if number == 0:  # the target is up, so that the manifest is complete
                self.environment = environment_differences(self.manifest, self.run.manifest)
            yield snapshot
        if self.work.finished < self.work.total:
            failures = self.run.directory.failures()
            raise HostError(
                f"{self.work.total - self.work.finished} of {self.work.total} trials failed "
                f"whenever they were tried, at last {failures[-1].trial}: {failures[-1].reason}"
            )


def prepare(path: Path, folder: Path, choice: TrialChoice, keep: bool = False) -> Verification:
    """Prepare the repetition of some trials of a run; nothing is run yet.

    Args:
        path: The finished run.
        folder: Where the trials are run again.

    Raises:
        ConfigError: The run or a trial cannot be repeated; the reason.
    """
    original = open_existing(path)
    scenario, testbed = load_kept(original), load_testbed(path / "testbed.yaml")
    manifest = check_manifest(original, scenario, testbed)
    _refuse_real_time(path, testbed.model)
    whole_plan = original.read("plan.json", Plan)
    chosen = _chosen(original, whole_plan, choice)
    # Of the plan only the lanes change: the hosts' settings depend on all of its trials.
    known = standing(testbed)
    capacity = with_capacity(testbed, known)[0].model.capacity
    lanes = max(1, min(whole_plan.lanes, len(chosen), capacity.lanes))
    plan = whole_plan.model_copy(update={"lanes": lanes})
    directory = create(folder, scenario, testbed, plan)
    ccas = kept_ccas(original.path, manifest)
    disciplines = kept_disciplines(original.path, manifest)
    kept = keep_ccas(directory.path, ccas)
    queues = keep_disciplines(directory.path, disciplines)
    files = keep_files(directory.path, scenario)
    repeated = new_manifest(directory, scenario, testbed, known, kept, queues, files)
    repeated = directory.begin(repeated)
    work = Repetition(plan, chosen, original.trials, directory.trials, keep)
    run = ActiveRun(directory, scenario, testbed, plan, repeated, work, ccas, disciplines)
    return Verification(manifest, run, work)


def _refuse_real_time(path: Path, testbed: Testbed) -> None:
    if not capabilities_of(testbed).repeatable:
        raise ConfigError(
            f"{path}: target {testbed.target} runs in real time, which is not repeatable; run the "
            "scenario with a testbed of target virtual, or repeat trials and `nashbed compare` them"
        )


def _chosen(original: RunDirectory, plan: Plan, choice: TrialChoice) -> list[TrialRecord]:
    """The chosen trials; raises ConfigError for one that cannot be repeated."""
    chosen = choice.of(original.sealed(), original.path)
    planned = {trial.key for trial in plan.trials}
    for record in chosen:
        if key_of(record) not in planned:
            raise ConfigError(f"{original.trials / record.id}: is not a trial of this run's plan")
    return chosen


class Repetition:
    """Sealed trials to run again, each as the attempt that it was: it has the same seed then.

    Args:
        chosen: Records of the trials to run again.
        sealed: Folder of the run's trials.
        repeated: Folder of their repetitions.
        keep: Whether a repetition is kept there once it was compared.
    """

    def __init__(
        self, plan: Plan, chosen: Sequence[TrialRecord], sealed: Path, repeated: Path, keep: bool
    ) -> None:
        planned = {trial.key: trial for trial in plan.trials}
        self._jobs = [Job(planned[key_of(record)], record.attempt) for record in chosen]
        self._sealed = sealed
        self._repeated = repeated
        self.keep = keep
        self._lock = threading.Lock()
        self._failed: Counter[tuple[str, int]] = Counter()
        self._compared: dict[str, RepeatedTrial] = {}
        self.total = len(self._jobs)

    @property
    def finished(self) -> int:
        """Trials that were run again and compared."""
        return len(self._compared)

    @property
    def trials(self) -> list[RepeatedTrial]:
        """What came of them, by id."""
        return [self._compared[name] for name in sorted(self._compared)]

    def start(self) -> list[Job]:
        """Every trial, large ones first: small ones fill gaps."""
        return sorted(self._jobs, key=lambda job: -job.trial.setting.rate_bps)

    def ended(self, job: Job, valid: bool) -> list[Job]:
        """Compare a trial that was run again; nothing follows from it."""
        name = job.trial.attempt_id(job.attempt)
        folder = self._repeated / name
        compared = compare_trials(self._sealed / name, folder)
        if not self.keep:
            shutil.rmtree(folder)
        with self._lock:
            self._compared[name] = compared
        return []

    def failed(self, job: Job) -> list[Job]:
        """The trial again; one that fails again and again is not compared."""
        with self._lock:
            self._failed[job.trial.key, job.attempt] += 1
            left = self._failed[job.trial.key, job.attempt] < MOST_FAILURES
        return [job] if left else []


def key_of(record: TrialRecord) -> str:
    """The key of the planned trial that a record is an attempt at."""
    return record.id.rpartition("-a")[0]
