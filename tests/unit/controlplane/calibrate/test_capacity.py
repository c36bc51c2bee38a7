"""Lanes are counted: the search on made-up machines, levels against the fakes, the benchmarks."""

import json
import os
import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from nashbed.controlplane.bench.lanes import bench_lanes
from nashbed.controlplane.calibrate import capacity as measure_module
from nashbed.controlplane.calibrate.capacity import (
    Capacities,
    LaneCount,
    Search,
    judged,
    lone_share,
    measure_lanes,
)
from nashbed.controlplane.calibrate.level import Lanes, measuring_bed, why_not
from nashbed.controlplane.cli import bench as bench_commands
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.certificate import (
    Lateness,
    LevelAttempt,
    LoneShare,
    RoundTripError,
    Stalls,
)
from nashbed.controlplane.contract.errors import ConfigError, HostError, Interrupted
from nashbed.controlplane.contract.target import Capabilities
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.machine.host.counters import read_ticks, shares
from nashbed.controlplane.machine.host.stalls import sum_up, watch_machine
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.targets import capabilities_of
from tests.fakes.session import FakeSession
from tests.unit.controlplane.conftest import TESTBED

MBIT = 10**6
SHORT = Lanes(seconds=1.0, flows=2)


class Machine:
    """Carries a number of lanes; below that, a level fails by chance now and then.

    Args:
        ceiling: The number.
        chance: Of a failure below the ceiling, by seed.
    """

    def __init__(self, ceiling: int, chance: float = 0.0, seed: int = 0) -> None:
        self._ceiling = ceiling
        self._chance = chance
        self._random = random.Random(seed)
        self.tried: list[int] = []

    def __call__(self, lanes: int) -> LevelAttempt:
        self.tried.append(lanes)
        passed = lanes <= self._ceiling and self._random.random() >= self._chance
        return LevelAttempt(lanes=lanes, rate_bps=lanes * 50 * MBIT, passed=passed)


@pytest.mark.parametrize("ceiling", [*range(14), 23, 24, 25, 63, 64, 1000])
@pytest.mark.parametrize("start", [1, 12, 100])
def test_the_ceiling_is_found_and_confirmed(ceiling: int, start: int) -> None:
    machine = Machine(ceiling)
    found = Search(machine, attempts=2).most(start, largest=64)
    assert found == min(ceiling, 64)
    assert max(machine.tried) <= 64
    if found:
        assert machine.tried.count(found) == 2
        assert found == 64 or machine.tried.count(found + 1) == 2
    # Growing by half and halving what is left takes logarithmically many levels.
    assert len(set(machine.tried)) <= 14


def test_a_failure_by_chance_is_no_ceiling() -> None:
    """One attempt in ten fails: a level, tried twice, is missed once in a hundred."""
    found = [Search(Machine(20, 0.1, seed), attempts=2).most(12, 64) for seed in range(300)]
    assert max(found) == 20  # whatever chance does, no level above the ceiling passes
    assert found.count(20) > 270
    hasty = [Search(Machine(20, 0.1, seed), attempts=1).most(12, 64) for seed in range(300)]
    assert hasty.count(20) < found.count(20)


@pytest.mark.parametrize("seed", range(50))
def test_what_is_found_passed_twice_however_noisy_the_machine(seed: int) -> None:
    search = Search(Machine(20, 0.5, seed), attempts=2)
    found = search.most(12, 64)
    assert 0 <= found <= 20
    passed = [made for made in search.made if made.lanes == found and made.passed]
    assert found == 0 or len(passed) >= 2


def test_what_passed_before_the_search_is_known_to_it() -> None:
    machine = Machine(5)
    search = Search(machine, attempts=1)
    assert search.passes(2)
    assert search.most(8, 64) == 5
    assert 1 not in machine.tried


def bed(lanes: int = 4):
    return parse_testbed(TESTBED + f"dataplane: {{lanes: {lanes}}}\n", "fake.yaml")


