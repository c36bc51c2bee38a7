"""An attempt: its flows, when they start, and what target and generators are asked."""

from dataclasses import replace
from pathlib import Path

import pytest
from nashbed.controlplane.contract.course import WIDE_JITTER_NS
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import BinnedPostcards, Telemetry
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Duration
from nashbed.controlplane.plan.attempt import (
    Attempt,
    make_attempt,
    processes,
    span_ns,
    trial_flows,
)
from nashbed.controlplane.plan.generator_config import generator_config
from nashbed.controlplane.plan.paths import group_delays
from nashbed.controlplane.targets.virtual import virtual_capabilities
from tests.unit.controlplane.conftest import plan_of, scenario_with

MS, S = 10**6, 10**9


def test_the_machine_of_a_lane_has_a_seed_and_a_kernel(testbed: Testbed) -> None:
    scenario = scenario_with("sweep: {", 'sweep: {kernel: ["6.12"], ')
    trials = plan_of(scenario, testbed, virtual_capabilities()).trials
    programs = [make_attempt(scenario, t, 0, 0, Path("nowhere")).program() for t in trials]
    assert [program.kernel for program in programs] == ["6.12"] * 3
    seeds = {program.seed for program in programs}
    assert len(seeds) == 3
    assert all(0 < seed < 2**63 for seed in seeds)
    again = make_attempt(scenario, trials[0], 0, 0, Path("elsewhere")).program()
    assert again.seed == programs[0].seed
    assert make_attempt(scenario, trials[0], 1, 0, Path("nowhere")).program().seed not in seeds


def test_paired_trials_differ_in_their_seeds_by_repetition_and_attempt_alone(
    testbed: Testbed,
) -> None:
    scenario = scenario_with("trials: 1", "trials: 2\npaired_seeds: true")
    trials = plan_of(scenario, testbed).trials
    seeds: dict[tuple[int, int], set[int]] = {}
    for trial in trials:
        for number in (0, 1):
            attempt = make_attempt(scenario, trial, number, 0, Path("nowhere"))
            seeds.setdefault((trial.repetition, number), set()).add(attempt.seed)
    assert len(trials) > scenario.trials == 2
    assert [len(same) for same in seeds.values()] == [1, 1, 1, 1]
    assert len(set.union(*seeds.values())) == 4


def test_flows_are_numbered_over_groups_and_strategies(
    scenario: Scenario, testbed: Testbed
) -> None:
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key == "b2bdp-k01-r0")
    flows = trial_flows(scenario, trial, seed=7, lane=5)
    assert [(f.index, f.cc) for f in flows] == [(0, "cubic"), (1, "cubic"), (2, "bbr")]
    assert {f.src for f in flows} == {"10.64.5.1"}
    assert {f.dst for f in flows} == {"10.65.5.1"}
    assert [f.sport for f in flows] == [10000, 10001, 10002]
    assert all(0 <= f.start_ns <= scenario.start_jitter.ns for f in flows)
    assert len({f.start_ns for f in flows}) == 3
    assert flows == trial_flows(scenario, trial, seed=7, lane=5)


def test_the_base_rtt_is_split_over_both_directions(scenario: Scenario, testbed: Testbed) -> None:
    (delay,) = group_delays(scenario, plan_of(scenario, testbed).trials[0].setting, seed=1)
    assert (delay.forward_ns, delay.reverse_ns) == (5_000_000, 5_000_000)
    assert (delay.loss_ppb, delay.jitter_ns, delay.receivers_wait) == (0, 0, False)


def test_the_data_plane_is_told_of_the_hosts(testbed: Testbed) -> None:
    slow = scenario_with(
        "title: ", "hosts: {processing_jitter: 0.5ms, read_interval: 5ms}\ntitle: "
    )
    (delay,) = group_delays(slow, plan_of(slow, testbed).trials[0].setting, seed=1)
    assert (delay.jitter_ns, delay.receivers_wait) == (500_000, True)


@pytest.mark.parametrize(
    ("discipline", "overtaken_ns"), [("droptail", 0), ("codel", 0), ("fq_codel", 400 * MS)]
)
def test_bins_wait_for_packets_that_are_overtaken(
    discipline: str, overtaken_ns: int, testbed: Testbed
) -> None:
    text = f"buffer: 2bdp, discipline: {discipline}"
    scenario = scenario_with("buffer: 2bdp", text).model_copy(
        update={"telemetry": Telemetry(postcards=BinnedPostcards(bins=Duration(MS)))}
    )
    capabilities = virtual_capabilities()
    trial = plan_of(scenario, testbed, capabilities).trials[0]
    attempt = make_attempt(scenario, trial, 0, 0, Path("/nowhere"))
    # Two BDP of 10 ms, 2 x 10 times.
    assert attempt.telemetry().overtaken_ns == overtaken_ns
    assert attempt.can_mark == (discipline != "droptail")


@pytest.mark.parametrize(
    ("ecn", "expected"),
    [
        ("true", [True, True, True]),
        ("[bbr]", [False, False, True]),
        ("[main]", [True, True, True]),
        ("[]", [False, False, False]),
    ],
)
def test_ecn_is_a_strategys_or_a_groups(ecn: str, expected: list[bool], testbed: Testbed) -> None:
    asked = attempt(scenario_with("title: ", f"hosts: {{ecn: {ecn}}}\ntitle: "), testbed)
    assert [flow.ecn for flow in asked.flows] == expected
    assert [flow.ecn for flow in generator_config("sink", asked).flows] == expected


