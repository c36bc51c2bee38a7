"""One dispatcher: jobs on lanes, packed by rate, repeated when invalid, stopped as one."""

import errno
import threading
import time
from collections.abc import Callable, Hashable
from types import SimpleNamespace

import pytest
from nashbed.controlplane.contract.errors import (
    EXIT_TARGET,
    HostError,
    InternalError,
    Interrupted,
    NashbedError,
    PrerequisiteError,
    TargetError,
)
from nashbed.controlplane.contract.plan import Plan, PlannedTrial
from nashbed.controlplane.contract.target import Limit
from nashbed.controlplane.contract.testbed import ASSUMED_CAPACITY, MIB
from nashbed.controlplane.contract.trial import FailedAttempt, GroupMix, Setting
from nashbed.controlplane.machine.c_files.ebpf_loader import CcasLostError
from nashbed.controlplane.machine.guest.memory import MemoryRoom
from nashbed.controlplane.machine.kernels.cache import NoKernelError
from nashbed.controlplane.machine.process.command import CommandTimeoutError
from nashbed.controlplane.plan.estimates import (
    UNLIMITED_RESOURCES,
    Resources,
    guest_takes_bytes,
    held_packets,
)
from nashbed.controlplane.run import lanes as lanes_module
from nashbed.controlplane.run.dispatcher import HOPELESS_ATTEMPTS, JobBook, dispatch, watch
from nashbed.controlplane.run.lanes import GuestMemory, SharedLanes
from nashbed.controlplane.run.progress import ORDER, OnProgress, OnStep, Snapshot, Steps, TrialStep
from nashbed.controlplane.run.this_machine import LaneWorkers
from nashbed.controlplane.run.work import ChosenWork, Job, PlannedWork, Work
from nashbed.controlplane.store.errors import DiskFullError

MBIT = 10**6
Execute = Callable[[Job, int, OnStep], SimpleNamespace]


def job(name: str, mbit: int = 100) -> Job:
    setting = Setting(
        label=name, rate_bps=mbit * MBIT, buffer_bytes=1514, buffer_label="1pkt", buffer_bdp=1,
        base_rtt_ns=(10**7,), limit=Limit(unit="bytes", value=1514),
    )  # fmt: skip
    mix = (GroupMix(group=0, name="main", counts={"cubic": 1, "bbr": 0}),)
    trial = PlannedTrial(key=name, setting=setting, mix=mix, repetition=0)
    return Job(trial, 0)


def planned(jobs: list[Job], attempts: int = 3) -> PlannedWork:
    """Work of these trials alone."""
    trials = tuple(job.trial for job in jobs)
    plan = Plan(
        scenario="s", trials=trials, expected_trials=len(trials), flows_per_trial=1, trial_ns=1,
        lanes=1, estimated_seconds=1, estimated_disk_bytes=1,
        capacity=ASSUMED_CAPACITY,
    )  # fmt: skip
    return PlannedWork(plan, [], attempts)


def record(valid: bool, *failed: str) -> SimpleNamespace:
    """What is read of a sealed trial."""
    gates = tuple(SimpleNamespace(name=name, passed=False) for name in failed)
    return SimpleNamespace(id="a trial", valid=valid, gates=gates)


class OnLanes:
    """Jobs on fake lanes.

    Args:
        room: What they share.
        memory: What guests may take.
    """

    def __init__(
        self,
        work: Work,
        lanes: int,
        room: Resources,
        execute: Execute,
        keep: Callable[[FailedAttempt], object] = lambda failure: None,
        memory: GuestMemory | None = None,
    ) -> None:
        self.stop = threading.Event()
        self._execute = execute
        self._book = JobBook(work.start(), work, keep)
        self._workers = LaneWorkers(self._book, SharedLanes(lanes, room, memory), self._run)

    def _run(self, job: Job, lane: int, stop: threading.Event, tell: OnStep) -> SimpleNamespace:
        self.stop = stop
        return self._execute(job, lane, tell)

    def run(self, on_progress: OnProgress, every_s: float = 0.25) -> None:
        watch(dispatch(self._book, self._workers, every_s), on_progress)


