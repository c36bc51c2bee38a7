"""A switch and the hosts' data plane as one Target: who is asked what, and whole runs with it."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.contract.target import (
    FlowEntry,
    GroupDelay,
    Lane,
    LaneProgram,
    Limit,
    TelemetryPlan,
)
from nashbed.controlplane.contract.testbed import DataPlane
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.run.active_run import ActiveRun, new_run
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.study import adaptive
from nashbed.controlplane.targets import registry
from nashbed.controlplane.targets.with_hosts import SwitchWithHosts
from tests.fakes import switch as fake
from tests.fakes.dataplane_host import FakeHost
from tests.fakes.session import FakeSession
from tests.fakes.switch import CLOCK_AHEAD_NS, DIGEST, FakeSwitch
from tests.unit.controlplane.conftest import SCENARIO

PORTS = ("senders", "switch", "telemetry")
TESTBED = """\
name: fake-switch
target: bmv2
switch: {}
ports: {senders: {driver: af_xdp}, switch: {driver: af_xdp}, telemetry: {driver: af_xdp}}
capacity: {rate: 250mbit, lanes: 4}
"""
LANE = LaneProgram(
    lane=0,
    bottleneck=Lane(rate_bps=10**8, limit=Limit(unit="bytes", value=9000)),
    delays=(GroupDelay(forward_ns=1, reverse_ns=2),),
    flows=(FlowEntry(flow=0, src="10.64.0.1", dst="10.65.0.1", sport=10000, dport=5001),),
)
MakeTarget = Callable[[FakeSwitch], SwitchWithHosts]


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path, ports=PORTS)


@pytest.fixture
def make(host: FakeHost) -> Iterator[MakeTarget]:
    made: list[SwitchWithHosts] = []

    def make_one(switch: FakeSwitch) -> SwitchWithHosts:
        target = SwitchWithHosts(switch, host, DataPlane())
        made.append(target)
        target.load(Path("bottleneck.json"))
        return target

    yield make_one
    for target in made:
        target.close()


def ops(host: FakeHost) -> list[str]:
    return [request["op"] for request in host.process.requests]


def test_begin_is_told_on_the_clock_of_the_hosts(host: FakeHost, make: MakeTarget) -> None:
    """Delay lines are theirs; the switch's clock is another one."""
    target = make(FakeSwitch())
    target.program(LANE)
    t0_ns = time.monotonic_ns() + 10**12
    target.begin(0, t0_ns)
    assert host.process.plane.begun == {0: t0_ns - host.process.plane.epoch_ns}


def test_each_half_gets_its_part_of_a_program(host: FakeHost, make: MakeTarget) -> None:
    switch = FakeSwitch()
    applied = make(switch).program(LANE)
    assert (applied.rate_bps, applied.detail) == (10**8, "12500000 bytes/s")
    assert switch.programs == [LANE]
    assert ops(host) == ["hello", "delay"]


def test_the_clock_is_the_switchs(host: FakeHost, tmp_path: Path) -> None:
    target = SwitchWithHosts(FakeSwitch(), host, DataPlane())
    hello = target.load(Path("bottleneck.json"))
    config = json.loads((tmp_path / "dataplane.json").read_text())
    assert (config["role"], "spec" in config) == ("hosts", False)
    assert host.process.plane.epoch_ns - hello.epoch_ns >= CLOCK_AHEAD_NS
    assert hello.switch is not None
    assert (hello.spec_digest, hello.switch.version) == (DIGEST, "fake switch")
    target.start_telemetry(0, TelemetryPlan("all", tmp_path / "raw", 0, 1)).stop()
    asked = next(r for r in host.process.requests if r["op"] == "telemetry")
    assert CLOCK_AHEAD_NS < asked["start_ns"] < CLOCK_AHEAD_NS + 60 * 10**9
    target.close()


def test_counters_are_both_halves_in_one(host: FakeHost, make: MakeTarget) -> None:
    found = make(FakeSwitch(fault="loses")).read_counters(0, 0, 2)
    assert list(found.flows.arrived_packets) == fake.registers(2)["arrived_packets"]
    assert (found.held_packets, found.lane.histogram) == (0, (1,))
    assert found.lane.lateness.p999_ns == 20_000
    assert set(found.shared.ports) == set(PORTS)
    assert found.shared.unshaped["reverse_packets"] == 7
    assert found.shared.rings == {"no_memory": 0, "discarded": 7, "switch_telemetry": 3}


def test_a_queue_that_has_not_drained_is_held(make: MakeTarget) -> None:
    assert make(FakeSwitch(fault="queue_stuck")).read_counters(0, 0, 1).held_packets == 3


def test_reset_stops_the_hosts_first(host: FakeHost, make: MakeTarget) -> None:
    switch = FakeSwitch()
    make(switch).reset(0, 0, 1)
    assert ops(host)[-1] == "reset"
    assert switch.calls == ["load", "reset"]


def test_it_has_the_lanes_that_both_halves_have(host: FakeHost) -> None:
    few = DataPlane(lanes=1)
    assert SwitchWithHosts(FakeSwitch(), host, few).capabilities().lanes == 1