def attempt(scenario: Scenario, testbed: Testbed, repetition: int = 0) -> Attempt:
    """Two CUBIC flows and a BBR flow."""
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key.startswith("b2bdp-k01"))
    trial = trial.model_copy(update={"repetition": repetition})
    return make_attempt(scenario, trial, 0, 0, Path("/nowhere"))


def starts(line: str, testbed: Testbed, repetition: int = 0) -> list[int]:
    scenario = scenario_with("start_jitter: 50ms", f"{line}\nstart_jitter: 0s")
    return [f.start_ns // MS for f in attempt(scenario, testbed, repetition).flows]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("start: together", [0, 0, 0]),
        ("start: {staggered: 20ms}", [0, 20, 40]),
        ("start: {order: [bbr, cubic], gap: 30ms}", [30, 30, 0]),
        ("start: {offsets: {bbr: 70ms}}", [0, 0, 70]),
        ("start: iperf3", [0, 0, 0]),
    ],
)
def test_starts(line: str, expected: list[int], testbed: Testbed) -> None:
    assert starts(line, testbed) == expected


def test_random_starts_are_within_their_span_and_differ(testbed: Testbed) -> None:
    found = starts("start: {random: 90ms}", testbed)
    assert all(0 <= at <= 90 for at in found)
    assert len(set(found)) == 3
    assert found == starts("start: {random: 90ms}", testbed)


@pytest.mark.parametrize(
    ("line", "even", "later"),
    [
        ("start: together", [0, 0, 5], [15, 15, 0]),
        ("start: {order: [bbr, cubic], gap: 3s}", [3, 3, 0], [0, 0, 13]),
        ("start: {offsets: {bbr: 7s}}", [0, 0, 7], [17, 17, 0]),
        ("start: {offsets: {cubic: 7s, bbr: 2s}}", [7, 7, 2], [0, 0, 15]),
    ],
)
def test_every_other_settled_repetition_starts_the_other_way_round(
    line: str, even: list[int], later: list[int], testbed: Testbed
) -> None:
    settled = scenario_with(
        "duration: 400ms\nwarmup: 100ms\nstart_jitter: 50ms\ntrials: 1",
        f"duration: {{until: settled}}\nwarmup: 20s\ntrials: 2\n{line}\nstart_jitter: 50ms",
    )
    first = [f.start_ns for f in attempt(settled, testbed, 0).flows]
    second = [f.start_ns for f in attempt(settled, testbed, 1).flows]
    for at, planned in zip(first, even, strict=True):
        assert 0 <= at - planned * S <= settled.start_jitter.ns
    for at, planned in zip(second, later, strict=True):
        assert 0 <= at - planned * S <= WIDE_JITTER_NS
    # The jitter is wide, and yet the order is the other one.
    assert (min(first[:2]) < first[2]) == (max(second[:2]) > second[2])


def test_a_process_is_a_strategy_of_a_group() -> None:
    flows = [(0, "cubic"), (0, "cubic"), (0, "bbr"), (1, "cubic"), (0, "bbr")]
    assert processes(flows) == [0, 0, 1, 2, 1]


def test_iperf3_has_a_control_connection_for_each_process(testbed: Testbed) -> None:
    iperf3 = attempt(scenario_with("start_jitter: 50ms", "start: iperf3"), testbed)
    config = generator_config("sender", iperf3)
    assert [flow.process for flow in config.flows] == [0, 0, 1]
    assert [control.sport for control in config.controls] == [9000, 9001]
    assert {control.dport for control in config.controls} == {5201}
    # Streams may wait for each other, so the trial may last longer than its processes.
    assert config.span_ns == config.duration_ns + config.connect_timeout_ns
    together = replace(iperf3, scenario=scenario_with("start_jitter: 50ms", "start: together"))
    assert generator_config("sender", together).controls == ()
    assert span_ns(together.scenario, together.trial) == together.scenario.longest.ns


def test_the_sink_is_told_how_often_to_read(testbed: Testbed) -> None:
    rarely = attempt(scenario_with("title: ", "hosts: {read_interval: 5ms}\ntitle: "), testbed)
    assert generator_config("sink", rarely).read_interval_ns == 5 * MS
    by_bytes = replace(rarely, scenario=scenario_with("start_jitter: 50ms", "start: together"))
    assert generator_config("sink", by_bytes).read_interval_ns == 0


def test_a_swept_start_is_part_of_the_setting_and_of_the_attempt(testbed: Testbed) -> None:
    swept = scenario_with(
        "sweep: {mixes: [0, 1, 3]}",
        "sweep: {start: [together, {order: [bbr, cubic], gap: 30ms}], mixes: [1]}",
    )
    together, ordered = plan_of(swept, testbed).trials
    assert (together.key, ordered.key) == ("together-b2bdp-k01-r0", "bbr-cubic-30ms-b2bdp-k01-r0")
    first, second = (
        make_attempt(swept, trial, 0, 0, Path("/nowhere")) for trial in (together, ordered)
    )
    assert max(flow.start_ns for flow in first.flows) <= swept.start_jitter.ns
    assert [flow.start_ns >= 30 * MS for flow in second.flows] == [True, True, False]


def test_every_swept_start_is_checked() -> None:
    with pytest.raises(ConfigError, match="the last flow starts up to 2s late"):
        scenario_with("sweep: {mixes: [0, 1, 3]}", "sweep: {start: [together, {random: 2s}]}")
