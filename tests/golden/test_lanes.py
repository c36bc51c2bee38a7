"""What is planned, told and applied stays as it is: digests of scenarios that cover every key.

Whatever changes a plan, a message on the data plane's control socket or a configuration of the flow
generators on purpose writes them anew: `python -m tests.golden.test_lanes`.
"""

import hashlib
import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nashbed.controlplane.config import load_testbed, parse_scenario
from nashbed.controlplane.contract.target import LaneProgram
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.plan.attempt import make_attempt
from nashbed.controlplane.plan.generator_config import generator_config
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.targets.dataplane import RunningDataPlane
from nashbed.controlplane.targets.registry import capabilities_of, resolve

GOLDEN = Path(__file__).with_name("lanes.json")
TEXT = """\
name: frozen
title: One
bottleneck: {{rate: 20mbit, buffer: 2bdp{lane}}}
flows: [{{name: main, count: 2, base_rtt: 30ms{path}}}{groups}]
strategies: [cubic, bbr]
duration: 20s
warmup: 5s
trials: 1
{more}
"""
TWO = (
    ", queues: [{name: a, flows: [bbr], weight: 3, limit: 1bdp}, {name: b, dscp: [ef]}, {name: c}]"
)
LANES = {
    **{name: f", discipline: {name}" for name in ("step", "red", "codel", "pie", "fq_codel")},
    "dualpi2": ", discipline: {dualpi2: {target: 10ms, classic_protection: 20%}}",
    "own": ", discipline: {file: ./mine.c, params: {wait: 5ms}}",
    "trains": ", arrive_as: trains, limit_counts: queue, overhead: 24B",
    "queues": TWO,
    "priority": f"{TWO}, scheduler: strict_priority".replace("weight: 3", "discipline: codel"),
    "threshold": f"{TWO}, shared_buffer: {{dynamic_threshold: {{alpha: 2}}}}",
    "static": f"{TWO}, shared_buffer: {{static: [1bdp, 30kB, 20pkt]}}",
    "changes": ", changes: [{at: 3s, rate: 5mbit, buffer: 4bdp}, {from: 6s, to: 7s, down: true}, "
    "{at: 9s, random_loss: 1%}]",
    "policer": ", policer: {rate: 10mbit, burst: 30kB}",
    "shaper": ", shaper: {burst: 32kB, peak: 1gbit, mtu: 3kB}",
    "return": ", overhead: 24B, return: {rate: 1mbit, buffer: 50pkt}",
}
PATHS = {
    "jitter": ", jitter: {normal: 2ms, every: 10ms}, reorder: {share: 1%, by: 5ms}",
    "bursts": ", loss: {gilbert: {p: 1%, r: 20%}}, return: {delay: 5ms, random_loss: 0.1%}",
    "moves": ", changes: [{at: 4s, base_rtt: 60ms}], random_loss: 0.1%, dscp: af41",
}
GROUPS = {
    "transfers": ", {name: web, base_rtt: 50ms, arrivals: {poisson: 20/s}, size: 20kB}",
    "reverse": ", {name: back, base_rtt: 30ms, count: 1, direction: reverse, strategy: reno}",
}
MORE = {
    "hosts": "hosts: {ecn: [bbr], processing_jitter: 0.1ms, read_interval: 1ms}\nstart: iperf3",
    "bins": "telemetry: {postcards: {bins: 10ms}}\nstart: {order: [bbr, cubic], gap: 1s}",
    "swept": "sweep: {rate: [10mbit, 20mbit], discipline: [droptail, codel], buffer: [1bdp, 9pkt]}",
}
EMPTY = dict.fromkeys(("lane", "path", "groups", "more"), "")
CASES = {
    name: TEXT.format(
        **{**EMPTY, "lane": LANES["return"] if part == "groups" else ""} | {part: text}
    )
    for part, cases in (("lane", LANES), ("path", PATHS), ("groups", GROUPS), ("more", MORE))
    for name, text in cases.items()
}


class Recorded(RunningDataPlane):
    """Keeps what it is told, and has done it."""

    def __init__(self, lane: LaneProgram) -> None:
        super().__init__(SimpleNamespace(scratch=Path("/nowhere")), lambda _: None)  # type: ignore[arg-type,return-value]
        self.told: list[Any] = []
        self._asked = lane.bottleneck

    def ask(self, answer: type[Any], op: str, **arguments: Any) -> Any:
        self.told.append([op, arguments])
        done = dict(self._asked.applied())
        return SimpleNamespace(applied=SimpleNamespace(**done, schedule=arguments.get("schedule")))


def digests(text: str) -> dict[str, str]:
    """Digests of the plan, and of what the first trial of each setting is told and applies."""
    bed = load_testbed(CONFIGS / "testbeds" / "virtual.yaml").model
    scenario = parse_scenario(text, "frozen.yaml").model
    plan = make_plan(scenario, bed, capabilities_of(bed), partial(resolve, bed))
    told: list[Any] = []
    generators: list[Any] = []
    for trial in {trial.setting.label: trial for trial in plan.trials}.values():
        attempt = make_attempt(scenario, trial, 0, 0, Path("/nowhere"))
        dataplane = Recorded(attempt.program())
        applied = dataplane.set_lane(attempt.program())
        told += [dataplane.told, applied.model_dump(mode="json"), str(attempt.telemetry())]
        configs = [generator_config(role, attempt) for role in attempt.roles]
        generators += [each.model_dump(exclude_defaults=True) for each in configs]
    parts = {"plan": plan.model_dump(mode="json"), "told": told, "generators": generators}
    return {
        name: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
        for name, part in parts.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_a_lane_is_planned_and_told_as_before(name: str) -> None:
    assert digests(CASES[name]) == json.loads(GOLDEN.read_text())[name]


if __name__ == "__main__":
    GOLDEN.write_text(
        json.dumps({name: digests(text) for name, text in CASES.items()}, indent=1) + "\n"
    )
