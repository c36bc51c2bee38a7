"""A run directory and what is to be done in it: of a new run, or what is left of one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..config import Loaded, load_testbed
from ..contract.c_files import CFile
from ..contract.errors import ConfigError
from ..contract.manifest import Manifest
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..machine.c_files.finding import find_ccas, find_disciplines
from ..machine.c_files.kept import keep_ccas, keep_disciplines, kept_ccas, kept_disciplines
from ..machine.host.runs import id_of
from ..store.run_directory import RunDirectory, check_manifest, create, open_existing
from .manifest import Status, new_manifest, with_status
from .named_files import keep_files, load_kept
from .standing import standing
from .work import Chooser, ChosenWork, PlannedWork, Work

MakeChooser = Callable[[Path, Scenario, Testbed, Plan], Chooser]
"""Makes the chooser of an adaptive run: (run directory, scenario, testbed, plan) -> chooser."""


@dataclass
class ActiveRun:
    """A run directory and what is to be done in it.

    Attributes:
        work: What is still to be run.
        ccas: CCAs that the hosts' kernel does not have.
        disciplines: Queue disciplines of the user's own.
        damaged: Files of sealed trials that are damaged; these trials are run again.
    """

    directory: RunDirectory
    scenario: Loaded[Scenario]
    testbed: Loaded[Testbed]
    plan: Plan
    manifest: Manifest
    work: Work
    ccas: tuple[CFile, ...] = ()
    disciplines: tuple[CFile, ...] = ()
    damaged: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Four hexadecimal digits from the run directory's place."""
        return id_of(self.directory.path)

    def write_manifest(self, manifest: Manifest) -> None:
        """Write another manifest in the place of the one that stands."""
        self.manifest = manifest
        self.directory.write("manifest.json", manifest)

    def set_status(self, status: Status) -> None:
        """Write the manifest with another status."""
        manifest = with_status(self.manifest, status, self.directory.sealed())
        sealed = self.directory.lists(manifest.sealed)
        self.write_manifest(manifest.model_copy(update={"sealed": sealed}))


def new_run(
    results: Path,
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    plan: Plan,
    choose: MakeChooser | None = None,
) -> ActiveRun:
    """Make the run directory of a new run.

    Args:
        plan: Every trial, or those that may be chosen.
        choose: Makes the chooser of an adaptive run; None: every mix is run.
    """
    certificate = standing(testbed)
    ccas, disciplines = find_ccas(scenario, testbed), find_disciplines(scenario)
    directory = create(results, scenario, testbed, plan)
    kept = keep_ccas(directory.path, ccas)
    queues = keep_disciplines(directory.path, disciplines)
    files = keep_files(directory.path, scenario)
    manifest = new_manifest(directory, scenario, testbed, certificate, kept, queues, files)
    manifest = directory.begin(manifest)
    work = _remaining_work(directory, scenario.model, testbed.model, plan, choose)
    return ActiveRun(directory, scenario, testbed, plan, manifest, work, ccas, disciplines)


def testbed_of(path: Path) -> Loaded[Testbed]:
    """The testbed of an existing run."""
    open_existing(path)
    return load_testbed(path / "testbed.yaml")


def resumed_run(path: Path, choose: MakeChooser) -> ActiveRun:
    """Open an existing run; finished trials are kept."""
    directory = open_existing(path)
    scenario = load_kept(directory)
    testbed = load_testbed(path / "testbed.yaml")
    manifest = check_manifest(directory, scenario, testbed)
    ccas = kept_ccas(directory.path, manifest)
    disciplines = kept_disciplines(directory.path, manifest)
    plan = directory.read("plan.json", Plan)
    damaged = directory.set_damaged_aside(manifest)
    unplanned = {r.id.rpartition("-a")[0] for r in directory.sealed()}
    unplanned -= {trial.key for trial in plan.trials}
    if unplanned:
        raise ConfigError(
            f"{directory.trials}: {min(unplanned)} is not a trial of this plan; move it away"
        )
    work = _remaining_work(directory, scenario.model, testbed.model, plan, choose)
    return ActiveRun(directory, scenario, testbed, plan, manifest, work, ccas, disciplines, damaged)


def _remaining_work(
    directory: RunDirectory,
    scenario: Scenario,
    testbed: Testbed,
    plan: Plan,
    choose: MakeChooser | None,
) -> Work:
    sealed, attempts = directory.sealed(), scenario.max_attempts
    if plan.search == "exhaustive":
        return PlannedWork(plan, sealed, attempts)
    assert choose is not None, "an adaptive run is chosen"
    return ChosenWork(choose(directory.path, scenario, testbed, plan), plan, sealed, attempts)


def needed_disk_bytes(plan: Plan, work: Work | None = None) -> int:
    """Upper estimate of what is still to be written: of all of a plan, or of what is left."""
    if work is None:
        return plan.estimated_disk_bytes
    left = (work.total - work.finished) / max(1, work.total)
    return int(plan.estimated_disk_bytes * left)