def count_lanes(what: Capacities, lanes: int = 4) -> tuple[LaneCount, list[str]]:
    sessions: list[FakeSession] = []
    told: list[str] = []

    def make_session(run):
        sessions.append(FakeSession())
        return sessions[-1]

    place = ThisMachine(make_session, lambda _: Path("x"))
    with tempfile.TemporaryDirectory() as own, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", own)
        try:
            found = measure_lanes(bed(lanes), what, told.append, place)
        finally:
            assert all(session.calls[-1] == "close" for session in sessions)
            assert list(Path(own).iterdir()) == []
    return found, told


@pytest.mark.slow
def test_lanes_are_trials_of_ordinary_runs() -> None:
    """The testbed of the tests states 250 Mbit/s: that bounds runs, not this."""
    found, told = count_lanes(Capacities(SHORT, start=2, most=3), lanes=8)
    assert (found.lanes, found.rate_bps) == (3, 150 * MBIT)
    assert [level.lanes for level in found.levels] == [2, 2, 2, 2, 2, 3, 3]
    assert all(level.passed and level.valid_lanes == level.lanes for level in found.levels)
    assert len(told) == 7
    assert found.few is not None
    assert found.few.lanes == 8
    assert "the lone CUBIC flow gets 50.0 +- 0.0 %" in told[-1]
    assert "3 lanes, 150 Mbit/s; every gate passed; p99.9 lateness 20 us; round trips " in told[-1]
    assert "round trips 0.0 us too long on average, 0.0005 ms at most" in told[-1]
    most = found.passed_at(3)
    assert len(most) == 2
    assert most[0].lateness == Lateness(p50_ns=9, p999_ns=20_000, max_ns=20_000, max_gap_ns=1000)
    assert 0 < most[0].together_s <= 1.0
    for core in most[0].cores:
        whole = core.user + core.system + core.softirq + core.idle + core.steal
        assert whole == pytest.approx(1)


@pytest.mark.slow
def test_gates_that_fail_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "held_up")
    found, told = count_lanes(Capacities(SHORT, start=1, attempts=1))
    assert found.lanes == 0
    assert [level.failed for level in found.levels] == [{"round_trips": 2}] * 4 + [
        {"round_trips": 1}
    ]
    assert found.few is None
    assert found.levels[0].reason.startswith("round_trips: round trips 6 ms too long")
    assert "failed (round_trips of 2)" in told[0]


@pytest.mark.slow
def test_a_machine_that_can_run_nothing_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FLOWS", "no_connect")
    with pytest.raises(HostError, match=r"no lane finished: .*connection timed out"):
        count_lanes(Capacities(SHORT, start=1, attempts=1))


def probed(lanes: int, share: float, passed: bool = True) -> LevelAttempt:
    shares = tuple(share + 0.01 * (i % 2) for i in range(lanes))
    return LevelAttempt(lanes=lanes, rate_bps=lanes * 50 * MBIT, passed=passed, lone_shares=shares)


def test_a_level_that_changes_the_lone_flows_share_fails() -> None:
    few = lone_share([0.15, 0.16, 0.17])
    assert few is not None
    assert (few.mean, few.lanes) == (pytest.approx(0.16), 3)
    assert few.ci95 == pytest.approx(4.303 * 0.01 / 3**0.5, rel=1e-3)
    assert judged(probed(12, 0.136), few).passed
    assert judged(probed(12, 0.174), few).passed
    changed = judged(probed(12, 0.12), few)
    assert not changed.passed
    assert changed.failed == {"lone_share": 12}
    assert "gets 12.5 +- 0.3 % of the throughput, 16.0 +- 2.5 % with few lanes" in changed.reason
    assert judged(probed(12, 0.12), None).passed
    assert judged(probed(12, 0.12, passed=False), few).failed == {}
    assert lone_share([]) is None
    assert LoneShare(mean=0.5, ci95=None, lanes=1).in_percent() == "50.0 %"


def test_what_load_does_to_shares() -> None:
    few = lone_share([0.16, 0.17])
    count = LaneCount(12, 600 * MBIT, (probed(12, 0.15), probed(16, 0.1, passed=False)), few)
    shares = count.shares(few)
    assert shares is not None
    assert (shares.few, shares.virtual, shares.margin) == (few, few, 0.02)
    assert shares.most == lone_share([0.15, 0.16] * 6)
    assert LaneCount(12, 600 * MBIT, ()).shares() is None


