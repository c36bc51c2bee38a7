"""Flows whose data takes the way of the others' acknowledgements."""

from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.shared import SINK_PORT
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.attempt import Attempt, make_attempt
from nashbed.controlplane.plan.generator_config import generator_config
from tests.unit.controlplane.conftest import SCENARIO, plan_of

MAIN = "  - {name: main, count: 3, base_rtt: 10ms}\n"
UP = "  - {name: up, count: 2, base_rtt: 10ms, strategy: reno, direction: reverse}\n"
BACK = ", return: {rate: 10mbit, buffer: 50pkt}}"
TWO_WAY = SCENARIO.replace("buffer: 2bdp}", f"buffer: 2bdp{BACK}").replace(MAIN, MAIN + UP)


@pytest.fixture
def attempt(testbed: Testbed) -> Attempt:
    scenario = parse_scenario(TWO_WAY, "s.yaml").model
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key == "b2bdp-k01-r0")
    return make_attempt(scenario, trial, 0, 0, Path("/nowhere"))


def test_their_senders_are_among_the_receivers(attempt: Attempt) -> None:
    down, up = attempt.flows[:3], attempt.flows[3:]
    assert [flow.reverse for flow in attempt.flows] == [False] * 3 + [True] * 2
    assert {(flow.src, flow.dst) for flow in down} == {("10.64.0.1", "10.65.0.1")}
    assert {(flow.src, flow.dst) for flow in up} == {("10.65.0.2", "10.64.0.2")}
    assert attempt.roles == ("sink", "reverse_sink", "sender", "reverse_sender")


def test_the_flow_table_has_their_acknowledgements(attempt: Attempt) -> None:
    """What comes from the senders' side is what a sink there sends."""
    entries = attempt.program().flows
    assert all(entry.src.startswith("10.64.") for entry in entries)
    assert [(entry.sport == SINK_PORT, entry.dport == SINK_PORT) for entry in entries] == [
        *[(False, True)] * 3,
        *[(True, False)] * 2,
    ]
    assert entries[3].dport == attempt.flows[3].sport


def test_each_generator_has_the_flows_of_its_direction(attempt: Attempt) -> None:
    numbers = {
        role: [flow.flow for flow in generator_config(role, attempt).flows]
        for role in attempt.roles
    }
    assert numbers == {
        "sink": [0, 1, 2], "sender": [0, 1, 2], "reverse_sink": [3, 4], "reverse_sender": [3, 4],
    }  # fmt: skip
    config = generator_config("reverse_sender", attempt)
    assert (config.role, config.out) == ("sender", "/nowhere/reverse")


def test_without_them_there_are_two_generators(testbed: Testbed) -> None:
    scenario = parse_scenario(SCENARIO, "s.yaml").model
    attempt = make_attempt(
        scenario, plan_of(scenario, testbed).trials[0], 0, 0, Path("/nowhere")
    )  # fmt: skip
    assert attempt.roles == ("sink", "sender")
    assert generator_config("sink", attempt).out == "/nowhere"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (BACK, "}", "flows[1].direction: reverse needs a bottleneck on the way back; write "),
        (
            ", strategy: reno",
            "",
            "flows[1].direction: a mix competes in the queue of the way there",
        ),
        (
            "count: 2, base_rtt: 10ms, strategy: reno",
            "base_rtt: 10ms, strategy: reno, arrivals: {poisson: 5/s}, size: 1MB",
            "flows[1].direction: reverse is for flows that send until the end; remove `arrivals`",
        ),
        (
            "direction: reverse",
            "direction: reverse, app: {rate: 1mbit}",
            "flows[1].direction: reverse is for flows that send until the end; remove `app`",
        ),
        ("direction: reverse", "direction: sideways", "flows[1].direction: 'sideways' is unknown"),
    ],
)
def test_what_they_cannot_be(old: str, new: str, problem: str) -> None:
    assert old in TWO_WAY
    with pytest.raises(ConfigError) as caught:
        parse_scenario(TWO_WAY.replace(old, new), "s.yaml")
    assert problem in caught.value.message
    assert "\n" not in caught.value.message


def test_iperf3_starts_flows_of_one_direction() -> None:
    with pytest.raises(ConfigError, match=r"flows\[1\]\.direction: iperf3 starts flows of one"):
        parse_scenario(TWO_WAY + "start: iperf3\n", "s.yaml")
