"""Trials on the workers of a cluster: each is a Dask future, and what comes back is sealed here.

Only the client seals, so that an attempt has one result whatever becomes of workers: when one dies,
Dask runs its trial elsewhere, and there is no second future for it.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass

from distributed import Client, Future, KilledWorker
from distributed.client import ClosedClientError

from ..contract.errors import HostError, Interrupted, NashbedError
from ..contract.lab_facts import LabFacts
from ..contract.trial import TrialRecord
from ..machine.log import LOG
from ..plan.resources import UNLIMITED_RESOURCES
from ..run.job_book import JobBook
from ..run.snapshot import OnProgress, Snapshot
from ..run.steps import TrialStep
from ..run.work import Job, Work
from ..store.documents import read_document
from ..store.errors import DiskFullError
from ..store.run_directory import RunDirectory
from .kernels import KernelGiver
from .parcel import Parcel, ParcelError, unpack
from .plugin import answer_offer
from .request import Failure, RunBundle, Sent, TestbedOffer, TrialAssignment, TrialOutcome, error_of
from .roster import Roster, Say, address_of, scheduler_is_gone, task_states, workers_there
from .worker import run_trial

LOOK_EVERY_S = 1.0
"""How often the client asks which workers there are."""
HOPELESS_S = 10.0
"""How long no worker may be fit for the run: others may be starting, or coming back."""
TOGETHER_S = 10.0
"""How long the first trials wait for testbeds that have not answered yet."""
Task = Callable[[str], TrialOutcome]
"""What a worker does with a `TrialAssignment` as JSON."""


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
    outcome: Callable[[TrialOutcome], None]


@dataclass(frozen=True)
class Handed:
    """A trial that was handed out.

    Attributes:
        future: What comes of it.
        job: The trial.
        testbed: The real testbed that it was given to; empty: virtual time.
    """

    future: Future[TrialOutcome]
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
        self._address = address_of(client)  # a client that has given up does not know it any more
        self._bundle = bundle
        self._directory = directory
        self._book = JobBook(first, work, directory.note_failure)
        self._notes = notes
        self._say = say
        self.task: Task = run_trial
        self._handed: dict[str, Handed] = {}
        self._done: queue.SimpleQueue[tuple[str, Future[TrialOutcome]]] = queue.SimpleQueue()
        self._looked_s = 0.0
        self._hopeful_s = self._began_s = time.monotonic()
        self._is_undecided = True
        self._knows_lab = False
        self.roster = Roster(self._started, say)
        self._giver = KernelGiver(bundle, self._ask, say)

    def run(self, on_progress: OnProgress, every_s: float = 0.25) -> None:
        """See `TrialScheduler`."""
        try:
            while not self._book.is_done:
                self._look()
                self._hand_out()
                on_progress(self._snapshot())
                self._take_what_came(every_s)
            on_progress(self._snapshot())
            self._book.require_results()
        except KeyboardInterrupt as error:
            raise Interrupted("stopped; finished trials are kept") from error
        except ClosedClientError as error:
            raise self._lost() from error
        finally:
            self._cancel()

    def _cancel(self) -> None:
        """What is still handed out ends; of a cluster that is gone nothing is asked."""
        with suppress(ClosedClientError, TimeoutError, OSError):
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
        try:
            self._notes.offer(offer)
            refusal = ""
        except NashbedError as error:
            refusal = error.message
        run = self._bundle.run
        self._ask([worker], answer_offer, run, refusal)

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
        keys = {each.future.key: trial for trial, each in self._handed.items()}
        for key, state in task_states(self._client, keys).items():
            if state == "no-worker":
                handed = self._handed.pop(keys[key])
                self._client.cancel([handed.future], force=True)
                self._book.put_back(keys[key])

    def _lost(self) -> HostError:
        return scheduler_is_gone(self._address)

    def _hand_out(self) -> None:
        """Keep all seats busy, and a few trials waiting for them."""
        seats = self.roster.seats
        if self._is_too_soon(seats):
            return
        most = sum(map(most_handed, seats.values()))
        handed = Counter(each.testbed for each in self._handed.values())
        for choose in (own_testbed_of, idle_testbed):
            for job in list(self._book.waiting):
                if len(self._handed) >= most:
                    return
                if (trial := job.trial.attempt_id(job.attempt)) in self._handed:
                    continue
                testbed = choose(job.trial.repetition, seats, handed)
                if testbed is not None:
                    self._submit(trial, job, testbed)
                    handed[testbed] += 1

    def _is_too_soon(self, seats: Mapping[str, int]) -> bool:
        """Real testbeds begin together: the first to answer would take what is the others'."""
        waits = self._is_undecided and time.monotonic() - self._began_s < TOGETHER_S
        return waits and "" not in seats

    def _submit(self, trial: str, job: Job, testbed: str) -> None:
        request = TrialAssignment(run=self._bundle.run, trial=job.trial, attempt=job.attempt)
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
            self._book.running[trial].step = TrialStep.RUN

    def _take_what_came(self, every_s: float) -> None:
        """Seal everything that has come back, after waiting for the first of it."""
        try:
            trial, future = self._done.get(timeout=every_s)
            while True:
                self._take(trial, future)
                trial, future = self._done.get_nowait()
        except queue.Empty:
            return

    def _take(self, trial: str, future: Future[TrialOutcome]) -> None:
        if trial not in self._handed or self._handed[trial].future.key != future.key:
            return  # it was withdrawn
        job = self._handed.pop(trial).job
        try:
            outcome: TrialOutcome = future.result()
        except KilledWorker as error:
            self._killed(trial, job, error)
            return
        except (TimeoutError, CancelledError, OSError) as error:
            raise self._lost() from error
        self._notes.outcome(outcome)
        if outcome.failure:
            self._failed(job, outcome)
        else:
            self._arrived(trial, job, outcome)
        self._leave(trial, job)

    def _arrived(self, trial: str, job: Job, outcome: TrialOutcome) -> None:
        """A trial came back; one that cannot be unpacked is repeated, as after a host's failure."""
        try:
            valid = self._seal(trial, outcome).valid
        except ParcelError as error:
            LOG.error("%s: %s", trial, error.message)
            self._book.failed(job, f"worker {outcome.worker}", error)
        else:
            self._book.ended(job, valid)

    def _leave(self, trial: str, job: Job) -> None:
        """A job is done: it neither runs nor waits, not even where no worker had said it began."""
        with self._book.changed:
            if trial not in self._book.running:
                self._book.begin(trial, job, "")
            self._book.free(trial)

    def _seal(self, trial: str, outcome: TrialOutcome) -> TrialRecord:
        sent = Sent.model_validate_json(outcome.sent)
        if not self._knows_lab:
            self._notes.lab(sent.lab)
            self._knows_lab = True
        parcel = Parcel.from_bytes(outcome.parcel)
        _require_asked(trial, parcel.trial, outcome.worker)
        with self._directory.unsealed(trial) as folder:
            unpack(parcel, folder, self._bundle.shared_folder)
            record = read_document(folder / "trial.json", TrialRecord, "run the trial again")
            _require_asked(trial, record.id, outcome.worker)
            record = record.model_copy(update={"ran_on": sent.ran_on})
            self._directory.seal(trial, record)
        LOG.info("trial %s: sealed, from worker %s", trial, outcome.worker)
        return record

    def _killed(self, trial: str, job: Job, error: KilledWorker) -> None:
        """Dask has given a trial up, for several workers have died with it: one attempt."""
        LOG.warning("%s: %s", trial, error)
        reason = HostError(
            f"{trial}: workers keep dying while they run it; does it need more memory than they "
            "have?"
        )
        self._book.failed(job, "several workers", reason)
        self._leave(trial, job)

    def _failed(self, job: Job, outcome: TrialOutcome) -> None:
        """A worker has no result; where its disk is full, that is no failure of the attempt."""
        failure = Failure.model_validate_json(outcome.failure)
        LOG.error("%s: %s", job.trial.attempt_id(job.attempt), failure.message)
        error = error_of(failure)
        if isinstance(error, DiskFullError):  # that worker takes no part any more
            self._recall()
            self._book.enqueue(job)  # at another worker
        else:
            self._book.failed(job, f"worker {outcome.worker}", error)

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