def on_lanes(
    jobs: list[Job],
    lanes: int,
    mbit: int,
    execute: Execute,
    packets: int = 10**6,
    failures: list[FailedAttempt] | None = None,
    memory: GuestMemory | None = None,
) -> OnLanes:
    keep = [].append if failures is None else failures.append
    return OnLanes(planned(jobs), lanes, Resources(mbit * MBIT, packets), execute, keep, memory)


class FakeTrials:
    """Executes jobs for a moment and watches what runs at the same time."""

    def __init__(self, answer: Callable[[Job], bool] = lambda job: True) -> None:
        self.answer = answer
        self.lock = threading.Lock()
        self.rates: dict[int, int] = {}
        self.most_mbit = 0
        self.most = 0
        self.done: list[tuple[str, int]] = []

    def __call__(self, job: Job, lane: int, tell: Callable[[TrialStep], None]) -> SimpleNamespace:
        with self.lock:
            assert lane not in self.rates
            self.rates[lane] = job.trial.setting.rate_bps // MBIT
            self.most_mbit = max(self.most_mbit, sum(self.rates.values()))
            self.most = max(self.most, len(self.rates))
        time.sleep(0.02)
        with self.lock:
            del self.rates[lane]
            self.done.append((job.trial.key, job.attempt))
        return record(self.answer(job))


def run(jobs: list[Job], lanes: FakeTrials, count: int = 4, mbit: int = 250) -> list[Snapshot]:
    shown: list[Snapshot] = []
    scheduler = on_lanes(jobs, count, mbit, lanes)
    scheduler.run(shown.append, every_s=0.005)
    return shown


def test_everything_runs_once_within_the_capacity() -> None:
    lanes = FakeTrials()
    shown = run([job(f"j{i}", 100) for i in range(9)], lanes)
    assert sorted(lanes.done) == [(f"j{i}", 0) for i in range(9)]
    assert lanes.most_mbit == 200
    assert (shown[-1].finished, shown[-1].total, shown[-1].running) == (9, 9, ())


def test_lanes_are_the_other_limit() -> None:
    lanes = FakeTrials()
    run([job(f"j{i}", 1) for i in range(12)], lanes, count=3)
    assert lanes.most == 3


def test_lanes_that_share_nothing_are_the_only_limit() -> None:
    """Whatever their rates; and a late trial is no reason to run fewer."""
    lanes, work = FakeTrials(), planned([job(f"j{i}", 4 * 10**5) for i in range(9)])
    late: list[Snapshot] = []

    def execute(job: Job, lane: int, tell: Callable[[TrialStep], None]) -> SimpleNamespace:
        lanes(job, lane, tell)
        return record(False, "round_trips") if job.attempt == 0 else record(True)

    OnLanes(work, 3, UNLIMITED_RESOURCES, execute).run(late.append, every_s=0.005)
    assert lanes.most == 3
    assert len(lanes.done) == 18
    assert not any(snapshot.reduced for snapshot in late)


def test_packet_memory_is_a_limit_too() -> None:
    lanes, jobs = FakeTrials(), [job(f"j{i}", 1) for i in range(9)]
    room = 3 * held_packets(jobs[0].trial.setting)
    on_lanes(jobs, 8, 250, lanes, packets=room).run(lambda snapshot: None, every_s=0.005)
    assert lanes.most == 3
    assert len(lanes.done) == 9


def test_a_small_trial_fills_the_gap_beside_a_large_one() -> None:
    lanes = FakeTrials()
    run([job("a", 200), job("b", 200), job("c", 50), job("d", 50)], lanes)
    assert lanes.most_mbit == 250


