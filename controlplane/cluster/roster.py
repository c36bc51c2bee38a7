"""The workers of a cluster as its client knows them: who is there, takes part, and says what."""

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from distributed import Client

from ..contract.errors import HostError
from .request import JOINED, LOGGED, OFFERS, REFUSED, STARTED, WANTS_KERNELS, topic_of

LOG = logging.getLogger(__name__)

Say = Callable[[str], None]
"""Called with a line for the user."""
Event = tuple[float, Mapping[str, Any]]
AHEAD = 0.25
"""Trials that are handed out beyond the seats, so that no worker waits for the client."""
NOBODY = "nashbed-nobody"
"""A Dask resource that no worker declares."""
AGAIN_S = 0.02
FIRST_WORKER_S = 900.0
"""How long the first worker is waited for: a batch system may let it queue."""
SETTLE_S = 1.0
"""After the first worker others are given this long: they are started together."""
POLL_S = 0.1
ASKED_AGAIN = 10
"""Times that Dask is asked for its workers, where the answer is of its totals."""


def address_of(client: Client) -> str:
    """The address of a client's scheduler."""
    scheduler: Any = client.scheduler  # Dask has no types
    return str(scheduler.address)


def scheduler_is_gone(address: str) -> HostError:
    """What the user is told when a cluster's scheduler is gone, or the network to it."""
    return HostError(
        f"{address}: the cluster's scheduler is gone; finished trials are kept, and `nashbed "
        "resume` goes on once there is one again"
    )


def workers_there(client: Client) -> dict[str, Any]:
    """The workers of a client's cluster: address -> what Dask says of it.

    Raises:
        ConnectionError: The client has lost its scheduler, and has given up.
    """
    for _ in range(ASKED_AGAIN):
        told: Any = client.scheduler_info()
        if "workers" not in told:
            break
        workers: dict[str, Any] = told["workers"]
        # Every other second Dask asks for totals alone, without workers, and keeps them in the same
        # place: they may have replaced the answer before it was read.
        if len(workers) >= told.get("n_workers", 0):
            return workers
    raise ConnectionError("the client has given up")


def task_states(client: Client, keys: Iterable[str]) -> dict[str, str | None]:
    """What the scheduler makes of tasks: key -> Dask's name of its state; None: it has none.

    Raises:
        OSError: The scheduler is gone.
    """
    scheduler: Any = client.scheduler  # Dask has no types
    ask: Any = client.sync
    states: dict[str, str | None] = ask(scheduler.get_task_status, keys=list(keys))
    return states


def await_seats(
    client: Client, say: Say, first_worker_s: float = FIRST_WORKER_S, settle_s: float = SETTLE_S
) -> dict[str, int]:
    """Wait until a cluster has workers; returns their addresses and threads.

    Args:
        settle_s: How long the number of workers must have stayed the same.

    Raises:
        HostError: None has come, or the scheduler has gone.
    """
    address = address_of(client)  # a client that has given up does not know it any more
    deadline = time.monotonic() + first_worker_s
    told, seen, since = False, 0, time.monotonic()
    while True:
        try:
            workers = workers_there(client)
        except OSError as error:
            raise scheduler_is_gone(address) from error
        now = time.monotonic()
        if len(workers) != seen:
            seen, since = len(workers), now
        if workers and now - since >= settle_s:
            return {worker: int(facts["nthreads"]) for worker, facts in workers.items()}
        if not workers and now > deadline:
            raise HostError(
                f"{address}: no worker has come within {first_worker_s:.0f} s; "
                f"start some with `nashbed worker {address}`"
            )
        if not workers and not told and now - since > 2 * settle_s:
            told = True
            say(f"{address}: waiting for workers")
        time.sleep(POLL_S)