@pytest.mark.slow
def test_ctrl_c_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    presses = iter([True])

    def pressed(self: object, snapshot: object) -> None:
        if next(presses, False):
            raise KeyboardInterrupt

    monkeypatch.setattr("nashbed.controlplane.calibrate.level.AllRunning.see", pressed)
    with pytest.raises(Interrupted):
        count_lanes(Capacities(SHORT, start=1))


def test_sixty_four_lanes_fit_side_by_side() -> None:
    """By number, flow table and packet memory of a default testbed."""
    loaded = parse_testbed(TESTBED, "fake.yaml")
    runner = measure_module.LevelRunner(measuring_bed(loaded, Rate(50 * MBIT)), Lanes())
    _, plan = runner.plan(64)
    assert plan.lanes == 64
    assert len(plan.trials) == 64


def test_targets_without_lanes_are_left_out() -> None:
    testbed = bed().model
    can = capabilities_of(testbed)
    assert why_not(testbed, can, Rate(50 * MBIT)) == ""
    alone: Capabilities = can.model_copy(update={"lanes": 1})
    assert "one lane only" in why_not(testbed, alone, Rate(50 * MBIT))
    slow: Capabilities = can.model_copy(update={"max_rate_bps": 10 * MBIT})
    assert why_not(testbed, slow, Rate(50 * MBIT)).startswith("target dpdk supports at most 10mbit")
    apart: Capabilities = can.model_copy(update={"isolated": True})
    assert "each lane is a machine of its own" in why_not(testbed, apart, Rate(50 * MBIT))
    one = TESTBED.replace("lanes: 4", "lanes: 1") + "dataplane: {lanes: 1}\n"
    with pytest.raises(ConfigError, match="there is nothing to count"):
        measure_lanes(parse_testbed(one, "fake.yaml"), Capacities(SHORT), print)


STAT = """\
cpu  30 0 30 130 0 0 10 0 0 0
cpu0 {} 0 10 30 0 2 8 0 0 0
cpu1 10 10 20 {} 10 0 0 5 0 0
intr 1 2 3
"""


def test_what_the_cores_did() -> None:
    found = shares(read_ticks(STAT.format(0, 0)), read_ticks(STAT.format(50, 0)))
    assert [(core.core, core.user, core.idle) for core in found] == [(0, 1.0, 0.0)]
    before = {0: (0,) * 8}
    (core,) = shares(before, {0: (10, 10, 20, 30, 10, 5, 10, 5)})
    assert core.model_dump() == pytest.approx(
        {"core": 0, "user": 0.2, "system": 0.2, "softirq": 0.15, "idle": 0.4, "steal": 0.05}
    )
    assert shares({}, {}) == ()
    assert read_ticks()  # this machine's own


def level(lanes: int, passed: bool, p999_us: int = 100) -> LevelAttempt:
    late = Lateness(p50_ns=20_000, p999_ns=1000 * p999_us, max_ns=10**6, max_gap_ns=10**6)
    error = RoundTripError(mean_ns=1000.0 * p999_us, max_ns=10**6)
    return LevelAttempt(
        lanes=lanes,
        rate_bps=lanes * 50 * MBIT,
        passed=passed,
        lateness=late,
        round_trip_error=error,
    )


def made_up(testbed, what: Capacities, tell) -> LaneCount:
    levels = (level(2, True, 50), level(25, False), level(24, True, 300), level(24, True, 500))
    return LaneCount(24, 1200 * MBIT, levels)


def still(core: int, seconds: float, bound_ns: int, busy: Sequence[int]) -> Stalls:
    """A machine that takes 5 ms twice when it is busy."""
    return sum_up(core, seconds, bound_ns, [5 * 10**6] * (2 if busy else 0))


def test_what_the_machine_takes() -> None:
    """All but the last 0.4 ms of two pauses of 5 ms are moments at which a frame would be late."""
    found = sum_up(1, 10, 400_000, [100_000, 400_000, 5_000_000, 5_000_000])
    assert (found.pauses, found.longest_ns) == (2, 5_000_000)
    assert found.late_share == pytest.approx(2 * 4.6e-3 / 10)
    assert sum_up(1, 10, 400_000, []).late_share == 0