def test_an_invalid_trial_is_repeated_up_to_the_limit() -> None:
    lanes = FakeTrials(lambda job: job.trial.key != "bad")
    shown = run([job("good"), job("bad")], lanes)
    assert sorted(lanes.done) == [("bad", 0), ("bad", 1), ("bad", 2), ("good", 0)]
    assert (shown[-1].finished, shown[-1].invalid) == (2, 3)


def test_late_trials_slow_the_run_down_once_and_it_recovers() -> None:
    """Both of the first pair are late from one cause: one cut, from 250 to 200 Mbit/s."""
    late = iter([True, True])
    shown: list[Snapshot] = []

    def execute(job: Job, lane: int, tell: Callable[[TrialStep], None]) -> SimpleNamespace:
        time.sleep(0.02)
        return record(False, "round_trips") if next(late, False) else record(True)

    scheduler = on_lanes([job(f"j{i}", 125) for i in range(8)], 2, 250, execute)
    scheduler.run(shown.append, every_s=0.002)
    assert min(snapshot.allowed_bps for snapshot in shown) == 200 * MBIT
    assert (shown[-1].finished, shown[-1].invalid, shown[-1].reduced) == (8, 2, False)


class InTurn:
    """Chooses these trials, one after the other."""

    def __init__(self, *names: str) -> None:
        self.left = [job(name).trial for name in reversed(names)]
        self.told: list[tuple[str, str | None]] = []

    def ask(self) -> list[PlannedTrial]:
        return [self.left.pop()] if self.left else []

    def tell(self, trial: PlannedTrial, sealed: str | None) -> None:
        self.told.append((trial.key, sealed))


def test_chosen_work_goes_on_until_the_chooser_is_done() -> None:
    jobs, chooser = [job("a"), job("b"), job("c"), job("d")], InTurn("a", "b", "c")
    plan = Plan(
        scenario="s", trials=tuple(j.trial for j in jobs), search="adaptive", expected_trials=2,
        flows_per_trial=1, trial_ns=1, lanes=2, estimated_seconds=1, estimated_disk_bytes=1,
        capacity=ASSUMED_CAPACITY,
    )  # fmt: skip
    work, lanes = ChosenWork(chooser, plan, [], 2), FakeTrials(lambda job: job.trial.key != "b")
    shown: list[Snapshot] = []
    OnLanes(work, 2, Resources(10**9, 10**6), lanes).run(shown.append, every_s=0.005)
    assert lanes.done == [("a", 0), ("b", 0), ("b", 1), ("c", 0)]
    assert chooser.told == [("a", "a-a0"), ("b", None), ("c", "c-a0")]
    assert (shown[-1].finished, shown[-1].total, shown[-1].invalid) == (3, 3, 2)


def raising(error: BaseException) -> Callable[[Job], bool]:
    def answer(job: Job) -> bool:
        raise error

    return answer


@pytest.mark.parametrize(
    "error",
    [
        DiskFullError("full"),
        CcasLostError("nashbed-cc has ended"),
        NoKernelError("none is built"),
        PrerequisiteError("not root"),
        TargetError("the data plane of all lanes is dead"),
        InternalError("a mistake"),
        ZeroDivisionError("a mistake"),
        OSError(errno.EIO, "a broken disk"),
    ],
)
def test_what_would_fail_again_ends_a_run(error: Exception) -> None:
    lanes, failures = FakeTrials(raising(error)), list[FailedAttempt]()
    jobs = [job(f"j{i}") for i in range(9)]
    with pytest.raises(type(error)) as caught:
        on_lanes(jobs, 1, 250, lanes, failures=failures).run(lambda _: None)
    assert caught.value is error
    assert (len(lanes.done), failures) == (1, [])


MOMENTS = [
    HostError("a flow did not connect"),
    CommandTimeoutError("it took too long"),
    TargetError("guest: killed", repeatable=True),
    MemoryError(),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
]