class Roster:
    """Kept up to date by events; safe between threads.

    Args:
        on_started: Called with the trial's id and the worker's name when a trial begins there.
    """

    def __init__(self, on_started: Callable[[str, str], None], say: Say) -> None:
        self._on_started = on_started
        self._say = say
        self._seats: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._testbeds: dict[str, str] = {}
        self._wanting: dict[str, str] = {}
        self._offers: dict[str, str] = {}
        self._lock = threading.Lock()

    def on_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take an event of the run's topic into account."""
        told = event[1]
        if told["what"] == STARTED:
            self._on_started(str(told["trial"]), str(told["name"]))
        elif told["what"] == JOINED:
            with self._lock:
                self._seats[told["worker"]] = int(told["seats"])
                self._testbeds[told["worker"]] = str(told["testbed"])
                self._refused.pop(told["worker"], None)
        elif told["what"] == WANTS_KERNELS:
            with self._lock:
                self._wanting[told["worker"]] = str(told["host"])
        elif told["what"] == OFFERS:
            with self._lock:
                self._offers[told["worker"]] = str(told["offer"])
        elif told["what"] == LOGGED:
            LOG.log(int(told["level"]), "worker %s: %s", told["name"], told["line"])
        elif told["what"] == REFUSED:
            self._refuse(told)

    def _refuse(self, told: Mapping[str, Any]) -> None:
        reasons = "; ".join(str(reason) for reason in told["reasons"])
        with self._lock:
            is_new = reasons not in self._refused.values()
            self._refused[told["worker"]] = reasons
            self._seats.pop(told["worker"], None)
        if is_new:  # many workers of one machine are refused for one reason
            self._say(f"worker {told['name']} on {told['host']} takes no part: {reasons}")

    def present(self, workers: Iterable[str]) -> None:
        """Note who is there; says who is gone."""
        there = set(workers)
        with self._lock:
            gone = [address for address in self._seats if address not in there]
            for address in gone:
                del self._seats[address]
            self._refused = {a: why for a, why in self._refused.items() if a in there}
        for address in gone:
            self._say(f"worker {address} is gone; what it was running runs elsewhere")

    def is_hopeless(self, workers: Collection[str]) -> bool:
        """Whether all workers that there are have been refused."""
        with self._lock:
            return bool(workers) and all(address in self._refused for address in workers)

    def is_undecided(self, workers: Collection[str]) -> bool:
        """Whether some of the workers that there are neither take part nor were refused yet."""
        with self._lock:
            answered = self._seats.keys() | self._refused.keys()
            return not answered.issuperset(workers)

    def take_wanting(self) -> dict[str, str]:
        """Workers that lack a kernel of virtual time, each of them once -> their machines."""
        with self._lock:
            wanting, self._wanting = self._wanting, {}
        return wanting

    def take_offers(self) -> dict[str, str]:
        """Workers that offer a real testbed -> a `TestbedOffer` as JSON, each of them once."""
        with self._lock:
            offers, self._offers = self._offers, {}
        return offers

    @property
    def seats(self) -> dict[str, int]:
        """Testbed -> trials that can run on it at once. Of virtual time there is one, ""."""
        with self._lock:
            total: Counter[str] = Counter()
            for worker, seats in self._seats.items():
                total[self._testbeds[worker]] += seats
            return dict(total)

    @property
    def refusals(self) -> list[str]:
        """Why workers that are there take no part, each reason once."""
        with self._lock:
            return sorted(set(self._refused.values()))


def most_handed(seats: int) -> int:
    """How many trials workers with some seats are given at once; a few wait there."""
    return seats + max(1, int(seats * AHEAD)) if seats else 0


def own_testbed_of(
    repetition: int, seats: Mapping[str, int], handed: Mapping[str, int]
) -> str | None:
    """The testbed that a repetition belongs to, if there is room for a trial; else None.

    Each repetition of a mix has its own, so that testbeds can be compared.

    Args:
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
    """Any testbed with a free seat, the freest first: for when nothing of its own waits."""
    idle = [name for name, number in seats.items() if handed.get(name, 0) < number]
    return max(sorted(idle), key=lambda name: seats[name] - handed.get(name, 0), default=None)


@contextmanager
def in_touch(client: Client, run: str, on_event: Callable[[Event], None]) -> Iterator[str]:
    """Hear the workers of a run, and let them know that its client is there, until the block ends.

    The client wants one task as long as it is there, which no worker may run. When its connection
    ends, however that comes, the scheduler lets go of what it wanted, and forgets that task. So
    workers ask for the task's state (`client_is_gone`): one word to each who asks, without code of
    ours at the scheduler. Dask tells the same by the client's events, but among one for each trial
    that it has submitted, and by the lease of a Semaphore, but half a minute later.

    Subscription and task take another way to the scheduler than plugins do, one after the other:
    once it knows the task, it passes on whatever a worker says, from the first word on, and no
    worker takes the client for gone.

    Args:
        run: The run's name, as in `RunBundle`.
        on_event: Called with each event of the run's topic, in a thread of the client's.

    Yields:
        What workers ask for: the task's key.

    Raises:
        HostError: The scheduler is gone.
    """
    address, key = address_of(client), f"nashbed-client-{run}-{uuid.uuid4().hex[:8]}"
    client.subscribe_topic(topic_of(run), on_event)
    wanted = client.submit(bool, key=key, pure=False, resources={NOBODY: 1})
    try:
        while task_states(client, [key])[key] is None:
            time.sleep(AGAIN_S)
    except OSError as error:
        raise scheduler_is_gone(address) from error
    try:
        yield key
    finally:
        wanted.release()
        try:
            client.unsubscribe_topic(topic_of(run))
        except Exception as error:
            LOG.info("%s: the topic was not given up: %s", topic_of(run), error)
