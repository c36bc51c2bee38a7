"""What the client knows of its workers, event by event, and how they come to hear each other."""

import logging
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from distributed import Client
from nashbed.controlplane.cluster import roster as roster_module
from nashbed.controlplane.cluster.request import (
    JOINED,
    LOGGED,
    OFFERS,
    REFUSED,
    STARTED,
    WANTS_KERNELS,
)
from nashbed.controlplane.cluster.roster import (
    Roster,
    await_seats,
    idle_testbed,
    in_touch,
    most_handed,
    own_testbed_of,
    workers_there,
)
from nashbed.controlplane.contract.errors import HostError
from tests.unit.controlplane.cluster.conftest import MakeBed

PATIENCE_S = 30.0


class Heard:
    """A roster, what it said, and which trials it heard of."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.started: list[tuple[str, str]] = []
        self.roster = Roster(lambda *trial: self.started.append(trial), self.said.append)

    def event(self, what: str, worker: str = "tcp://a:1", **more: Any) -> None:
        told = {"what": what, "worker": worker, "name": worker[-1], "host": "here"}
        self.roster.on_event((0.0, told | more))

    def join(self, worker: str, seats: int = 1, testbed: str = "") -> None:
        self.event(JOINED, worker, seats=seats, testbed=testbed)


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_seats_are_counted_by_testbed(heard: Heard) -> None:
    heard.join("tcp://a:1", 2)
    heard.join("tcp://a:2", 3)
    heard.join("tcp://a:3", 4, "lab")
    assert heard.roster.seats == {"": 5, "lab": 4}
    heard.join("tcp://a:2", 3)
    assert heard.roster.seats == {"": 5, "lab": 4}, "one that says it twice counts once"


def test_one_that_is_gone_is_said_once(heard: Heard) -> None:
    heard.join("tcp://a:1")
    heard.join("tcp://a:2")
    for _ in range(2):
        heard.roster.present(["tcp://a:2"])
    assert heard.roster.seats == {"": 1}
    assert heard.said == ["worker tcp://a:1 is gone; what it was running runs elsewhere"]


def test_one_reason_is_said_once(heard: Heard) -> None:
    for number in (1, 2):
        heard.event(REFUSED, f"tcp://a:{number}", reasons=["it is old", "it is slow"])
    heard.event(REFUSED, "tcp://a:3", reasons=["it is new"])
    assert heard.said == [
        "worker 1 on here takes no part: it is old; it is slow",
        "worker 3 on here takes no part: it is new",
    ]
    assert heard.roster.refusals == ["it is new", "it is old; it is slow"]


def test_there_is_hope_while_one_has_not_been_refused(heard: Heard) -> None:
    assert not heard.roster.is_hopeless([]), "some may come"
    heard.event(REFUSED, "tcp://a:1", reasons=["old"])
    assert heard.roster.is_hopeless(["tcp://a:1"])
    assert not heard.roster.is_hopeless(["tcp://a:1", "tcp://a:2"])
    heard.join("tcp://a:1")
    assert not heard.roster.is_hopeless(["tcp://a:1"])


def test_one_that_is_refused_later_has_no_seats_any_more(heard: Heard) -> None:
    heard.join("tcp://a:1", 2)
    heard.join("tcp://a:2", 1)
    heard.event(REFUSED, "tcp://a:1", reasons=["its disk is full"])
    assert heard.roster.seats == {"": 1}
    heard.roster.present(["tcp://a:2"])
    assert len(heard.said) == 1, "nobody is told that it is gone as well"
    assert heard.roster.refusals == []


def test_who_has_not_answered_is_undecided(heard: Heard) -> None:
    workers = ["tcp://a:1", "tcp://a:2"]
    assert heard.roster.is_undecided(workers)
    heard.join("tcp://a:1")
    assert heard.roster.is_undecided(workers)
    heard.event(REFUSED, "tcp://a:2", reasons=["it is old"])
    assert not heard.roster.is_undecided(workers)


def test_wishes_and_offers_are_taken_once(heard: Heard) -> None:
    heard.event(WANTS_KERNELS, "tcp://a:1")
    heard.event(OFFERS, "tcp://a:2", offer="{}")
    assert heard.roster.take_wanting() == {"tcp://a:1": "here"}
    assert heard.roster.take_offers() == {"tcp://a:2": "{}"}
    assert (heard.roster.take_wanting(), heard.roster.take_offers()) == ({}, {})


def test_what_workers_log_stands_in_the_log(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, str]] = []
    log = logging.Logger("of a test")
    log.addFilter(lambda r: lines.append((r.levelname, r.getMessage())) or False)
    monkeypatch.setattr(roster_module, "LOG", log)
    heard.event(LOGGED, level=logging.WARNING, line="the telemetry is late")
    assert lines == [("WARNING", "worker 1: the telemetry is late")]


def test_trials_that_begin_are_passed_on(heard: Heard) -> None:
    heard.event(STARTED, trial="b2bdp-k01-r0-a0")
    assert heard.started == [("b2bdp-k01-r0-a0", "1")]


class FakeClient:
    """A client whose workers come one after another, each time that it is asked."""

    class scheduler:  # noqa: N801 - as Dask names it
        address = "tcp://there:8786"

    def __init__(self, *numbers: int) -> None:
        self._numbers = list(numbers)

    def scheduler_info(self) -> dict[str, Any]:
        number = self._numbers.pop(0) if len(self._numbers) > 1 else self._numbers[0]
        return {"workers": {f"tcp://a:{n}": {"nthreads": n} for n in range(1, number + 1)}}


def seats(client: FakeClient, said: list[str], first_worker_s: float = 60.0) -> dict[str, int]:
    return await_seats(cast(Client, client), said.append, first_worker_s, settle_s=0.15)


def test_the_crew_is_complete_when_nobody_comes_any_more() -> None:
    said: list[str] = []
    assert seats(FakeClient(1, 2, 3), said) == {"tcp://a:1": 1, "tcp://a:2": 2, "tcp://a:3": 3}
    assert said == []


def test_a_wait_is_said_once() -> None:
    said: list[str] = []
    assert seats(FakeClient(*[0] * 10, 1), said) == {"tcp://a:1": 1}
    assert said == ["tcp://there:8786: waiting for workers"]


def test_the_scheduler_goes_during_the_wait() -> None:
    """A client that has given up knows of nothing any more."""

    class GivenUp(FakeClient):
        def scheduler_info(self) -> dict[str, Any]:
            return {}

    with pytest.raises(HostError, match="tcp://there:8786: the cluster's scheduler is gone"):
        seats(GivenUp(), [])


class RefreshedClient(FakeClient):
    """One whose answers Dask replaces by its totals, so many times, before they are read."""

    def __init__(self, replaced: int) -> None:
        super().__init__(2)
        self._replaced = replaced

    def scheduler_info(self) -> dict[str, Any]:
        self._replaced -= 1
        totals = {"n_workers": 2, "workers": {}}
        return totals if self._replaced >= 0 else totals | super().scheduler_info()


def test_totals_alone_are_not_taken_for_a_cluster_without_workers() -> None:
    """A run that believed them gave up its only worker, and waited for ever."""
    there = workers_there(cast(Client, RefreshedClient(3)))
    assert list(there) == ["tcp://a:1", "tcp://a:2"]
    with pytest.raises(ConnectionError, match="the client has given up"):
        workers_there(cast(Client, RefreshedClient(100)))


def test_nobody_comes() -> None:
    line = "tcp://there:8786: no worker has come within 0 s; start some with `nashbed worker tcp:"
    with pytest.raises(HostError, match=line):
        seats(FakeClient(0), [], first_worker_s=0.0)


def test_the_scheduler_knows_of_the_client_before_any_worker_does(make_bed: MakeBed) -> None:
    """No word of a worker is lost, however late a subscription is; no client is taken for gone."""
    bed, heard = make_bed(1), list[Any]()
    scheduler = bed.cluster.scheduler
    with in_touch(bed.client, "run", heard.append) as key:
        assert key in scheduler.tasks
        assert bed.client.id in scheduler._broker._topics["nashbed-run"].subscribers
        (worker,) = bed.cluster.workers.values()
        worker.loop.add_callback(worker.log_event, "nashbed-run", {"what": "joined"})
        deadline = time.monotonic() + PATIENCE_S
        while not heard and time.monotonic() < deadline:
            time.sleep(0.01)
    assert [told["what"] for _, told in heard] == ["joined"]


def test_it_waits_until_the_scheduler_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [None, None, "no-worker"]
    monkeypatch.setattr(
        roster_module, "task_states", lambda client, keys: {keys[0]: answers.pop(0)}
    )
    with in_touch(cast(Client, SubmittingClient()), "run", lambda event: None):
        assert answers == []


def test_a_scheduler_that_is_gone_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*asked: object) -> None:
        raise OSError("the connection is closed")

    monkeypatch.setattr(roster_module, "task_states", closed)
    with (
        pytest.raises(HostError, match="tcp://there:8786: the cluster's scheduler is gone"),
        in_touch(cast(Client, SubmittingClient()), "run", lambda event: None),
    ):
        pytest.fail("nobody hears")


class SubmittingClient(FakeClient):
    """A client that takes a subscription and a task."""

    def __init__(self) -> None:
        super().__init__(1)

    def subscribe_topic(self, topic: str, handler: object) -> None:
        assert topic == "nashbed-run"

    def unsubscribe_topic(self, topic: str) -> None:
        assert topic == "nashbed-run"

    def submit(self, *asked: object, **options: object) -> SimpleNamespace:
        return SimpleNamespace(release=lambda: None)


def test_repetitions_of_a_mix_go_to_different_testbeds() -> None:
    seats = {"b": 2, "a": 2, "c": 2}
    assert [own_testbed_of(r, seats, {}) for r in range(4)] == ["a", "b", "c", "a"]


def test_a_full_testbed_leaves_it_to_one_that_is_idle() -> None:
    seats = {"a": 1, "b": 3}
    assert own_testbed_of(0, seats, {"a": 1}) == "a"  # one waits there
    assert own_testbed_of(0, seats, {"a": 2, "b": 2}) is None
    assert idle_testbed(0, seats, {"a": 2, "b": 2}) == "b"
    assert idle_testbed(0, seats, {"a": 0, "b": 1}) == "b"
    assert idle_testbed(0, seats, {"a": 2, "b": 3}) is None
    assert own_testbed_of(1, seats, {"a": 2, "b": 3}) == "b"


def test_nobody_is_there_to_be_given_a_trial() -> None:
    for seats in ({}, {"a": 0}):
        assert own_testbed_of(0, seats, {}) is None
        assert idle_testbed(0, seats, {}) is None


def test_virtual_time_is_one_place() -> None:
    assert own_testbed_of(7, {"": 8}, {"": 9}) == ""
    assert own_testbed_of(7, {"": 8}, {"": 10}) is None
    assert idle_testbed(7, {"": 8}, {"": 10}) is None
    assert most_handed(8) == 10
    assert most_handed(0) == 0