@pytest.mark.parametrize("error", MOMENTS)
def test_a_bad_moment_is_one_attempt_which_is_made_again(error: Exception) -> None:
    left = [error]

    def answer(job: Job) -> bool:
        if job.trial.key == "b" and left:
            raise left.pop()
        return True

    lanes, failures, shown = FakeTrials(answer), list[FailedAttempt](), list[Snapshot]()
    on_lanes([job("a"), job("b"), job("c")], 1, 250, lanes, failures=failures).run(shown.append)
    assert lanes.done == [("a", 0), ("b", 0), ("c", 0), ("b", 0)]
    (failure,) = failures
    assert (failure.trial, failure.where, failure.repeated) == ("b-a0", "lane 0", True)
    assert failure.reason == (error.message if isinstance(error, NashbedError) else repr(error))
    assert (shown[-1].finished, shown[-1].invalid, shown[-1].failures) == (3, 0, (failure,))


def test_a_trial_that_never_succeeds_is_given_up_and_the_others_run() -> None:
    def answer(job: Job) -> bool:
        if job.trial.key == "b":
            raise HostError("it needs more memory than there is")
        return True

    lanes, failures, shown = FakeTrials(answer), list[FailedAttempt](), list[Snapshot]()
    jobs = [job(name) for name in "abcd"]
    on_lanes(jobs, 1, 250, lanes, failures=failures).run(shown.append)
    assert [name for name, _ in lanes.done] == ["a", "b", "c", "d", "b", "b"]
    assert [failure.repeated for failure in failures] == [True, True, False]
    assert (shown[-1].finished, shown[-1].total) == (4, 4)


def test_attempts_that_failed_and_those_that_were_invalid_count_together() -> None:
    answers = iter([HostError("killed"), False, HostError("killed")])

    def answer(job: Job) -> bool:
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    lanes, failures = FakeTrials(answer), list[FailedAttempt]()
    on_lanes([job("a")], 1, 250, lanes, failures=failures).run(lambda _: None)
    assert lanes.done == [("a", 0), ("a", 0), ("a", 1)]
    assert [failure.trial for failure in failures] == ["a-a0", "a-a1"]


@pytest.mark.parametrize("number", [1, 2, 3, 1000])
def test_a_machine_on_which_every_trial_fails_ends_the_run_soon(number: int) -> None:
    error = TargetError("guest did not report 'ready' within 60 s", repeatable=True)
    lanes = FakeTrials(raising(error))
    with pytest.raises(HostError, match=r"attempts in a row failed, .*: guest did not") as caught:
        run([job(f"j{i}") for i in range(number)], lanes, count=1)
    assert caught.value.exit_code == EXIT_TARGET
    assert len(lanes.done) == min(3 * number, HOPELESS_ATTEMPTS)


def test_trials_that_fail_now_and_then_end_no_run() -> None:
    """Eight of nine are given up, twice, but never nine one after the other."""

    def answer(job: Job) -> bool:
        if int(job.trial.key) % HOPELESS_ATTEMPTS:
            raise HostError("killed")
        return True

    shown: list[Snapshot] = []
    work = planned([job(str(i)) for i in range(2 * HOPELESS_ATTEMPTS)], attempts=1)
    room, lanes = Resources(10**9, 10**6), FakeTrials(answer)
    OnLanes(work, 1, room, lanes).run(shown.append)
    assert (shown[-1].finished, len(shown[-1].failures)) == (18, 16)


def test_a_failure_that_cannot_be_kept_ends_the_run() -> None:
    def keep(failure: FailedAttempt) -> None:
        raise DiskFullError("full")

    work = planned([job("a"), job("b")])
    lanes, room = FakeTrials(raising(HostError("killed"))), Resources(10**9, 10**6)
    with pytest.raises(DiskFullError):
        OnLanes(work, 1, room, lanes, keep).run(lambda _: None)
    assert len(lanes.done) == 1


TAKES = guest_takes_bytes(job("any").trial.setting)


