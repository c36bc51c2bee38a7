"""Start runs and go on with them: on this machine or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from nashbed.controlplane.config import Loaded
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.c_files.finding import find_ccas, require_strategies
from nashbed.controlplane.machine.host.preflight import require_disk
from nashbed.controlplane.machine.host.runs import OnWait
from nashbed.controlplane.machine.sessions import check_host
from nashbed.controlplane.plan.estimates import resources_of
from nashbed.controlplane.run.active_run import (
    ActiveRun,
    needed_disk_bytes,
    new_run,
    resumed_run,
    testbed_of,
)
from nashbed.controlplane.run.dispatcher import Executor, watch
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.run.progress import Running, Snapshot, TimeLeft
from nashbed.controlplane.run.runner import progress_of
from nashbed.controlplane.run.standing import EACH_SEAT
from nashbed.controlplane.run.verification import TrialChoice, Verification, prepare
from nashbed.controlplane.store.comparison import Difference, RepeatedTrial
from nashbed.controlplane.study import adaptive

from .files import ScenarioLike, TestbedLike, read_scenario, read_testbed, work_folder
from .place import LOG, Say, chosen_cluster, machine_for, reach_cluster

if TYPE_CHECKING:
    from .runs import Run

__all__ = [
    "Difference",
    "InProgress",
    "RepeatedTrial",
    "RunInProgress",
    "Running",
    "Snapshot",
    "TimeLeft",
    "VerificationInProgress",
    "Verified",
    "resume",
    "run",
    "start",
    "verify",
]


class InProgress(Iterator[Snapshot]):
    """Trials that are run while it is iterated: each item says where that stands.

    It holds what it runs on until its last item, an error, or `close`, which stops it. As a
    context manager it closes itself.

    Attributes:
        path: Where trials are written.
        plan: What will be run.
        testbed: Where.
        time_left: Estimates of the time that it takes.
    """

    def __init__(self, active: ActiveRun, held: ExitStack, progress: Generator[Snapshot]) -> None:
        """Take over a run, and what is given back at its end (`held`)."""
        self.path = active.directory.path
        self.plan = active.plan
        self.testbed = active.testbed.model
        self.time_left = TimeLeft(active.plan, resources_of(active.testbed.model, active.plan))
        self._held = held
        self._progress = progress

    def __next__(self) -> Snapshot:
        """Go on for a moment.

        Raises:
            NashbedError: What ended it early.
        """
        try:
            return next(self._progress)
        except BaseException:
            self.close()
            raise

    def watch(self, on_progress: Callable[[Snapshot], None]) -> None:
        """Go on to the end.

        Args:
            on_progress: Called with where it stands, again and again.

        Raises:
            NashbedError: What ended it early; Interrupted on Ctrl-C, also in `on_progress`.
        """
        watch(self, on_progress)

    def close(self) -> None:
        """Stop, if it still goes on, and give back what it runs on."""
        try:
            self._progress.close()
        finally:
            self._held.close()

    def __enter__(self) -> Self:
        """Close it at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


class RunInProgress(InProgress):
    """A run that goes on while it is iterated; what it has finished when it stops is kept.

    `resume` goes on with the others.

    Attributes:
        remarks: What a person should know before it begins, a line each.
    """

    def __init__(self, active: ActiveRun, held: ExitStack, executor: Executor | None) -> None:
        """Take over a run on this machine (`executor` is None), or elsewhere."""
        super().__init__(active, held, progress_of(active, executor))
        self.remarks = _remarks(active)

    def finish(self) -> Run:
        """Go on to the end, and open what was run.

        Raises:
            NashbedError: What ended the run early.
        """
        from .runs import open_run  # noqa: PLC0415 - slow to import

        for _ in self:
            pass
        return open_run(self.path)


@dataclass(frozen=True)
class Verified:
    """What came of trials that were run again.

    Attributes:
        run: Name of the run.
        environment: What is not as it was when the run was made.
        trials: The trials, by id: equal or not, and everything that differs.
    """

    run: str
    environment: tuple[Difference, ...]
    trials: tuple[RepeatedTrial, ...]

    @property
    def equal(self) -> bool:
        """Whether every trial measured the same again, to the bit."""
        return all(trial.equal for trial in self.trials)


class VerificationInProgress(InProgress):
    """Trials of a run that are run again while it is iterated.

    Attributes:
        run: Name of the run.
        total: How many trials are run again.
    """

    def __init__(self, verification: Verification, held: ExitStack) -> None:
        """Take over a verification."""
        super().__init__(verification.run, held, verification.progress())
        self.run = verification.manifest.run
        self.total = verification.work.total
        self._verification = verification

    @property
    def environment(self) -> tuple[Difference, ...]:
        """What is not as it was when the run was made; known from the first item on."""
        return self._verification.environment

    def finish(self) -> Verified:
        """Go on to the end, and say what came of it.

        Raises:
            NashbedError: What ended it early.
        """
        for _ in self:
            pass
        return Verified(self.run, self.environment, tuple(self._verification.trials))


