"""A cluster as the place of a run: each trial is a Dask future, and is sealed here.

Only the client seals, so that an attempt has one result whatever becomes of workers: when one dies,
Dask runs its trial elsewhere, and there is no second future for it.
"""

from __future__ import annotations

import logging
import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from distributed import Client, Future, KilledWorker
from distributed.client import ClosedClientError

from ..contract.errors import HostError, NashbedError
from ..contract.trial import TrialRecord
from ..run.active_run import ActiveRun
from ..run.dispatcher import JobBook, JobResult, drained
from ..run.manifest import with_lab, with_testbed
from ..run.progress import AllowedLoad, TrialStep
from ..run.work import Job
from ..store.documents import read_document
from ..store.errors import DiskFullError
from ..store.run_directory import keep_testbed
from .kernels import KernelProvider
from .parcel import Parcel, ParcelError, remove_leftovers, unpack
from .plugin import RunOnWorker, answer_offer
from .request import (
    Failure,
    SentFacts,
    TestbedOffer,
    TrialAssignment,
    TrialOutcome,
    bundle_of,
    error_of,
)
from .roster import (
    Roster,
    Say,
    address_of,
    idle_testbed,
    in_touch,
    most_handed,
    own_testbed_of,
    scheduler_is_gone,
    task_states,
    workers_there,
)
from .worker import run_trial

LOG = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
"""How often the client asks which workers there are."""
HOPELESS_S = 10.0
"""How long no worker may be fit for the run: others may be starting, or coming back."""
TOGETHER_S = 10.0
"""How long the first trials wait for testbeds that have not answered yet."""
Task = Callable[[str], TrialOutcome]
"""What a worker does with a `TrialAssignment` as JSON."""


@dataclass(frozen=True)
class OnCluster:
    """Trials on the workers of a cluster.

    Attributes:
        shared: Folder on a shared file system, for large tables; empty: there is none.
        task: What workers do with a trial; tests have their own.
        on_outcome: Called with all that comes back.
    """

    client: Client
    say: Say
    shared: str = ""
    task: Task = run_trial
    on_outcome: Callable[[TrialOutcome], None] = lambda outcome: None

    @contextmanager
    def opened(self, run: ActiveRun, book: JobBook) -> Iterator[ClusterWorkers]:
        """See `Executor`: every worker that there is, or comes later, is made one of the run."""
        workers = ClusterWorkers(self, run, book)
        bundle = workers.bundle
        with in_touch(self.client, bundle.run, workers.roster.on_event) as key:
            plugin = RunOnWorker(bundle.model_dump_json(), key)
            try:
                self._register(plugin)
                yield workers
            finally:
                self._leave(plugin.name)
                if bundle.shared_folder is not None:
                    remove_leftovers(bundle.shared_folder, run.directory.trials)

    def _register(self, plugin: RunOnWorker) -> None:
        address = address_of(self.client)
        try:
            self.client.register_plugin(plugin)
        except OSError as error:
            raise scheduler_is_gone(address) from error

    def _leave(self, plugin: str) -> None:
        """The workers give back what they held; of a cluster that is gone nothing is asked."""
        try:
            self.client.unregister_worker_plugin(plugin)
        except Exception as error:
            LOG.warning("the workers were not told that the run has ended: %s", error)


@dataclass(frozen=True)
class SubmittedTrial:
    """A trial that was handed out.

    Attributes:
        testbed: The real testbed that it was given to; empty: virtual time.
    """

    future: Future[TrialOutcome]
    job: Job
    testbed: str