def test_registers_of_other_flows_are_refused(make: MakeTarget) -> None:
    class Odd(FakeSwitch):
        def read_registers(self, lane: int, first_flow: int, flows: int) -> fake.SwitchRegisters:
            return super().read_registers(lane, first_flow, flows + 1)

    with pytest.raises(TargetError, match=r"^switch: registers: arrived_packets has not 1 values$"):
        make(Odd()).read_counters(0, 0, 1)


def test_closing_ends_the_switch_even_when_the_hosts_fail(tmp_path: Path) -> None:
    host = FakeHost(tmp_path, answer=lambda honest: b"garbage\n", ports=PORTS)
    switch = FakeSwitch()
    target = SwitchWithHosts(switch, host, DataPlane())
    with pytest.raises(TargetError):
        target.load(Path("bottleneck.json"))
    target.close()
    assert switch.calls == ["load", "close"]


# Whole runs.


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> list[FakeSwitch]:
    """Makes `bmv2` mean the fake switch; the switches that runs made are in the list."""
    made: list[FakeSwitch] = []

    def make_switch(session: FakeSession, testbed: object) -> SwitchWithHosts:
        made.append(made.pop() if made else FakeSwitch())
        return SwitchWithHosts(made[-1], session, DataPlane())

    monkeypatch.setitem(
        registry.TARGETS.ours,
        "bmv2",
        lambda: registry.TargetKind(
            capabilities=lambda testbed: fake.capabilities(),
            resolve=lambda testbed, program: fake.resolve(program),
            make=make_switch,  # type: ignore[arg-type]
            artefact=lambda testbed: "bmv2/bottleneck.json",
        ),
    )
    return made


def planned(folder: Path, old: str = "", new: str = "") -> ActiveRun:
    scenario = parse_scenario(SCENARIO.replace(old, new), "small.yaml")
    bed = parse_testbed(TESTBED, "switch.yaml")
    plan = plan_run(scenario, bed, adaptive.expect)
    return new_run(folder / "results", scenario, bed, plan, adaptive.make_chooser)


def run_all(run: ActiveRun, kind: list[FakeSwitch], fault: str = "") -> list[TrialRecord]:
    """Run with the fakes; everything of them is closed at the end."""

    def happened() -> bool:
        return any(run.directory.trials.glob(".*/*/flow_samples.bin"))

    kind.append(FakeSwitch(happened, fault))
    session = FakeSession(PORTS)
    try:
        return execute(run, lambda s: None, ThisMachine(lambda r: session, lambda _: Path("x")))
    finally:
        assert session.calls[-1] == "close"
        assert kind[-1].calls[-1] == "close"
        assert all(process.poll() is not None for process in session.processes)


@pytest.mark.slow
def test_a_whole_run_on_a_switch_is_valid(tmp_path: Path, kind: list[FakeSwitch]) -> None:
    run = planned(tmp_path)
    assert run.plan.lanes == 1
    assert run.plan.trials[0].expected == fake.resolve(run.plan.trials[0].setting)
    records = run_all(run, kind)
    assert [record.invalid_reasons for record in records] == [()] * 3
    assert {record.applied.detail for record in records} == {"12500000 bytes/s"}
    manifest = json.loads((run.directory.path / "manifest.json").read_text())
    assert manifest["artefact_digest"] == DIGEST
    assert set(manifest["ports"]) == set(PORTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("loses", "no_other_loss: ring switch_telemetry 3"), ("malformed", "unshaped malformed_pa")],
)
def test_a_loss_at_the_switch_makes_a_trial_invalid(
    tmp_path: Path, kind: list[FakeSwitch], fault: str, reason: str
) -> None:
    run = planned(tmp_path, "sweep: {mixes: [0, 1, 3]}", "sweep: {mixes: [1]}\nmax_attempts: 1")
    (record,) = run_all(run, kind, fault)
    assert not record.valid
    assert reason in record.invalid_reasons[0]


@pytest.mark.slow
def test_a_switch_that_dies_in_a_trial_ends_the_run(tmp_path: Path, kind: list[FakeSwitch]) -> None:
    run = planned(tmp_path)
    with pytest.raises(TargetError, match="switch: ended unexpectedly") as caught:
        run_all(run, kind, "dies")
    assert caught.value.exit_code == 3
    assert json.loads((run.directory.path / "manifest.json").read_text())["status"] == "failed"
    assert list(run.directory.trials.iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("buffer: 2bdp", "buffer: 64pkt", "target fake cannot limit in packets"),
        ("count: 3", "count: 65", "65 flows, but the flow table has 64 entries"),
    ],
)  # fmt: skip
def test_what_the_switch_cannot_do_is_refused_while_planning(
    tmp_path: Path, kind: list[FakeSwitch], old: str, new: str, line: str
) -> None:
    with pytest.raises(ConfigError, match=r"^small: setting b\w+: ") as caught:
        planned(tmp_path, old, new)
    assert line in caught.value.message


def test_a_rate_that_cannot_be_converted_names_its_setting(
    tmp_path: Path, kind: list[FakeSwitch]
) -> None:
    scenario = parse_scenario(SCENARIO.replace("rate: 100mbit", "rate: 950mbit"), "small.yaml")
    bed = parse_testbed(TESTBED.replace("250mbit", "1gbit"), "switch.yaml")
    with pytest.raises(ConfigError) as caught:
        plan_run(scenario, bed, adaptive.expect)
    assert caught.value.message == "small: setting b2bdp: bottleneck.rate: too fast for a fake"