def start(
    scenario: ScenarioLike,
    testbed: TestbedLike | None = None,
    out: str | Path = "results",
    *,
    on: str | None = None,
    private_network: bool = False,
    on_wait: OnWait | None = None,
    say: Say = LOG.info,
) -> RunInProgress:
    """Make a run directory, and be ready to run.

    Args:
        scenario: See `read_scenario`.
        testbed: See `read_testbed`.
        out: Folder that run directories go into.
        on: A cluster: `local:N`, `tcp://HOST:PORT`, `tls://HOST:PORT`, `ssh:HOSTS.txt` or a
            cluster file; None: as the testbed says, else this machine.
        private_network: Whether the cluster's network of private addresses is used without TLS.
        on_wait: Another run in real time on this machine is waited for, and this is called
            meanwhile; None: it is an error.
        say: Is told what a cluster is waiting for.

    Raises:
        NashbedError: It cannot be run; why.
    """
    loaded = read_scenario(scenario)
    bed = read_testbed(testbed)
    folder = Path(out)
    with ExitStack() as held:
        elsewhere = _cluster(held, on, private_network, bed, say)
        planned = plan_run(loaded, bed, adaptive.expect, elsewhere and elsewhere[1])
        needed = needed_disk_bytes(planned)
        if elsewhere is not None:
            require_disk(folder, needed)
        else:
            held.enter_context(machine_for(bed.model, folder, on_wait))
            check_host(bed.model, folder, needed, find_ccas(loaded, bed))
        active = new_run(folder, loaded, bed, planned, adaptive.make_chooser)
        return RunInProgress(active, held.pop_all(), elsewhere and elsewhere[0])


def show_progress(snapshot: Snapshot) -> None:
    """Say on standard error how many trials are done, in one line that changes."""
    done = snapshot.finished == snapshot.total
    text = f"{snapshot.finished}/{snapshot.total} trials done"
    print(text, end="\n" if done else "\r", file=sys.stderr, flush=True)  # noqa: T201


def run(
    scenario: ScenarioLike,
    testbed: TestbedLike | None = None,
    out: str | Path = "results",
    *,
    on: str | None = None,
    private_network: bool = False,
    on_progress: Callable[[Snapshot], None] | None = show_progress,
) -> Run:
    """Run a scenario to its end; see `start`, which gives an iterator instead.

    Args:
        scenario: See `read_scenario`.
        testbed: See `read_testbed`.
        out: Folder that the run directory goes into.
        on: As `start` has it.
        private_network: As `start` has it.
        on_progress: Called with where the run stands, again and again; left out: a line on
            standard error says how many trials are done. None: nothing does.

    Raises:
        NashbedError: It cannot be run, or what ended it early.
    """
    with start(scenario, testbed, out, on=on, private_network=private_network) as running:
        if on_progress is not None:
            running.watch(on_progress)
        return running.finish()


def resume(
    path: str | Path,
    *,
    on: str | None = None,
    private_network: bool = False,
    on_wait: OnWait | None = None,
    say: Say = LOG.info,
) -> RunInProgress:
    """Be ready to go on with a run that was stopped or killed.

    Finished trials are kept. What one machine has begun a cluster may finish, and the other way
    round, where trials run in virtual time.

    Args:
        path: The run directory.
        on: As `start` has it.
        private_network: As `start` has it.
        on_wait: As `start` has it.
        say: As `start` has it.

    Raises:
        NashbedError: It is no run, or cannot be finished here; why.
    """
    folder = Path(path)
    bed = testbed_of(folder)
    with ExitStack() as held:
        elsewhere = _cluster(held, on, private_network, bed, say)
        if elsewhere is not None:
            resumed = resumed_run(folder, adaptive.make_chooser)
            require_disk(folder, needed_disk_bytes(resumed.plan, resumed.work))
        else:
            held.enter_context(machine_for(bed.model, folder, on_wait))
            resumed = resumed_run(folder, adaptive.make_chooser)
            _require_planned_here(resumed)
            needed = needed_disk_bytes(resumed.plan, resumed.work)
            require_strategies(resumed.scenario, resumed.testbed.model, resumed.ccas)
            check_host(resumed.testbed.model, folder, needed, resumed.ccas)
        return RunInProgress(resumed, held.pop_all(), elsewhere and elsewhere[0])


def verify(
    path: str | Path,
    *,
    trials: Sequence[str] = (),
    count: int | None = 1,
    seed: int = 0,
    keep: str | Path | None = None,
) -> VerificationInProgress:
    """Be ready to run trials of a virtual run again, which must be equal to the bit.

    Equal means: every table, capture and report has the same SHA-256.

    Args:
        path: The run directory.
        trials: Run this trial again; empty: they are drawn.
        count: Run so many again, drawn at random; None: all.
        seed: Seed of the draw.
        keep: Keep the repeated trials in this new folder; None: they are not kept.

    Raises:
        NashbedError: It is no run, ran in real time, or cannot be repeated here; why.
    """
    with ExitStack() as held:
        folder = held.enter_context(work_folder(keep))
        choice = TrialChoice(tuple(trials), count, seed)
        verification = prepare(Path(path), folder, choice, keep is not None)
        check_host(verification.run.testbed.model, folder, verification.needed_disk_bytes)
        return VerificationInProgress(verification, held.pop_all())


def _cluster(
    held: ExitStack, on: str | None, private_network: bool, testbed: Loaded[Testbed], say: Say
) -> tuple[Executor, int] | None:
    """The cluster that was asked for, reached, and its seats; None: this machine."""
    cluster = chosen_cluster(on, private_network, testbed)
    if cluster is None:
        return None
    reached = held.enter_context(reach_cluster(cluster, say))
    return reached.executor, reached.seats


def _require_planned_here(active: ActiveRun) -> None:
    """In real time, a plan for a cluster's testbeds says nothing of what this machine carries."""
    if active.plan.capacity_from == EACH_SEAT and not active.plan.isolated:
        raise ConfigError(
            f"{active.directory.path}: was planned for real testbeds of a cluster; write --on "
            "WHERE to finish it there"
        )


def _remarks(active: ActiveRun) -> tuple[str, ...]:
    certificate = active.manifest.certificate
    doubts = certificate.doubt if certificate else ""
    again = tuple(f"{line}; the trial is run again" for line in active.damaged)
    return (*again, *(line for line in (doubts, active.plan.memory_short) if line))