class ClusterWorkers:
    """Hands jobs out to Dask's workers and seals what they send back.

    Attributes:
        bundle: What workers are told of the run.
    """

    def __init__(self, place: OnCluster, run: ActiveRun, book: JobBook) -> None:
        self._place = place
        self._client = place.client
        self._address = address_of(place.client)  # one that has given up does not know it any more
        self._run = run
        self._book = book
        self._say = place.say
        self.bundle = bundle_of(run, place.shared)
        self.roster = Roster(self._started, place.say)
        self._giver = KernelProvider(self.bundle, self._ask, place.say)
        self._handed: dict[str, SubmittedTrial] = {}
        self._done: queue.SimpleQueue[tuple[str, Future[TrialOutcome]]] = queue.SimpleQueue()
        self._looked_s = 0.0
        self._hopeful_s = self._began_s = time.monotonic()
        self._is_undecided = True
        self._knows_lab = False

    @property
    def load(self) -> AllowedLoad:
        """See `TrialWorkers`: each worker watches its own."""
        return AllowedLoad()

    def hand_out(self) -> None:
        """See `TrialWorkers`: all seats stay busy, and a few trials wait for them."""
        try:
            self._look()
            self._submit_waiting()
        except ClosedClientError as error:
            raise self._lost() from error

    def ended(self, timeout_s: float) -> Iterator[JobResult]:
        """See `TrialWorkers`."""
        for trial, future in drained(self._done, timeout_s):
            handed = self._handed.get(trial)
            if handed is not None and handed.future.key == future.key:  # not withdrawn
                del self._handed[trial]
                yield self._settled(handed.job, future)

    def stop(self) -> None:
        """See `TrialWorkers`; of a cluster that is gone nothing is asked."""
        with suppress(ClosedClientError, TimeoutError, OSError):
            self._client.cancel([each.future for each in self._handed.values()], force=True)

    def _look(self) -> None:
        """Ask which workers there are, now and then."""
        if time.monotonic() - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = time.monotonic()
        if self._client.status != "running":
            raise self._lost()
        try:
            workers = workers_there(self._client)
            self.roster.present(workers)
            self._is_undecided = self.roster.is_undecided(workers)
            self._giver.give(self.roster.take_wanting())
            for worker, offer in self.roster.take_offers().items():
                self._answer(worker, TestbedOffer.model_validate_json(offer))
            self._withdraw()
        except (TimeoutError, OSError) as error:
            raise self._lost() from error
        if not self.roster.is_hopeless(workers):
            self._hopeful_s = self._looked_s
        elif self._looked_s - self._hopeful_s >= HOPELESS_S:
            raise HostError(
                f"{self._address}: no worker takes part: {'; '.join(self.roster.refusals)}"
            )

    def _answer(self, worker: str, offer: TestbedOffer) -> None:
        """A real testbed takes part, unless there is a reason against it."""
        run = self._run
        try:
            run.write_manifest(with_testbed(run.manifest, offer.name, offer.facts))
            keep_testbed(run.directory, offer.name, offer.text)
            refusal = ""
        except NashbedError as error:
            refusal = error.message
        self._ask([worker], answer_offer, self.bundle.run, refusal)

    def _ask(self, workers: list[str], what: Callable[..., object], *more: object) -> None:
        """Have workers do something; one that is gone by now is none of the scheduler's end."""
        if not workers:  # Dask would take that for all of them
            return
        answers = self._client.run(what, *more, workers=workers, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, Exception):
                self._say(f"worker {worker} did not do what was asked: {answer!r}")

    def _withdraw(self) -> None:
        """Hand out again what no worker can run.

        Dask keeps such a task, but looks for a worker only when one comes, and ours declare what
        they offer only once they have been compared: without this a run whose workers had all died
        would wait for ever, and one that lost a testbed for that testbed.
        """
        keys = {str(each.future.key): trial for trial, each in self._handed.items()}
        for key, state in task_states(self._client, keys).items():
            if state == "no-worker":
                handed = self._handed.pop(keys[key])
                self._client.cancel([handed.future], force=True)
                self._book.put_back(handed.job)

    def _lost(self) -> HostError:
        return scheduler_is_gone(self._address)

    def _submit_waiting(self) -> None:
        seats = self.roster.seats
        if self._is_too_soon(seats):
            return
        most = sum(map(most_handed, seats.values()))
        handed = Counter(each.testbed for each in self._handed.values())
        for choose in (own_testbed_of, idle_testbed):
            for job in list(self._book.waiting):
                if len(self._handed) >= most:
                    return
                if job.id in self._handed:
                    continue
                testbed = choose(job.trial.repetition, seats, handed)
                if testbed is not None:
                    self._submit(job, testbed)
                    handed[testbed] += 1

    def _is_too_soon(self, seats: Mapping[str, int]) -> bool:
        """Real testbeds begin together: the first to answer would take what is the others'."""
        waits = self._is_undecided and time.monotonic() - self._began_s < TOGETHER_S
        return waits and "" not in seats

    def _submit(self, job: Job, testbed: str) -> None:
        request = TrialAssignment(run=self.bundle.run, trial=job.trial, attempt=job.attempt)
        key = f"{job.id}-{uuid.uuid4().hex[:8]}"
        future = self._client.submit(
            self._place.task,
            request.model_dump_json(),
            key=key,
            pure=False,
            resources={self.bundle.resource(testbed): 1},
        )
        self._handed[job.id] = SubmittedTrial(future, job, testbed)
        future.add_done_callback(lambda done: self._done.put((job.id, done)))

    def _started(self, trial: str, worker: str) -> None:
        """A worker has begun a trial, the first time or again after another has died."""
        with self._book.lock:
            handed = self._handed.get(trial)
            if handed is not None:
                self._book.begin(handed.job, f"worker {worker}", TrialStep.RUN)

    def _settled(self, job: Job, future: Future[TrialOutcome]) -> JobResult:
        """What became of a job whose future is done: sealed, failed, or to be handed out anew."""
        try:
            outcome: TrialOutcome = future.result()
        except KilledWorker as error:
            return self._killed(job, error)
        except (TimeoutError, CancelledError, OSError, ClosedClientError) as error:
            raise self._lost() from error
        self._place.on_outcome(outcome)
        where = f"worker {outcome.worker}"
        if outcome.failure:
            return JobResult(job, where, self._reason(job, outcome))
        try:
            return JobResult(job, where, self._seal(job.id, outcome))
        except ParcelError as error:  # the attempt is made again, as after a host's failure
            LOG.error("%s: %s", job.id, error.message)
            return JobResult(job, where, error)

    def _seal(self, trial: str, outcome: TrialOutcome) -> TrialRecord:
        sent = SentFacts.model_validate_json(outcome.sent)
        if not self._knows_lab:
            self._run.write_manifest(with_lab(self._run.manifest, sent.lab))
            self._knows_lab = True
        parcel = Parcel.from_bytes(outcome.parcel)
        _require_asked(trial, parcel.trial, outcome.worker)
        with self._run.directory.unsealed(trial) as folder:
            unpack(parcel, folder, self.bundle.shared_folder)
            record = read_document(folder / "trial.json", TrialRecord, "run the trial again")
            _require_asked(trial, record.id, outcome.worker)
            record = record.model_copy(update={"ran_on": sent.ran_on})
            self._run.directory.seal(trial, record)
        LOG.info("trial %s: sealed, from worker %s", trial, outcome.worker)
        return record

    def _killed(self, job: Job, error: KilledWorker) -> JobResult:
        """Dask has given a trial up, for several workers have died with it: one attempt."""
        LOG.warning("%s: %s", job.id, error)
        reason = HostError(
            f"{job.id}: workers keep dying while they run it; does it need more memory than they "
            "have?"
        )
        return JobResult(job, "several workers", reason)

    def _reason(self, job: Job, outcome: TrialOutcome) -> NashbedError | None:
        """Why a worker has no result; None: its disk is full, which is not the attempt's fault."""
        failure = Failure.model_validate_json(outcome.failure)
        LOG.error("%s: %s", job.id, failure.message)
        error = error_of(failure)
        if not isinstance(error, DiskFullError):
            return error
        self._recall()  # that worker takes no part any more
        return None

    def _recall(self) -> None:
        """Resubmit trials queued on a worker that takes no part any more.

        Dask leaves a task with the worker that it was given to, though this one withdraws the
        resource: there the trial would fail as well.
        """
        for trial, handed in list(self._handed.items()):
            if trial not in self._book.running:
                del self._handed[trial]
                self._client.cancel([handed.future], force=True)


def _require_asked(asked: str, came: str, worker: str) -> None:
    """Raise ParcelError when a worker has sent another trial than it was asked for."""
    if came != asked:
        raise ParcelError(f"worker {worker} was asked for trial {asked} and sent {came}")
