"""Lanes: packed by rate, repeated when invalid, stopped as one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from nashbed.controlplane.contract.errors import HostError, InternalError, Interrupted, TargetError
from nashbed.controlplane.contract.plan import Plan, PlannedTrial
from nashbed.controlplane.contract.target import Limit
from nashbed.controlplane.contract.trial import GroupMix, Setting
from nashbed.controlplane.plan.resources import UNLIMITED_RESOURCES, Resources, held_packets
from nashbed.controlplane.run.scheduler import LaneScheduler
from nashbed.controlplane.run.snapshot import Snapshot
from nashbed.controlplane.run.steps import ORDER, Steps, TrialStep
from nashbed.controlplane.run.work import ChosenWork, Job, PlannedWork
from nashbed.controlplane.store.errors import DiskFullError

MBIT = 10**6


def job(name: str, mbit: int = 100) -> Job:
    setting = Setting(
        label=name, rate_bps=mbit * MBIT, buffer_bytes=1514, buffer_label="1pkt", buffer_bdp=1,
        base_rtt_ns=(10**7,), overhead_bytes=0,
    )  # fmt: skip
    limit = Limit(unit="bytes", value=1514)
    mix = (GroupMix(group=0, name="main", counts={"cubic": 1, "bbr": 0}),)
    trial = PlannedTrial(key=name, setting=setting, mix=mix, repetition=0, seed=1, limit=limit)
    return Job(trial, 0)


def planned(jobs: list[Job], attempts: int = 3) -> PlannedWork:
    """Work of these trials alone."""
    trials = tuple(job.trial for job in jobs)
    plan = Plan(
        scenario="s", trials=trials, expected_trials=len(trials), flows_per_trial=1, trial_ns=1,
        lanes=1, estimated_seconds=1, estimated_disk_bytes=1,
    )  # fmt: skip
    return PlannedWork(plan, [], attempts)


def record(valid: bool, *failed: str) -> SimpleNamespace:
    """What the scheduler reads of a sealed trial."""
    gates = tuple(SimpleNamespace(name=name, passed=False) for name in failed)
    return SimpleNamespace(valid=valid, gates=gates)


def scheduler_of(
    jobs: list[Job], lanes: int, mbit: int, execute, packets: int = 10**6
) -> LaneScheduler:
    work = planned(jobs)
    return LaneScheduler(work.start(), work, lanes, Resources(mbit * MBIT, packets), execute)


class Lanes:
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


def run(jobs: list[Job], lanes: Lanes, count: int = 4, mbit: int = 250) -> list[Snapshot]:
    shown: list[Snapshot] = []
    scheduler = scheduler_of(jobs, count, mbit, lanes)
    scheduler.run(shown.append, every_s=0.005)
    return shown


def test_everything_runs_once_within_the_capacity() -> None:
    lanes = Lanes()
    shown = run([job(f"j{i}", 100) for i in range(9)], lanes)
    assert sorted(lanes.done) == [(f"j{i}", 0) for i in range(9)]
    assert lanes.most_mbit == 200
    assert (shown[-1].finished, shown[-1].total, shown[-1].running) == (9, 9, ())


def test_lanes_are_the_other_limit() -> None:
    lanes = Lanes()
    run([job(f"j{i}", 1) for i in range(12)], lanes, count=3)
    assert lanes.most == 3


def test_lanes_that_share_nothing_are_the_only_limit() -> None:
    """Whatever their rates; and a late trial is no reason to run fewer."""
    lanes, work = Lanes(), planned([job(f"j{i}", 10**6) for i in range(9)])
    late: list[Snapshot] = []

    def execute(job: Job, lane: int, tell: Callable[[TrialStep], None]) -> SimpleNamespace:
        lanes(job, lane, tell)
        return record(False, "round_trips") if job.attempt == 0 else record(True)

    LaneScheduler(work.start(), work, 3, UNLIMITED_RESOURCES, execute).run(
        late.append, every_s=0.005
    )
    assert lanes.most == 3
    assert len(lanes.done) == 18
    assert not any(snapshot.reduced for snapshot in late)


def test_packet_memory_is_a_limit_too() -> None:
    lanes, jobs = Lanes(), [job(f"j{i}", 1) for i in range(9)]
    room = 3 * held_packets(jobs[0].trial.setting)
    scheduler_of(jobs, 8, 250, lanes, packets=room).run(lambda snapshot: None, every_s=0.005)
    assert lanes.most == 3
    assert len(lanes.done) == 9


def test_a_small_trial_fills_the_gap_beside_a_large_one() -> None:
    lanes = Lanes()
    run([job("a", 200), job("b", 200), job("c", 50), job("d", 50)], lanes)
    assert lanes.most_mbit == 250


def test_an_invalid_trial_is_repeated_up_to_the_limit() -> None:
    lanes = Lanes(lambda job: job.trial.key != "bad")
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

    scheduler = scheduler_of([job(f"j{i}", 125) for i in range(8)], 2, 250, execute)
    scheduler.run(shown.append, every_s=0.002)
    assert min(snapshot.allowed_bps for snapshot in shown) == 200 * MBIT
    assert (shown[-1].finished, shown[-1].invalid, shown[-1].reduced) == (8, 2, False)


def test_chosen_work_goes_on_until_the_chooser_is_done() -> None:
    class Countdown:
        """Three trials, one after the other."""

        def __init__(self) -> None:
            self.left = [job("c").trial, job("b").trial, job("a").trial]
            self.told: list[tuple[str, str | None]] = []

        def ask(self) -> list[PlannedTrial]:
            return [self.left.pop()] if self.left else []

        def tell(self, trial: PlannedTrial, sealed: str | None) -> None:
            self.told.append((trial.key, sealed))

    jobs, chooser = [job("a"), job("b"), job("c"), job("d")], Countdown()
    plan = Plan(
        scenario="s", trials=tuple(j.trial for j in jobs), search="adaptive", expected_trials=2,
        flows_per_trial=1, trial_ns=1, lanes=2, estimated_seconds=1, estimated_disk_bytes=1,
    )  # fmt: skip
    work, lanes = ChosenWork(chooser, plan, [], 2), Lanes(lambda job: job.trial.key != "b")
    shown: list[Snapshot] = []
    LaneScheduler(work.start(), work, 2, Resources(10**9, 10**6), lanes).run(
        shown.append, every_s=0.005
    )
    assert lanes.done == [("a", 0), ("b", 0), ("b", 1), ("c", 0)]
    assert chooser.told == [("a", "a-a0"), ("b", None), ("c", "c-a0")]
    assert (shown[-1].finished, shown[-1].total, shown[-1].invalid) == (3, 3, 2)


def raising(error: BaseException) -> Callable[[Job], bool]:
    def answer(job: Job) -> bool:
        raise error

    return answer


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (HostError("a flow did not connect"), 3),
        (DiskFullError("full"), 1),
        (TargetError("dead"), 1),
        (InternalError("a mistake"), 1),
        (ZeroDivisionError("a mistake"), 1),
    ],
)
def test_what_ends_a_run(error: Exception, attempts: int) -> None:
    lanes = Lanes(raising(error))
    with pytest.raises(type(error)) as caught:
        run([job("a")], lanes)
    assert caught.value is error
    assert len(lanes.done) == attempts


def test_the_first_error_stops_the_other_lanes() -> None:
    def execute(job: Job, lane: int, tell: Callable[[TrialStep], None]) -> bool:
        if job.trial.key == "a":
            raise TargetError("dead")
        assert scheduler.stop.wait(10)
        raise Interrupted("stopped")

    scheduler = scheduler_of([job("b"), job("a"), job("c")], 2, 1000, execute)
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

    scheduler = scheduler_of([job("a"), job("b"), job("c")], 2, 1000, execute)
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
