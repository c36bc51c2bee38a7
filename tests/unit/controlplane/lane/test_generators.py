"""A trial is ended when its sink's reports are steady, and not before its time."""

from pathlib import Path

from nashbed.controlplane.contract.course import SettledDuration
from nashbed.controlplane.contract.messages.flows import (
    SenderReport,
    SinkProgress,
    SinkReport,
    TimerLateness,
)
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.lane.generators import (
    Settling,
    joined_lateness,
    joined_senders,
    joined_sinks,
)
from nashbed.controlplane.plan.attempt import make_attempt, progress_ns
from tests.unit.controlplane.conftest import plan_of, scenario_with


def settling(testbed: Testbed, duration: str) -> tuple[Settling, int]:
    scenario = scenario_with("duration: 400ms\nwarmup: 100ms", f"duration: {duration}\nwarmup: 20s")
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key.startswith("b2bdp-k01"))
    attempt = make_attempt(scenario, trial, 0, 0, Path("/nowhere"))
    assert isinstance(scenario.duration, SettledDuration)
    return Settling(attempt, scenario.duration), progress_ns(scenario, trial)


def report(cycle: int, cycle_ns: int, rates: tuple[int, int, int]) -> SinkProgress:
    return SinkProgress(t_ns=cycle * cycle_ns, bytes=tuple(cycle * rate for rate in rates))


def test_steady_flows_end_it_after_the_least_time(testbed: Testbed) -> None:
    watched, cycle_ns = settling(testbed, "{until: settled, at_least: 180s, at_most: 200s}")
    assert cycle_ns == 10_210_000_000
    assert watched.cycles_left == 19
    ended = [watched.take(report(k, cycle_ns, (100, 200, 50))) for k in range(1, 19)]
    # It is steady and long enough after fifteen cycles, but only the eighteenth ends beyond 180 s.
    assert ended == [False] * 17 + [True]
    assert watched.steadiness is not None
    assert watched.steadiness.window_ns == (10 * cycle_ns, 18 * cycle_ns)
    assert watched.cycles_left == 1


def test_a_surge_makes_the_trial_longer(testbed: Testbed) -> None:
    watched, cycle_ns = settling(testbed, "{until: settled, at_least: 60s, at_most: 900s}")
    ended, total = [], [0, 0, 0]
    for k in range(1, 61):
        surge = 90 if k == 12 else 0
        total = [total[0] + 100, total[1] + 100, total[2] + 50 + surge]
        ended.append(watched.take(SinkProgress(t_ns=k * cycle_ns, bytes=tuple(total))))
    first = ended.index(True) + 1
    # Without it the trial would end after fifteen cycles. It is in the first quarter, which is not
    # fitted, from cycle 48 on.
    assert 15 < first <= 50


def test_flows_that_change_places_do_not_end_it(testbed: Testbed) -> None:
    watched, cycle_ns = settling(testbed, "{until: settled, at_least: 60s, at_most: 200s}")
    total = [0, 0, 0]
    for k in range(1, 20):
        total = [total[0] + 100 - k, total[1] + 100 - k, total[2] + 2 * k]
        assert not watched.take(SinkProgress(t_ns=k * cycle_ns, bytes=tuple(total)))
    assert watched.cycles_left == 0
    assert watched.steadiness is not None
    assert not watched.steadiness.settled


def test_timers_are_late_together_as_each_was() -> None:
    """Two ticks that were 10 ns late and six that were 30 ns late: 25 ns on average."""
    parts = [
        TimerLateness(count=2, missed=1, mean_ns=10, max_ns=12),
        TimerLateness(count=6, missed=0, mean_ns=30, max_ns=90),
    ]
    assert joined_lateness(parts) == TimerLateness(count=8, missed=1, mean_ns=25, max_ns=90)


def test_reports_of_two_directions_are_one_report() -> None:
    none = TimerLateness(count=1, missed=0, mean_ns=0, max_ns=0)
    sinks = [
        SinkReport(flows=(), strangers=n, acks=10 * n, segments=20 * n, lateness=none)
        for n in (1, 2)
    ]
    joined = joined_sinks(sinks)
    assert (joined.strangers, joined.acks, joined.segments) == (3, 30, 60)
    senders = [SenderReport(flows=(), lost=n, lateness=none) for n in (1, 2)]
    assert joined_senders(senders).lost == 3
    assert joined_senders(senders[:1]) is senders[0]