class Memory:
    """Memory of a machine with guests on some lanes that have all of theirs at once."""

    def __init__(self, lanes: FakeTrials, guests: float, total: int = 10**12) -> None:
        self.lanes = lanes
        self.free_bytes = int(guests * TAKES)
        self.total_bytes = total
        self.port = GuestMemory(self.held_bytes, self.room)

    def held_bytes(self, lane: Hashable) -> int:
        return TAKES if lane in self.lanes.rates else 0

    def room(self) -> MemoryRoom:
        held = TAKES * len(self.lanes.rates)
        return MemoryRoom(self.free_bytes - held, self.total_bytes, "a test")


def test_lanes_start_as_many_guests_as_memory_is_for() -> None:
    lanes, shown = FakeTrials(), list[Snapshot]()
    memory = Memory(lanes, 2.5)
    jobs = [job(f"j{i}") for i in range(9)]
    on_lanes(jobs, 4, 10**4, lanes, memory=memory.port).run(shown.append, every_s=0.002)
    assert lanes.most == 2
    assert len(lanes.done) == 9
    said = {snapshot.held_up for snapshot in shown} - {""}
    free, takes = int(0.5 * TAKES) // MIB, TAKES // MIB
    assert said == {f"{free} MiB of memory left (a test), a trial takes {takes}"}
    assert shown[-1].held_up == ""


def test_a_guest_that_has_not_yet_grown_has_its_memory_reserved() -> None:
    lanes = FakeTrials()
    port = GuestMemory(lambda lane: 0, lambda: MemoryRoom(int(1.5 * TAKES), 10**12, "a test"))
    on_lanes([job(f"j{i}") for i in range(4)], 4, 10**4, lanes, memory=port).run(lambda _: None)
    assert lanes.most == 1


def test_a_single_trial_starts_however_little_memory_there_is() -> None:
    lanes = FakeTrials()
    memory = Memory(lanes, 0.1)
    on_lanes([job("a"), job("b")], 4, 10**4, lanes, memory=memory.port).run(lambda _: None)
    assert (lanes.most, len(lanes.done)) == (1, 2)


class Starved:
    """Fails once, with no memory left; then there is some again after a few looks."""

    def __init__(self, looks: int, total: int = 10**12) -> None:
        self.looks = looks
        self.asked = 0
        self.lanes = FakeTrials(self.answer)
        self.total_bytes = total
        self.port = GuestMemory(lambda lane: 0, self.room)

    def answer(self, job: Job) -> bool:
        if len(self.lanes.done) == 1:
            raise TargetError("guest: killed", repeatable=True)
        return True

    def room(self) -> MemoryRoom:
        self.asked += bool(self.lanes.done)
        enough = not self.lanes.done or self.asked > self.looks
        return MemoryRoom(2 * TAKES if enough else 0, self.total_bytes, "a test")


def test_a_trial_that_failed_waits_until_memory_is_there() -> None:
    starved, shown = Starved(looks=3), list[Snapshot]()
    on_lanes([job("a")], 1, 10**4, starved.lanes, memory=starved.port).run(shown.append)
    assert starved.asked == 4
    assert starved.lanes.done == [("a", 0), ("a", 0)]
    assert any("0 MiB of memory left" in snapshot.held_up for snapshot in shown)


def test_it_waits_neither_for_ever_nor_for_more_than_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = Starved(looks=10**9, total=TAKES - 1)
    on_lanes([job("a")], 1, 10**4, small.lanes, memory=small.port).run(lambda _: None)
    assert len(small.lanes.done) == 2
    monkeypatch.setattr(lanes_module, "MEMORY_PAUSE_S", 0.2)
    starved = Starved(looks=10**9)
    on_lanes([job("a")], 1, 10**4, starved.lanes, memory=starved.port).run(lambda _: None)
    assert len(starved.lanes.done) == 2