AHEAD = 0.25
"""Trials that are handed out beyond the seats, so that no worker waits for the client."""


def most_handed(seats: int) -> int:
    """How many trials workers with some seats are given at once; a few wait there.

    Args:
        seats: Trials that they run at once.
    """
    return seats + max(1, int(seats * AHEAD)) if seats else 0


def own_testbed_of(
    repetition: int, seats: Mapping[str, int], handed: Mapping[str, int]
) -> str | None:
    """The testbed that a repetition belongs to, if there is room for a trial; else None.

    Each repetition of a mix has its own, so that testbeds can be compared.

    Args:
        repetition: Which repetition of its mix the trial is.
        seats: Testbed -> trials that it runs at once. Of virtual time there is one, "".
        handed: Testbed -> trials that it has been given and that have not come back.
    """
    names = sorted(name for name, number in seats.items() if number)
    if not names:
        return None
    own = names[repetition % len(names)]
    return own if handed.get(own, 0) < most_handed(seats[own]) else None


def idle_testbed(
    repetition: int, seats: Mapping[str, int], handed: Mapping[str, int]
) -> str | None:
    """Any testbed with a free seat, the freest first: for when nothing of its own waits.

    Args:
        repetition: Does not matter.
        seats: As above.
        handed: As above.
    """
    idle = [name for name, number in seats.items() if handed.get(name, 0) < number]
    return max(sorted(idle), key=lambda name: seats[name] - handed.get(name, 0), default=None)
