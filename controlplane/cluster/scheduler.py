"""Trials on the workers of a cluster: each is a Dask future, and what comes back is sealed here.

Only the client seals, so that an attempt has one result whatever becomes of workers: when one dies,
Dask runs its trial elsewhere, and there is no second future for it.
"""

from __future__ import annotations

import queue
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass

from distributed import Client, Future, KilledWorker

from ..contract.errors import HostError, InternalError, Interrupted, NashbedError, TargetError
from ..contract.lab_facts import LabFacts
from ..contract.trial import TrialRecord
from ..machine.kernels import find_kernel
from ..machine.log import LOG
from ..plan.resources import UNLIMITED_RESOURCES
from ..run.job_book import JobBook
from ..run.snapshot import OnProgress, Snapshot
from ..run.work import Job, Work
from ..store.documents import read_document
from ..store.errors import DiskFullError
from ..store.run_directory import RunDirectory
from .crew import address_of
from .kernels import pack_kernel
from .parcel import Parcel, unpack
from .request import Failure, Outcome, RunBundle, Sent, TestbedOffer, TrialRequest
from .roster import Roster, Say
from .spread import choose_testbed, most_handed
from .tasks import answer_offer, run_trial, take_kernels

LOOK_EVERY_S = 1.0
"""How often the client asks which workers there are."""
MOST_DEATHS = 3
"""Times that Dask may give a trial up, each after several workers have died with it."""
CLASSES: dict[str, type[NashbedError]] = {
    each.__name__: each for each in (HostError, TargetError, InternalError, DiskFullError)
}
Task = Callable[[str], Outcome]
"""What a worker does with a `TrialRequest` as JSON."""


@dataclass(frozen=True)
class Notes:
    """What a run learns from its workers.

    Attributes:
        lab: Called with what the first trial ran on, before it is sealed.
        offer: Called with a real testbed before it gets trials; raises NashbedError to refuse it.
        outcome: Called with all that comes back.
    """

    lab: Callable[[LabFacts], None]
    offer: Callable[[TestbedOffer], None]
    outcome: Callable[[Outcome], None]


@dataclass(frozen=True)
class Handed:
    """A trial that was handed out.

    Attributes:
        future: What comes of it.
        job: The trial.
        testbed: The real testbed that it was given to; empty: virtual time.
    """

    future: Future[Outcome]
    job: Job
    testbed: str


