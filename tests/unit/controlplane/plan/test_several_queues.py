"""Several queues in a plan: settings, flow entries, and what targets refuse."""

import json
from pathlib import Path

import pytest
from nashbed.analysis.models.asked import problem_of_queue
from nashbed.analysis.results.bounds import matches
from nashbed.controlplane.cli.plan import plan_table
from nashbed.controlplane.config import load_testbed, parse_scenario
from nashbed.controlplane.contract.bounds import AcceptanceBound
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.plan import Plan, PlannedTrial
from nashbed.controlplane.contract.queues import BY_DSCP
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import BinnedPostcards, Telemetry
from nashbed.controlplane.contract.target import Capabilities
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Duration
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.plan.attempt import make_attempt
from nashbed.controlplane.plan.sweep import scenario_settings
from nashbed.controlplane.targets.registry import capabilities_of, preview, resolve
from tests.unit.controlplane.conftest import SCENARIO, plan_of

MS = 10**6
QUEUES = (
    "queues: [{name: voice, dscp: [ef]}, {name: fast, flows: [bbr], limit: 0.5bdp}, {name: rest}]"
)
BY_FLOW = "queues: [{name: fast, flows: [bbr]}, {name: rest}]"


def scenario_of(queues: str = QUEUES, more: str = "", group: str = "") -> Scenario:
    text = SCENARIO.replace("2bdp", f"2bdp, {queues}").replace("sweep: {", f"sweep: {{{more}")
    return parse_scenario(text.replace("base_rtt: 10ms", f"base_rtt: 10ms{group}"), "s.yaml").model


def bed_of(target: str) -> Testbed:
    return load_testbed(CONFIGS / "testbeds" / f"{target}.yaml").model


def test_the_memory_is_swept_and_named() -> None:
    swept = "shared_buffer: [complete_sharing, {dynamic_threshold: {alpha: 2}}], "
    swept += "buffer: [1bdp, 20pkt], "
    settings = scenario_settings(scenario_of(more=swept))
    assert [setting.label for setting in settings] == [
        "complete_sharing-b1bdp",
        "complete_sharing-b20pkt",
        "dynamic_threshold-alpha2-b1bdp",
        "dynamic_threshold-alpha2-b20pkt",
    ]
    for setting in settings:
        assert setting.queues is not None
        # Queues share bytes, and half a BDP is the same of every buffer.
        assert setting.limit.unit == "bytes"
        assert [queue.limit_bytes for queue in setting.queues.queues] == [0, 62_500, 0]
    assert [setting.limit.value for setting in settings[:2]] == [125_000, 20 * 1514]
    assert settings[2].queue_label == "drr-dynamic_threshold-alpha2"


def test_without_a_sweep_a_setting_is_called_as_with_one_queue() -> None:
    (setting,) = scenario_settings(scenario_of())
    assert setting.label == "b2bdp"


def test_a_bound_may_name_a_policy() -> None:
    swept = "shared_buffer: [complete_sharing, {dynamic_threshold: {alpha: 2}}], "
    sharing, dynamic = scenario_settings(scenario_of(more=swept))
    bound = AcceptanceBound(metric="equilibrium_count", max=1, shared_buffer="complete_sharing")
    assert (matches(bound, sharing), matches(bound, dynamic)) == (True, False)
    droptail = AcceptanceBound(metric="equilibrium_count", max=1, discipline="droptail")
    assert not matches(droptail, sharing)


@pytest.mark.parametrize("target", ["embedded", "virtual"])
def test_our_data_plane_has_them(target: str) -> None:
    where = bed_of(target)
    plan = plan_of(scenario_of(), where, capabilities_of(where))
    again = Plan.model_validate_json(plan.model_dump_json())
    assert again == plan
    for trial in again.trials:
        assert trial.setting.queues is not None
        assert resolve(where, trial.setting).queues == trial.setting.queues


def first_with_both(scenario: Scenario, testbed: Testbed) -> PlannedTrial:
    return next(t for t in plan_of(scenario, testbed).trials if t.key.startswith("b2bdp-k01"))


@pytest.mark.parametrize(
    ("queues", "group", "entries", "dscp"),
    [
        (QUEUES, "", [BY_DSCP, BY_DSCP, 1], 0),
        (QUEUES, ", dscp: ef", [BY_DSCP, BY_DSCP, 1], 46),
        (BY_FLOW, "", [1, 1, 0], 0),
        ("queues: [{name: a, flows: [main]}, {name: b}]", ", dscp: 5", [0, 0, 0], 5),
    ],
)
def test_a_mix_goes_to_its_queues_flow_by_flow(
    queues: str, group: str, entries: list[int], dscp: int, testbed: Testbed
) -> None:
    """Two CUBIC flows and a BBR flow."""
    scenario = scenario_of(queues, group=group)
    attempt = make_attempt(scenario, first_with_both(scenario, testbed), 0, 0, Path("/nowhere"))
    assert [flow.cc for flow in attempt.flows] == ["cubic", "cubic", "bbr"]
    assert [entry.queue for entry in attempt.program().flows] == entries
    assert [flow.dscp for flow in attempt.flows] == [dscp] * 3
    assert attempt.can_mark


