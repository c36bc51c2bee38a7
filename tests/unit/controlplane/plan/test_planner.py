"""Scenario -> settings, mixes, trials; what cannot be run is refused with the reason."""

import pytest
from nashbed.controlplane.config import load_testbed, parse_scenario, parse_testbed
from nashbed.controlplane.contract.disciplines import DISCIPLINES
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.plan.estimates import held_packets
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.targets import capabilities_of
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of


def test_trials_of_a_plan(scenario: Scenario, testbed: Testbed) -> None:
    repeated = scenario.model_copy(update={"trials": 2})
    plan = plan_of(repeated, testbed)
    assert sorted(t.key for t in plan.trials) == sorted(
        f"b2bdp-k{k:02d}-r{r}" for k in (0, 1, 3) for r in (0, 1)
    )
    assert plan.lanes == 2  # of 100 Mbit/s, under 250 Mbit/s
    assert plan.trials[0].attempt_id(2) == "b2bdp-k00-r0-a2"


def test_neighbouring_mixes_are_spread(testbed: Testbed) -> None:
    text = SCENARIO.replace("count: 3", "count: 7").replace("[0, 1, 3]", "all")
    plan = plan_of(parse_scenario(text, "s.yaml").model, testbed)
    order = [trial.mix[0].counts["bbr"] for trial in plan.trials]
    assert order == [0, 4, 2, 6, 1, 5, 3, 7]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("100mbit", "300mbit", r"rate 300mbit is more than testbed 'fake' carries \(250mbit"),
        ("2bdp", "1GB", r"a buffer of 1GB is more than target dpdk has \("),
        ("count: 3", "count: 40000", r"40000 flows, but the flow table has 20000 entries"),
        (
            "base_rtt: 10ms",
            "base_rtt: 10s",
            r"hold up to \d+ packets, the testbed has room for 131072",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(testbed: Testbed, old: str, new: str, problem: str) -> None:
    text = SCENARIO.replace(old, new).replace("[0, 1, 3]", "[0]")
    can = dpdk_capabilities(testbed.dataplane).model_copy(update={"flows": 20_000})
    with pytest.raises(ConfigError, match=problem):
        plan_of(parse_scenario(text, "s.yaml").model, testbed, can)


def test_a_lane_has_the_packets_of_its_packet_loop(testbed: Testbed) -> None:
    spread = testbed.dataplane.model_copy(update={"cores": (1, 2)})
    scenario = parse_scenario(SCENARIO.replace("base_rtt: 10ms", "base_rtt: 2s"), "s.yaml").model
    assert plan_of(scenario, testbed).trials
    problem = r"room for 65536 \(dataplane.queue_packets for 2 packet loops\)"
    with pytest.raises(ConfigError, match=problem):
        plan_of(scenario, testbed.model_copy(update={"dataplane": spread}))


@pytest.mark.parametrize("target", ["bmv2", "tofino.example"])
def test_a_switch_admits_no_trains(testbed: Testbed, target: str) -> None:
    can = capabilities_of(load_testbed(CONFIGS / "testbeds" / f"{target}.yaml").model)
    text = SCENARIO.replace("2bdp", "2bdp, arrive_as: trains")
    with pytest.raises(ConfigError, match=rf"target {can.target} admits frames, not trains"):
        plan_of(parse_scenario(text, "s.yaml").model, testbed, can)


@pytest.mark.parametrize(
    ("target", "does", "asked"),
    [("bmv2", "system", "queue"), ("tofino.example", "queue", "system")],
)
def test_a_switch_counts_as_it_does(testbed: Testbed, target: str, does: str, asked: str) -> None:
    """It is asked for the other; for its own and for none in particular it plans on."""
    can = capabilities_of(load_testbed(CONFIGS / "testbeds" / f"{target}.yaml").model)
    text = SCENARIO.replace("2bdp", f"2bdp, limit_counts: {asked}")
    problem = rf"the limit of target {can.target} counts the {does}, not the {asked} \(bottleneck"
    with pytest.raises(ConfigError, match=problem):
        plan_of(parse_scenario(text, "s.yaml").model, testbed, can)
    for usual in (SCENARIO, text.replace(asked, does)):
        assert plan_of(parse_scenario(usual, "s.yaml").model, testbed, can).trials


@pytest.mark.parametrize("target", ["bmv2", "tofino.example"])
def test_a_switch_has_drop_tail_alone(testbed: Testbed, target: str) -> None:
    can = capabilities_of(load_testbed(CONFIGS / "testbeds" / f"{target}.yaml").model)
    for asked, name in (("codel", "codel"), ("./mine.c", "mine")):
        text = SCENARIO.replace("2bdp", f"2bdp, discipline: {asked}")
        problem = rf"the queue of target {can.target} is droptail, not {name} \(bottleneck.disc"
        with pytest.raises(ConfigError, match=problem):
            plan_of(parse_scenario(text, "s.yaml").model, testbed, can)


@pytest.mark.parametrize("target", ["embedded", "virtual"])
@pytest.mark.parametrize("asked", [*DISCIPLINES, "./mine.c"])
def test_our_data_plane_has_every_discipline(target: str, asked: str) -> None:
    where = load_testbed(CONFIGS / "testbeds" / f"{target}.yaml").model
    text = SCENARIO.replace("2bdp", f"2bdp, discipline: {asked}")
    plan = plan_of(parse_scenario(text, "s.yaml").model, where, capabilities_of(where))
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    told = {trial.setting.discipline and trial.setting.discipline.name for trial in again.trials}
    assert told == {None if asked == "droptail" else asked.removeprefix("./").removesuffix(".c")}


def test_trains_are_planned(testbed: Testbed) -> None:
    text = SCENARIO.replace("2bdp", "2bdp, arrive_as: trains")
    plan = plan_of(parse_scenario(text, "s.yaml").model, testbed)
    assert {trial.setting.arrive_as for trial in plan.trials} == {"trains"}


@pytest.mark.parametrize(
    ("bottleneck", "problem"),
    [
        ("rate: 8bit, buffer: 1514B", "to connect its flows takes 222 s of its links, and they"),
        ("rate: 1mbit, buffer: 1MB, return: {rate: 10bit, buffer: 2kB}", "to connect its flows"),
        ("rate: 1kbit, buffer: 1MB", "what waits at the end of a trial takes up to 8000 s to lea"),
    ],
)
def test_links_on_which_no_trial_begins_or_ends(
    testbed: Testbed, bottleneck: str, problem: str
) -> None:
    """Three handshakes of 74 bytes each; a megabyte at a kilobit per second."""
    text = SCENARIO.replace("rate: 100mbit, buffer: 2bdp", bottleneck)
    with pytest.raises(ConfigError, match=f"s?mall: setting .*: {problem}"):
        plan_of(parse_scenario(text, "s.yaml").model, testbed)


def test_lanes_are_limited_by_the_flow_table(scenario: Scenario) -> None:
    testbed = parse_testbed(TESTBED + "dataplane: {flow_capacity: 7}\n", "t.yaml").model
    assert plan_of(scenario, testbed).lanes == 2


@pytest.mark.parametrize(("capacity", "lanes"), [("250mbit", 2), ("300mbit", 3), ("99mbit", 1)])
def test_lanes_are_limited_by_the_capacity(scenario: Scenario, capacity: str, lanes: int) -> None:
    """As many as can ever run at once: the scheduler admits them by the sum of their rates."""
    text = TESTBED.replace("250mbit", capacity)
    assert text.count(capacity) == 1
    testbed = parse_testbed(text, "t.yaml").model
    highest = Rate.parse("100mbit")  # of a trial that runs alone
    plan = make_plan(scenario, testbed, capabilities_of(testbed), highest_rate=highest)
    assert plan.lanes == lanes


def test_a_deep_buffer_does_not_keep_shallow_ones_from_running(testbed: Testbed) -> None:
    """One deep queue fills the packet memory almost alone; four shallow ones fit easily."""
    text = SCENARIO.replace("{mixes:", "{buffer: [2bdp, 90MB], mixes:")
    text = text.replace("buffer: 2bdp}", "buffer: 1bdp}").replace("100mbit", "10mbit")
    plan = plan_of(parse_scenario(text, "s.yaml").model, testbed)
    assert max(held_packets(t.setting) for t in plan.trials) * 2 > testbed.dataplane.queue_packets
    assert plan.lanes == testbed.capacity.lanes