@pytest.mark.slow
def test_a_core_of_this_machine_is_watched() -> None:
    cores = sorted(os.sched_getaffinity(0))
    found = watch_machine(cores[0], 0.2, 10**9, cores)
    assert (found.core, found.pauses, found.late_share) == (cores[0], 0, 0)
    with pytest.raises(HostError):
        watch_machine(4000, 0.1, 10**9)


def test_the_figures() -> None:
    figures = {each.name: each for each in bench_lanes(bed(), Capacities(), 2, made_up, still)}
    assert list(figures) == [
        "lanes_gbps",
        "lateness_p50_us_100mbit", "lateness_p999_us_100mbit", "round_trip_error_us_100mbit",
        "lateness_p50_us_lanes", "lateness_p999_us_lanes", "round_trip_error_us_lanes",
        "machine_late_permille_alone", "machine_late_permille_busy",
    ]  # fmt: skip
    assert figures["lanes_gbps"].values == (1.2, 1.2)
    assert figures["lanes_gbps"].met
    assert "24 lanes 2/2, 25 lanes 0/1" in figures["lanes_gbps"].detail
    assert len(figures["lanes_gbps"].data["levels"][0]) == 4
    assert figures["lateness_p999_us_100mbit"].values == (50.0, 50.0)
    late = figures["lateness_p999_us_lanes"]
    assert (late.values, late.wanted) == ((300, 500, 300, 500), None)
    error = figures["round_trip_error_us_lanes"]
    assert (error.values, error.wanted, error.sense) == ((300, 500, 300, 500), 400, "at most")
    assert error.met  # their median is exactly at the bound
    assert error.detail.endswith("on average; at most 1, 1, 1, 1 ms")
    assert figures["round_trip_error_us_100mbit"].values == (50, 50)
    assert figures["machine_late_permille_alone"].values == (0, 0)
    assert figures["machine_late_permille_busy"].median == pytest.approx(2 * 4.6 / 15)
    json.dumps([each.model_dump(mode="json") for each in figures.values()])


def test_every_packet_loops_core_is_watched() -> None:
    loaded = bed()
    plane = loaded.model.dataplane.model_copy(update={"cores": (1, 3)})
    spread = replace(loaded, model=loaded.model.model_copy(update={"dataplane": plane}))
    figures = {each.name: each for each in bench_lanes(spread, Capacities(), 2, made_up, still)}
    for name in ("alone", "busy"):
        figure = figures[f"machine_late_permille_{name}"]
        assert [each["core"] for each in figure.data["watched"]] == [1, 3, 1, 3]
        assert figure.detail.startswith("from which one of cores 1, 3 runs nothing")


def test_nothing_passed() -> None:
    def nothing(testbed, what: Capacities, tell) -> LaneCount:
        return LaneCount(0, 0, (level(2, False), level(1, False)))

    only, *_ = bench_lanes(bed(), Capacities(), 1, nothing, still)
    assert (only.values, only.met) == ((0.0,), False)


@pytest.mark.slow
@pytest.mark.usefixtures("as_root")
def test_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Capacities] = []

    def figures(loaded, what: Capacities, repetitions: int):
        asked.append(what)
        late = LaneCount(24, 1200 * MBIT, (level(24, True, 500), level(25, False)))
        return bench_lanes(loaded, what, repetitions, lambda *_: late, still)

    monkeypatch.setattr(bench_commands, "check_machine", lambda *_: None)
    monkeypatch.setattr(bench_commands, "bench_lanes", figures)
    args = ["bench", "lanes", "--seconds", "20", "--start", "3", "--json"]
    assert cli(args) == 20  # 500 us are more than 1 % of 40 ms
    told = json.loads(capsys.readouterr().out)
    assert (told["part"], told["ok"]) == ("lanes", False)
    (what,) = asked
    assert (what.start, str(what.lanes.rate), what.lanes.seconds) == (3, "50mbit", 20.0)
    assert cli(["bench", "lanes", "--start", "0"]) == 2
    assert "--start" in capsys.readouterr().err