def test_ctrl_c_ends_the_wait_for_memory() -> None:
    def show(snapshot: Snapshot) -> None:
        if snapshot.held_up and not scheduler.stop.is_set():
            raise KeyboardInterrupt

    starved = Starved(looks=10**9)
    scheduler = on_lanes([job("a")], 1, 10**4, starved.lanes, memory=starved.port)
    with pytest.raises(Interrupted):
        scheduler.run(show)
    assert len(starved.lanes.done) == 1


def test_the_first_error_stops_the_other_lanes() -> None:
    def execute(job: Job, lane: int, tell: Callable[[TrialStep], None]) -> bool:
        if job.trial.key == "a":
            raise TargetError("dead")
        assert scheduler.stop.wait(10)
        raise Interrupted("stopped")

    scheduler = on_lanes([job("b"), job("a"), job("c")], 2, 1000, execute)
    with pytest.raises(TargetError, match="dead"):
        scheduler.run(lambda snapshot: None)


def test_ctrl_c_stops_every_lane_and_waits_for_it() -> None:
    ended = []

    def execute(job: Job, lane: int, tell: Callable[[TrialStep], None]) -> bool:
        assert scheduler.stop.wait(10)
        time.sleep(0.05)
        ended.append(job.trial.key)
        raise Interrupted("stopped")

    def show(snapshot: Snapshot) -> None:
        if len(snapshot.running) == 2 and not scheduler.stop.is_set():
            raise KeyboardInterrupt

    scheduler = on_lanes([job("a"), job("b"), job("c")], 2, 1000, execute)
    with pytest.raises(Interrupted, match="finished trials are kept"):
        scheduler.run(show, every_s=0.005)
    assert sorted(ended) == ["a", "b"]


def test_steps_come_in_order() -> None:
    told: list[TrialStep] = []
    steps = Steps("t", told.append)
    for step in ORDER:
        steps.enter(step)
    assert told == list(ORDER)


@pytest.mark.parametrize("last", ORDER[: ORDER.index(TrialStep.RESTORE)])
def test_restore_follows_every_step_on_the_lane_and_nothing_follows_a_failed_one(
    last: TrialStep,
) -> None:
    steps = Steps("t", lambda step: None)
    for step in ORDER[: ORDER.index(last) + 1]:
        steps.enter(step)
    steps.enter(TrialStep.RESTORE)
    with pytest.raises(InternalError, match="restore cannot follow restore"):
        steps.enter(TrialStep.RESTORE)
    if last is not TrialStep.STOP:
        with pytest.raises(InternalError, match="collect cannot follow restore"):
            steps.enter(TrialStep.COLLECT)


def test_no_step_is_skipped() -> None:
    steps = Steps("t", lambda step: None)
    steps.enter(TrialStep.VALIDATE)
    with pytest.raises(InternalError, match="program cannot follow validate"):
        steps.enter(TrialStep.PROGRAM)


def test_a_search_goes_on_without_a_trial_that_failed() -> None:
    """The chooser learns that there is no result, and picks another."""
    jobs, chooser, failures = [job("a"), job("b")], InTurn("a", "b"), list[FailedAttempt]()

    def answer(job: Job) -> bool:
        if job.trial.key == "a":
            raise HostError("killed")
        return True

    plan = Plan(
        scenario="s", trials=tuple(j.trial for j in jobs), search="adaptive", expected_trials=2,
        flows_per_trial=1, trial_ns=1, lanes=1, estimated_seconds=1, estimated_disk_bytes=1,
        capacity=ASSUMED_CAPACITY,
    )  # fmt: skip
    work, lanes = ChosenWork(chooser, plan, [], 2), FakeTrials(answer)
    room = Resources(10**9, 10**6)
    OnLanes(work, 1, room, lanes, failures.append).run(lambda _: None)
    assert chooser.told == [("a", None), ("b", "b-a0")]
    assert [failure.repeated for failure in failures] == [True, False]
