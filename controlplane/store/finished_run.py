"""A run directory: its documents and its sealed trials."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ..config.named_files import NamedFiles
from ..contract.manifest import Manifest
from ..contract.plan import Plan, PlannedTrial
from ..contract.scenario import Scenario
from ..contract.trial import FailedAttempt, Setting
from ..contract.units import counted
from .documents import read_document, read_scenario
from .errors import RunError
from .integrity import PLAN, check_document, check_names, trial_folders
from .run_directory import read_failures
from .sealed_trial import SealedTrial, open_trial

Of = TypeVar("Of")
Found = TypeVar("Found")
More = ParamSpec("More")


def once(find: Callable[Concatenate[Of, More], Found]) -> Callable[Concatenate[Of, More], Found]:
    """Have a function find what it does only once of each opened run, or of its measures.

    What was found lives as long as what it was found in. Further arguments decide nothing.
    """

    @wraps(find)
    def kept(of: Of, /, *args: More.args, **kwargs: More.kwargs) -> Found:
        known: dict[str, Any] = vars(of)
        name = f"{find.__module__}.{find.__name__}"
        if name not in known:
            known[name] = find(of, *args, **kwargs)
        found: Found = known[name]
        return found

    return kept


@dataclass(frozen=True)
class DamagedTrial:
    """A sealed trial that could not be read and is left out.

    Attributes:
        id: Name of the trial's directory.
        problem: One line: which file, what is wrong, what to do.
    """

    id: str
    problem: str


@dataclass(frozen=True)
class FinishedRun:
    """An opened run directory.

    Attributes:
        manifest: What was applied, and where it ran.
        plan: Every trial that was planned (None: no plan was written).
        trials: Every readable sealed trial, sorted by id, valid or not.
        damaged: Sealed trials that could not be read.
        failures: Attempts that their host or guest ended, which are no trials.
    """

    path: Path
    manifest: Manifest
    scenario: Scenario
    plan: Plan | None
    trials: tuple[SealedTrial, ...]
    damaged: tuple[DamagedTrial, ...]
    failures: tuple[FailedAttempt, ...] = ()

    @property
    def valid_trials(self) -> tuple[SealedTrial, ...]:
        """The trials that numbers may be taken from: one for each repetition.

        Should a repetition have several valid attempts, the last one counts.
        """
        last = {(t.setting.label, t.mix_key, t.record.repetition): t for t in self._by_attempt()}
        return tuple(sorted(last.values(), key=lambda t: t.id))

    def _by_attempt(self) -> list[SealedTrial]:
        valid = [t for t in self.trials if t.record.valid]
        return sorted(valid, key=lambda t: t.record.attempt)

    @property
    def failures_sentence(self) -> str:
        """How many attempts failed, and the trials that were given up; empty: none failed."""
        if not self.failures:
            return ""
        sealed = {trial.id.rpartition("-a")[0] for trial in self.trials}
        tried = {failure.trial.rpartition("-a")[0] for failure in self.failures}
        number = len(self.failures)
        attempts = "1 attempt was" if number == 1 else f"{number} attempts were"
        text = f"{attempts} ended by the host or the guest and tried again"
        lost = sorted(tried - sealed)
        if not lost:
            return f"{text}; no trial is missing for that"
        return (
            f"{text}; of {len(lost)} of {len(tried)} such trials no attempt succeeded "
            f"({', '.join(lost[:3])}{', ...' if lost[3:] else ''}): `nashbed resume` tries again"
        )

    @property
    def without_result(self) -> tuple[str, ...]:
        """Mixes of which not one trial is valid, as the names of trials begin."""
        tried = [*(trial.id for trial in self.trials), *(each.trial for each in self.failures)]
        valid = {_mix_of(trial.id) for trial in self.trials if trial.record.valid}
        return tuple(sorted({_mix_of(each) for each in tried} - valid))

    @property
    def without_result_sentence(self) -> str:
        """Which mixes have no valid trial, why, and what to do; empty: every mix has one."""
        missing = self.without_result
        if not missing:
            return ""
        names = f"{', '.join(missing[:3])}{', ...' if missing[3:] else ''}"
        text = f"not one valid trial of {counted(len(missing), 'mix')} ({names})"
        tried = [trial for trial in self.trials if _mix_of(trial.id) in missing]
        failed = [gate for trial in tried for gate in trial.record.gates if not gate.passed]
        if not failed:
            return f"{text}: no attempt succeeded; `nashbed resume` tries again"
        name, refused = Counter(gate.name for gate in failed).most_common(1)[0]
        detail = next(gate.detail for gate in reversed(failed) if gate.name == name)
        return (
            f"{text}: gate {name} refused {refused} of {counted(len(tried), 'attempt')} "
            f"({detail}); change in the scenario or on the machine what it names, and run again"
        )

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting that was planned or run, in that order, once."""
        planned = [p.setting for p in self.plan.trials] if self.plan else []
        by_label = {s.label: s for s in [*planned, *(t.setting for t in self.trials)]}
        return tuple(by_label.values())

    @property
    def planned(self) -> tuple[PlannedTrial, ...] | None:
        """What was meant to be run (None: no plan, or a search chose among its trials)."""
        if self.plan is None or self.plan.search == "adaptive":
            return None
        return self.plan.trials

    @property
    def planned_trials(self) -> int | None:
        """How many repetitions were planned (None: no plan, or a search chose them)."""
        return None if self.planned is None else len(self.planned)


def _mix_of(trial: str) -> str:
    """A trial's setting and mix: its name without repetition and attempt."""
    return trial.rpartition("-r")[0]


def open_run(path: Path) -> FinishedRun:
    """Open a run directory; damaged trials are reported, not fatal.

    Args:
        path: A directory under results/.

    Raises:
        RunError: The directory is missing, foreign, of another version, or its manifest or
            scenario is damaged.
    """
    if not path.is_dir():
        raise RunError(f"{path}: is not a directory; give a directory under results/")
    if not (path / "manifest.json").is_file():
        raise RunError(
            f"{path}: is not a nashbed run directory (no manifest.json); "
            "give a directory under results/"
        )
    manifest = read_document(path / "manifest.json", Manifest, "run again")
    for name in ("scenario.yaml", "testbed.yaml", PLAN):
        check_document(path / name, manifest.sealed)
    scenario = _with_programs(read_scenario(path / "scenario.yaml"), path, manifest)
    trials, damaged_trials = _open_trials(path, manifest.sealed)
    plan, failures = _open_plan(path), read_failures(path)
    return FinishedRun(path, manifest, scenario, plan, trials, damaged_trials, failures)


def _with_programs(scenario: Scenario, path: Path, manifest: Manifest) -> Scenario:
    """The scenario with what is in the files of its programs, which the run keeps."""

    def find(written: str) -> Path:
        if written not in manifest.files:
            raise RunError(f"{path}: {written}: is not kept with this run")
        return path / manifest.files[written].kept

    return NamedFiles(str(path / "scenario.yaml"), find).with_programs(scenario)


def _open_plan(path: Path) -> Plan | None:
    file = path / PLAN
    if not file.is_file():
        return None
    return read_document(file, Plan, "restore it, or run again")


def _open_trials(
    run: Path, sealed: Mapping[str, str]
) -> tuple[tuple[SealedTrial, ...], tuple[DamagedTrial, ...]]:
    trials: list[SealedTrial] = []
    broken: list[DamagedTrial] = []
    for directory in trial_folders(run):
        try:
            check_names(directory, sealed)
            trials.append(open_trial(directory))
        except RunError as error:
            broken.append(DamagedTrial(directory.name, error.message))
    return tuple(trials), tuple(broken)