def test_bins_wait_for_a_packet_of_the_last_queue(testbed: Testbed) -> None:
    scenario = scenario_of().model_copy(
        update={"telemetry": Telemetry(postcards=BinnedPostcards(bins=Duration(MS)))}
    )
    attempt = make_attempt(scenario, first_with_both(scenario, testbed), 0, 0, Path("/nowhere"))
    # 400 ms, the queue of 20 ms, two round trips, and what a sender takes to end.
    assert attempt.telemetry().overtaken_ns > 400 * MS


@pytest.mark.parametrize(
    ("target", "queues", "problem"),
    [
        (
            "bmv2",
            BY_FLOW,
            "2 queues, but target bmv2 has 1 (bottleneck.queues): each priority queue of "
            "simple_switch has a rate of its own; write fewer, or use a testbed of target dpdk or "
            "virtual",
        ),
        (
            "tofino.example",
            QUEUES,
            "target tofino sorts packets by flow, not by DSCP (bottleneck.queues); write `flows`, "
            "or use a testbed of target dpdk or virtual",
        ),
        (
            "tofino.example",
            BY_FLOW.replace("[bbr]", "[bbr], discipline: codel"),
            "the queue of target tofino is droptail, not codel (bottleneck.queues.0.discipline); "
            "use a testbed of target dpdk or virtual",
        ),
        (
            "tofino.example",
            f"{BY_FLOW}, shared_buffer: ./mine.c",
            "queues of target tofino share memory by complete_sharing or complete_partitioning or "
            "static or dynamic_threshold, not by mine (bottleneck.shared_buffer); use a testbed of "
            "target dpdk or virtual",
        ),
    ],
)
def test_what_a_target_cannot_is_refused_in_a_line(target: str, queues: str, problem: str) -> None:
    bed = bed_of(target)
    bed = bed.model_copy(update={"capacity": bed.capacity.model_copy(update={"lanes": 1})})
    slow = scenario_of(queues, more="rate: [10mbit], ")
    with pytest.raises(ConfigError) as error:
        plan_of(slow, bed, capabilities_of(bed))
    assert error.value.message == f"small: setting c10mbit-b2bdp: {problem}"


def test_of_a_target_with_some_of_it_the_rest_is_refused(testbed: Testbed) -> None:
    can = capabilities_of(testbed)
    for less, problem in (
        ({"queues": 2}, "3 queues, but target dpdk has 2"),
        ({"scheduler": ("strict_priority",)}, "serves queues by strict_priority, not by drr"),
    ):
        with pytest.raises(ConfigError, match=problem):
            plan_of(scenario_of(), testbed, can.model_copy(update={"lane": can.lane | less}))


def test_several_queues_of_a_tofino_need_its_port() -> None:
    bed = bed_of("tofino.example")
    lanes: dict[int, Capabilities] = {
        n: capabilities_of(
            bed.model_copy(update={"capacity": bed.capacity.model_copy(update={"lanes": n})})
        )
        for n in (1, 2)
    }
    assert plan_of(scenario_of(BY_FLOW), bed, lanes[1]).trials
    with pytest.raises(ConfigError, match=r"share the port's shaper; set capacity\.lanes: 1"):
        plan_of(scenario_of(BY_FLOW), bed, lanes[2])
    (setting,) = scenario_settings(scenario_of(BY_FLOW))
    lines = preview(bed, setting)
    assert sum("tm.queue.sched_cfg" in line for line in lines) == 2
    assert lines[-1].endswith("queue=1 to 2, as its queue is")


def test_the_plan_says_the_queues(testbed: Testbed) -> None:
    text = plan_table(plan_of(scenario_of(), testbed))
    flat = " ".join(text.split())
    assert "queue 0, voice: DSCP ef; drop-tail queue 1, fast: bbr; drop-tail; limit 62.5kB" in flat
    assert "queue 2, rest: all others; drop-tail" in flat


def test_no_model_describes_them() -> None:
    (setting,) = scenario_settings(scenario_of())
    assert problem_of_queue(setting) == (
        "it has 3 queues behind one line, and models know one that is drop-tail"
    )


def test_what_has_one_queue_is_planned_as_before(scenario: Scenario, testbed: Testbed) -> None:
    plan = plan_of(scenario, testbed)
    assert {trial.setting.queues for trial in plan.trials} == {None}
    asked = json.loads(plan.trials[0].setting.model_dump_json(exclude_none=True))
    assert "queues" not in asked
