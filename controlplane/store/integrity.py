"""Which files of a run directory are not as they were sealed, and the check where one is read.

The manifest has a digest of each file that the run was given, and of each sealed trial's list of
its own files (`checksums`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..contract.manifest import Manifest
from .checksums import SUMS, problem_of, problems_of, read_sums
from .documents import read_document
from .errors import damaged

PLAN = "plan.json"
TRIALS = "trials"
AGAIN = "the trial is left out, and `nashbed resume` runs it again"
"""What becomes of a trial with a damaged file."""
RESTORE = "restore it, or run again"
"""What to do about a damaged file that all trials depend on."""


@dataclass(frozen=True)
class DamagedFile:
    """A file that is not as it was sealed.

    Attributes:
        trial: The trial's id; empty: the file is the run's own.
        name: Its name in the trial's folder, or in the run directory.
        problem: What is wrong with it.
    """

    trial: str
    name: str
    problem: str

    def __str__(self) -> str:
        return f"{f'{self.trial}/' if self.trial else ''}{self.name}: {self.problem}"


@dataclass(frozen=True)
class CheckedRun:
    """A run whose files were all read.

    Attributes:
        trials: How many trials are sealed.
    """

    run: str
    trials: int
    damaged: tuple[DamagedFile, ...]


def list_of(trial: str) -> str:
    """Name of a trial's list in the run directory."""
    return f"{TRIALS}/{trial}/{SUMS}"


def is_of_run(name: str) -> bool:
    """Whether a file of the run directory is not a trial's."""
    return not name.startswith(f"{TRIALS}/")


def trial_folders(run: Path) -> list[Path]:
    """The folders of a run's sealed trials, sorted."""
    folder = run / TRIALS
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(each for each in found if each.is_dir() and not each.name.startswith("."))


def check_run(run: Path) -> CheckedRun:
    """Read every file of a run that has a digest, and say which ones are damaged.

    Raises:
        RunError: It is none, or its manifest is damaged.
    """
    manifest = read_document(run / "manifest.json", Manifest, RESTORE)
    return CheckedRun(
        run=run.resolve().name,
        trials=len(trial_folders(run)),
        damaged=tuple(damaged_files(run, manifest)),
    )


def damaged_files(run: Path, manifest: Manifest) -> Iterator[DamagedFile]:
    """Read every file of a run that has a digest."""
    sealed = manifest.sealed
    own = {name: digest for name, digest in sealed.items() if is_of_run(name)}
    own |= {f"testbeds/{n}.yaml": each.testbed_digest for n, each in manifest.testbeds.items()}
    for path, problem in problems_of(run, own):
        yield DamagedFile("", path.relative_to(run).as_posix(), problem)
    for name in sealed:
        if not is_of_run(name) and not (run / name).parent.is_dir():
            yield DamagedFile(Path(name).parent.name, SUMS, "is missing, as is the whole trial")
    for folder in trial_folders(run):
        for path, problem in _problems(folder, sealed, problems_of):
            yield DamagedFile(folder.name, path.name, problem)


def checked(path: Path, remedy: str = AGAIN) -> Path:
    """A file of a sealed trial, once it is seen to be as it was sealed.

    What somebody put into the folder since is not in its list, and is not checked.

    Args:
        remedy: What a person should do when it is damaged.

    Raises:
        RunError: It is damaged or missing.
    """
    try:
        digest = read_sums(path.parent).get(path.name)
    except (OSError, ValueError) as error:
        raise damaged(path.parent / SUMS, error, remedy) from error
    if digest is not None and (problem := problem_of(path, digest)):
        raise damaged(path, problem, remedy)
    return path


def check_names(folder: Path, sealed: Mapping[str, str]) -> None:
    """Check that a trial has its list, and the files in it; their content is not read.

    Args:
        sealed: The digests in the run's manifest.

    Raises:
        RunError: It has not.
    """
    for path, problem in _problems(folder, sealed, _missing):
        raise damaged(path, problem, AGAIN)


def check_files(folder: Path) -> None:
    """Read all files of a trial; raises RunError for the first that is damaged."""
    for path, problem in _problems(folder, {}, problems_of):
        raise damaged(path, problem, AGAIN)


def check_document(path: Path, sealed: Mapping[str, str]) -> Path:
    """A file of the run's own, once it is seen to be as it was when the run began.

    Raises:
        RunError: It is damaged or missing.
    """
    digest = sealed.get(path.name)
    if digest is not None and (problem := problem_of(path, digest)):
        raise damaged(path, problem, RESTORE)
    return path


Problems = Iterator[tuple[Path, str]]


def _problems(
    folder: Path, sealed: Mapping[str, str], look: Callable[[Path, Mapping[str, str]], Problems]
) -> Problems:
    """What is wrong with a trial's list, or else with what is in it."""
    from .tables import TABLES  # noqa: PLC0415 - slow to import, and nothing to a command that plans

    if problem := _problem_of_list(folder, sealed):
        yield folder / SUMS, problem
        return
    sums = read_sums(folder)
    yield from look(folder, sums)
    for name in (f"{table}.parquet" for table in TABLES):
        if sums and name not in sums and (folder / name).is_file():
            yield folder / name, f"is not in {SUMS}"


def _problem_of_list(folder: Path, sealed: Mapping[str, str]) -> str:
    """What is wrong with a trial's list itself."""
    path, digest = folder / SUMS, sealed.get(list_of(folder.name))
    if digest is not None and (problem := problem_of(path, digest)):
        return problem
    if PLAN in sealed and not path.is_file():
        return "is missing"
    try:
        read_sums(folder)
    except (OSError, ValueError) as error:
        return f"is damaged ({error})"
    return ""


def _missing(folder: Path, sums: Mapping[str, str]) -> Problems:
    """What is not there; a link to what is not seen here is another matter (`check_links`)."""
    for path in (folder / name for name in sums):
        if not path.is_symlink() and not path.is_file():
            yield path, "is missing"