class ClusterScheduler:
    """Hands jobs out to workers and seals what they send back.

    Args:
        client: Of the cluster.
        bundle: The run.
        directory: Where sealed trials go.
        first: The first jobs, handed out in this order.
        work: Says which jobs follow from one that ended.
        notes: Told what the manifest is to say.
        say: Told what the user should know.

    Attributes:
        roster: The workers.
        task: What a worker does with a trial.
    """

    def __init__(
        self,
        client: Client,
        bundle: RunBundle,
        directory: RunDirectory,
        first: list[Job],
        work: Work,
        notes: Notes,
        say: Say,
    ) -> None:
        self._client = client
        self._bundle = bundle
        self._directory = directory
        self._book = JobBook(first, work)
        self._notes = notes
        self._say = say
        self.task: Task = run_trial
        self._handed: dict[str, Handed] = {}
        self._adrift: set[str] = set()
        self._deaths: dict[str, int] = {}
        self._done: queue.SimpleQueue[tuple[str, Future[Outcome]]] = queue.SimpleQueue()
        self._looked_s = 0.0
        self._knows_lab = False
        self.roster = Roster(self._started, say)

    def run(self, on_progress: OnProgress, every_s: float = 0.25) -> None:
        """See `TrialScheduler`."""
        try:
            while not self._book.is_done:
                self._look()
                self._hand_out()
                on_progress(self._snapshot())
                self._take_what_came(every_s)
            on_progress(self._snapshot())
        except KeyboardInterrupt as error:
            raise Interrupted("stopped; finished trials are kept") from error
        finally:
            self._client.cancel([each.future for each in self._handed.values()], force=True)

    def _snapshot(self) -> Snapshot:
        return self._book.snapshot(UNLIMITED_RESOURCES.rate_bps, reduced=False)

    def _look(self) -> None:
        """Ask which workers there are, now and then."""
        if time.monotonic() - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = time.monotonic()
        if self._client.status != "running":
            raise self._lost()
        try:
            workers = self._client.scheduler_info()["workers"]
            self.roster.present(workers)
            self._give_kernels(self.roster.take_wanting())
            for worker, offer in self.roster.take_offers().items():
                self._answer(worker, TestbedOffer.model_validate_json(offer))
            self._withdraw()
        except (TimeoutError, OSError) as error:
            raise self._lost() from error
        if self.roster.is_hopeless(workers):
            raise HostError(
                f"{address_of(self._client)}: no worker takes part: "
                f"{'; '.join(self.roster.refusals)}"
            )

    def _give_kernels(self, wanting: set[str]) -> None:
        """Workers that lack a kernel of virtual time get the client's."""
        if not wanting:
            return
        self._say(f"{len(wanting)} workers lack a kernel of virtual time: giving them ours")
        kernels = [
            (kernel.model_dump_json(), pack_kernel(find_kernel(kernel.release)))
            for kernel in self._bundle.identity.kernels
        ]
        for worker in sorted(wanting):
            self._client.run(take_kernels, self._bundle.run, kernels, workers=[worker])

    def _answer(self, worker: str, offer: TestbedOffer) -> None:
        """A real testbed takes part, unless there is a reason against it."""
        try:
            self._notes.offer(offer)
            refusal = ""
        except NashbedError as error:
            refusal = error.message
        run = self._bundle.run
        self._client.run(answer_offer, run, refusal, workers=[worker], on_error="return")

    def _withdraw(self) -> None:
        """What no worker has is handed out again.

        That is what was handed to a testbed that is gone. And Dask forgets to look again for who
        may run a task that was left without workers: ours declare what they offer only once they
        have been compared, and that is after Dask has looked.
        """
        processing = self._client.processing().values()
        assigned = {key for keys in processing for key in keys}
        adrift = {
            trial
            for trial, handed in self._handed.items()
            if handed.future.key not in assigned and handed.future.status == "pending"
        }
        for trial in adrift & self._adrift:
            handed = self._handed.pop(trial)
            self._client.cancel([handed.future], force=True)
            self._book.put_back(trial)
        self._adrift = adrift

    def _lost(self) -> HostError:
        return HostError(
            f"{address_of(self._client)}: the cluster's scheduler is gone; finished trials "
            "are kept, and `nashbed resume` goes on once there is one again"
        )

    def _hand_out(self) -> None:
        """Keep all seats busy, and a few trials waiting for them."""
        seats = self.roster.seats
        most = sum(map(most_handed, seats.values()))
        handed = Counter(each.testbed for each in self._handed.values())
        for job in list(self._book.waiting):
            if len(self._handed) >= most:
                return
            if (trial := job.trial.attempt_id(job.attempt)) in self._handed:
                continue
            testbed = choose_testbed(job.trial.repetition, seats, handed)
            if testbed is not None:
                self._submit(trial, job, testbed)
                handed[testbed] += 1

    def _submit(self, trial: str, job: Job, testbed: str) -> None:
        request = TrialRequest(run=self._bundle.run, trial=job.trial, attempt=job.attempt)
        key = f"{trial}-{uuid.uuid4().hex[:8]}"
        future = self._client.submit(
            self.task,
            request.model_dump_json(),
            key=key,
            pure=False,
            resources={self._bundle.resource(testbed): 1},
        )
        self._handed[trial] = Handed(future, job, testbed)
        future.add_done_callback(lambda done: self._done.put((trial, done)))

    def _started(self, trial: str, worker: str) -> None:
        """A worker has begun a trial, the first time or again after another has died."""
        with self._book.changed:
            handed = self._handed.get(trial)
            if handed is None:
                return
            self._book.begin(trial, handed.job, f"worker {worker}")

    def _take_what_came(self, every_s: float) -> None:
        """Seal everything that has come back, after waiting for the first of it."""
        try:
            trial, future = self._done.get(timeout=every_s)
            while True:
                self._take(trial, future)
                trial, future = self._done.get_nowait()
        except queue.Empty:
            return

    def _take(self, trial: str, future: Future[Outcome]) -> None:
        if trial not in self._handed or self._handed[trial].future.key != future.key:
            return  # it was withdrawn
        job = self._handed.pop(trial).job
        try:
            outcome: Outcome = future.result()
        except KilledWorker as error:
            self._killed(trial, error)
            return
        except (TimeoutError, CancelledError, OSError) as error:
            raise self._lost() from error
        self._notes.outcome(outcome)
        if outcome.failure:
            self._failed(job, outcome, Failure.model_validate_json(outcome.failure))
        else:
            self._book.ended(job, self._seal(trial, outcome).valid)
        self._leave(trial, job)

    def _leave(self, trial: str, job: Job) -> None:
        """A job is done: it neither runs nor waits, not even where no worker had said it began."""
        with self._book.changed:
            if trial not in self._book.running:
                self._book.begin(trial, job, "")
            self._book.free(trial)

    def _seal(self, trial: str, outcome: Outcome) -> TrialRecord:
        sent = Sent.model_validate_json(outcome.sent)
        if not self._knows_lab:
            self._notes.lab(sent.lab)
            self._knows_lab = True
        folder = self._directory.unfinished(trial)
        shutil.rmtree(folder, ignore_errors=True)
        unpack(Parcel.from_bytes(outcome.parcel), folder, self._bundle.shared_folder)
        record = read_document(folder / "trial.json", TrialRecord, "run the trial again")
        record = record.model_copy(update={"ran_on": sent.ran_on})
        self._directory.seal(trial, record)
        LOG.info("trial %s: sealed, from worker %s", trial, outcome.worker)
        return record

    def _killed(self, trial: str, error: KilledWorker) -> None:
        """Dask has given a trial up, for several workers have died with it."""
        self._deaths[trial] = self._deaths.get(trial, 0) + 1
        LOG.warning("%s: %s", trial, error)
        if self._deaths[trial] >= MOST_DEATHS:
            raise HostError(
                f"{trial}: workers keep dying while they run it; does it need more memory than "
                "they have? finished trials are kept"
            ) from error
        self._book.put_back(trial)

    def _failed(self, job: Job, outcome: Outcome, failure: Failure) -> None:
        LOG.error("%s: %s", job.trial.attempt_id(job.attempt), failure.message)
        error = CLASSES.get(failure.kind, InternalError)(failure.message)
        if isinstance(error, DiskFullError):
            self._dismiss(outcome.worker, failure)
            self._book.enqueue([job], valid=True)  # the same attempt, at another worker
            return
        retries = self._book.retries(job, error)
        if not retries:
            raise error
        self._book.enqueue(retries, valid=False)

    def _dismiss(self, worker: str, failure: Failure) -> None:
        """A worker whose disk is full takes no part any more; its trials run elsewhere."""
        self._say(f"{failure.message}; it takes no part any more")
        self._client.retire_workers([worker], close_workers=True, remove=True)
