"""Scenarios and runs that the control plane's tests share."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from nashbed.controlplane.config import Loaded, parse_scenario, parse_testbed
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import Capabilities
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.run.active_run import ActiveRun, new_run
from nashbed.controlplane.study.adaptive import make_chooser
from nashbed.controlplane.targets.dpdk import dpdk_capabilities

SCENARIO = """\
name: small
title: A small one
bottleneck: {rate: 100mbit, buffer: 2bdp}
flows:
  - {name: main, count: 3, base_rtt: 10ms}
strategies: [cubic, bbr]
duration: 400ms
warmup: 100ms
start_jitter: 50ms
trials: 1
sweep: {mixes: [0, 1, 3]}
"""

TESTBED = """\
name: fake
ports:
  senders: {driver: af_xdp}
  receivers: {driver: af_xdp}
capacity: {rate: 250mbit, lanes: 4}
"""


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands take whoever runs the tests for root: the default testbed is in real time then."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("nashbed.place.reserved", lambda *_: nullcontext())


def scenario_with(old: str, new: str) -> Scenario:
    """SCENARIO with some text replaced."""
    assert old in SCENARIO
    return parse_scenario(SCENARIO.replace(old, new), "s.yaml").model


def plan_of(scenario: Scenario, testbed: Testbed, can: Capabilities | None = None) -> Plan:
    return make_plan(scenario, testbed, can or dpdk_capabilities(testbed.dataplane))


@pytest.fixture
def scenario() -> Scenario:
    return parse_scenario(SCENARIO, "small.yaml").model


@pytest.fixture
def testbed() -> Testbed:
    return parse_testbed(TESTBED, "fake.yaml").model


MakeRun = Callable[..., ActiveRun]


def new_run_in(folder: Path, old: str = "", new: str = "") -> ActiveRun:
    """A run directory of SCENARIO with some text replaced."""
    loaded: Loaded[Scenario] = parse_scenario(SCENARIO.replace(old, new), "small.yaml")
    bed = parse_testbed(TESTBED, "fake.yaml")
    plan = make_plan(loaded.model, bed.model, dpdk_capabilities(bed.model.dataplane))
    return new_run(folder, loaded, bed, plan, make_chooser)


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Makes a run directory from SCENARIO with some text replaced."""
    return partial(new_run_in, tmp_path / "results")
