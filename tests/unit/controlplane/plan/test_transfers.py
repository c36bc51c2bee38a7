"""Transfers: when they come and how large they are, drawn from the seed."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.course import StaggeredStart
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.flow_group import FlowGroup
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Duration
from nashbed.controlplane.plan.attempt import drain_ns, make_attempt
from nashbed.controlplane.plan.generator_config import generator_config
from nashbed.controlplane.plan.transfers import draw_transfers
from tests.unit.controlplane.conftest import SCENARIO, plan_of, scenario_with

MS, S = 10**6, 10**9
MAIN = "  - {name: main, count: 3, base_rtt: 10ms}\n"
WEB = "  - {name: web, base_rtt: 20ms, arrivals: {every: 50ms}, size: 20kB}\n"


def group(**keys: object) -> FlowGroup:
    return FlowGroup.model_validate({"name": "web", "base_rtt": "20ms", **keys})


def test_transfers_at_equal_distances_begin_with_the_group() -> None:
    web = group(arrivals={"every": "50ms"}, size="20kB", start_offset="120ms", strategy="reno")
    drawn = draw_transfers(web, 300 * MS, {"cubic": 1}, seed=1)
    assert [t.arrival_ns // MS for t in drawn] == [120, 170, 220, 270]
    assert {(t.size_bytes, t.cc) for t in drawn} == {(20_000, "reno")}


def test_poisson_arrivals_and_log_normal_sizes_have_their_means() -> None:
    sizes = {"lognormal": {"median": "20kB", "sigma": 1.5}}
    web = group(arrivals={"poisson": "100/s"}, size=sizes)
    drawn = draw_transfers(web, 100 * S, {"cubic": 1, "bbr": 3}, seed=7)
    # 10 000 +- 100 (a Poisson count's standard deviation), at five of them
    assert abs(len(drawn) - 10_000) < 500
    gaps = [b.arrival_ns - a.arrival_ns for a, b in pairwise(drawn)]
    # of exponential gaps 1 - 1/e are below the mean
    assert abs(fmean(gap < 10 * MS for gap in gaps) - 0.632) < 0.025
    # the median's standard error is 1.25 sigma / sqrt(n) = 1.9 %
    assert abs(median(t.size_bytes for t in drawn) / 20_000 - 1) < 0.1
    shares = Counter(t.cc for t in drawn)
    assert abs(shares["bbr"] / len(drawn) - 0.75) < 0.022
    assert all(0 <= t.arrival_ns < 100 * S for t in drawn)
    assert drawn == draw_transfers(web, 100 * S, {"cubic": 1, "bbr": 3}, seed=7)


def test_a_change_of_sizes_moves_no_arrival() -> None:
    def times(size: object) -> list[int]:
        web = group(arrivals={"poisson": "100/s"}, size=size)
        return [t.arrival_ns for t in draw_transfers(web, S, {"cubic": 1}, seed=7)]

    assert times("1MB") == times({"one_of": ["1kB", "2kB"]})


def test_a_transfer_is_a_flow_that_ends(testbed: Testbed) -> None:
    scenario = scenario_with(MAIN, MAIN + WEB)
    assert [g.name for g in scenario.mixed] == ["main"]
    assert (scenario.lasting_flows, scenario.most_flows) == (3, 11)
    trial = plan_of(scenario, testbed).trials[0]
    attempt = make_attempt(scenario, trial, 0, 1, Path("nowhere"))
    assert attempt.first_flow == 11
    transfers = [flow for flow in attempt.flows if flow.is_transfer]
    assert [(f.index, f.start_ns) for f in transfers] == [(3 + i, 50 * i * MS) for i in range(8)]
    told = generator_config("sender", attempt).flows
    assert [flow.bytes for flow in told] == [0] * 3 + [20_000] * 8
    assert not any(flow.kept for flow in told)


def test_flows_of_the_mix_may_end(testbed: Testbed) -> None:
    """Each starts as others of the mix do, in the order of the mix, and has a size."""
    sized = MAIN.replace("count: 3", "count: 3, size: {one_of: [1kB, 5kB]}")
    ended = MAIN.replace("main", "b").replace("count: 3", "count: 1, size: 1MB, strategy: reno")
    scenario = scenario_with(MAIN, sized + ended + WEB.replace("20kB", "7B"))
    assert [g.name for g in scenario.mixed] == ["main"]
    staggered = scenario.model_copy(update={"start": StaggeredStart(staggered=Duration(20 * MS))})
    trial = plan_of(scenario, testbed).trials[0]
    flows = make_attempt(staggered, trial, 0, 0, Path("nowhere")).flows
    assert all(flow.is_transfer for flow in flows)
    assert {flow.size_bytes for flow in flows[:3]} <= {1000, 5000}
    assert [flow.size_bytes for flow in flows[3:]] == [10**6] + 8 * [7]
    jitter = scenario.start_jitter.ns
    assert all(0 <= flows[i].start_ns - 20 * i * MS <= jitter for i in range(3))
    assert [flow.mixed for flow in flows[:5]] == [True] * 3 + [False] * 2


def test_time_is_left_for_the_end_of_few_transfers_only(testbed: Testbed) -> None:
    def drain(scenario: Scenario) -> int:
        return drain_ns(scenario, plan_of(scenario, testbed).trials[0])

    many = WEB.replace("{every: 50ms}", "{every: 20us}")
    assert drain(scenario_with(MAIN, MAIN + many)) - drain(scenario_with(MAIN, MAIN)) < S // 2


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("size: 20kB", "size: 0B", "flows[1].size: 0B is out of range; write 1B to 1000GB"),
        (
            "size: 20kB",
            "size: {one_of: [1kB, 0B]}",
            "flows[1].size.one_of[1]: 0B is out of range; write 1B to 1000GB",
        ),
        (", size: 20kB", "", "flows[1].size: is missing; write that of a transfer, e.g. 1MB"),
        ("{every: 50ms}", "{every: 0s}", "every: must be more than 0; write e.g. 50ms"),
        ("{every: 50ms}", "{poisson: 0/s}", "poisson: must be more than 0; write e.g. 20/s"),
        (
            "name: web",
            "name: web, count: 3",
            "flows[1].count: transfers come by `arrivals`; remove one of the two",
        ),
        (
            "arrivals: {every: 50ms}, size: 20kB",
            "strategy: reno",
            "flows[1].count: is 0 or missing; write how many flows, or the `arrivals`",
        ),
        (
            "arrivals: {every: 50ms}",
            "count: 2, strategy: reno, connections: kept",
            "flows[1].connections: is that of transfers; write `arrivals`, or remove it",
        ),
        (
            "arrivals: {every: 50ms}",
            "count: 2, strategy: reno, app: {rate: 1mbit}",
            "flows[1].app: transfers are an application; remove `size`, or `app`",
        ),
        (
            "arrivals: {every: 50ms}, size: 20kB}",
            "count: 2, strategy: reno, size: 20kB}\nstart: iperf3",
            "flows[1].size: iperf3 sends bulk data; write another start, e.g. together",
        ),
        (
            "{every: 50ms}",
            "{every: 400ns}",
            "flows: up to 1000003 flows in a trial are too many; write at most 50000",
        ),
        (
            "size: 20kB}",
            "size: 20kB}\nstart: iperf3",
            "flows[1].arrivals: iperf3 sends bulk data; write another start, e.g. together",
        ),
    ],
)
def test_what_transfers_cannot_be(old: str, new: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(SCENARIO.replace(MAIN, MAIN + WEB.replace(old, new)), "s.yaml")
    assert caught.value.message.splitlines()[0].endswith(problem)
