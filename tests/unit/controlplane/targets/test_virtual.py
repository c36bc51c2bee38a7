"""The virtual target: a guest for each programming, as large as its lane needs."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import InternalError, TargetError
from nashbed.controlplane.contract.target import (
    Applied,
    FlowEntry,
    GroupDelay,
    Lane,
    LaneProgram,
    Limit,
    TelemetryPlan,
)
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.estimates import LEAST_GUEST_PACKETS
from nashbed.controlplane.targets.registry import make_target
from nashbed.controlplane.targets.virtual import (
    PROBE_PACKETS,
    VirtualTarget,
    guest_dataplane,
    virtual_capabilities,
)
from tests.fakes.dataplane_host import FakeGuestHost, FakeHost

MS = 10**6
UDP = 17
BED = Testbed(name="virtual", target="virtual")


@pytest.fixture
def host(tmp_path: Path) -> FakeGuestHost:
    return FakeGuestHost(tmp_path)


@pytest.fixture
def target(host: FakeGuestHost) -> Iterator[VirtualTarget]:
    target = VirtualTarget(host)
    target.load(Path("x.spec"))
    yield target
    target.close()


def lane_program(flows: int = 3, rate_bps: int = 10**8, limit_bytes: int = 10**6) -> LaneProgram:
    return LaneProgram(
        lane=0,
        bottleneck=Lane(rate_bps=rate_bps, limit=Limit(unit="bytes", value=limit_bytes)),
        delays=(
            GroupDelay(forward_ns=20 * MS, reverse_ns=20 * MS),
            GroupDelay(forward_ns=5 * MS, reverse_ns=5 * MS),
        ),
        flows=tuple(
            FlowEntry(flow=i, src="10.64.0.1", dst="10.65.0.1", sport=10000 + i, dport=5001)
            for i in range(flows)
        ),
        seed=77,
        kernel="6.12",
    )


def test_loading_asks_a_guest_what_it_runs_and_ends_it(
    host: FakeGuestHost, target: VirtualTarget
) -> None:
    assert host.booted == [(0, "")]
    assert host.guests[0].requests == [{"op": "hello"}, {"op": "shutdown"}]
    assert host.guests[0].stopped
    assert host.guests[0].plane.config["spec"] == "x.spec"


def test_every_programming_boots_a_guest_of_its_own(
    host: FakeGuestHost, target: VirtualTarget
) -> None:
    applied = target.program(lane_program())
    limit = Limit(unit="bytes", value=10**6)
    assert applied == Applied(rate_bps=10**8, limit=limit, buffer_bytes=10**6, overhead_bytes=0)
    target.program(replace(lane_program(), seed=78, kernel=""))
    assert host.booted == [(0, ""), (77, "6.12"), (78, "")]
    assert [guest.stopped for guest in host.guests] == [True, True, False]
    ops = [request["op"] for request in host.guests[1].requests]
    assert ops == ["hello", "program", "delay", "delay", "flows", "shutdown"]


def test_telemetry_and_counters_are_the_running_guests(
    host: FakeGuestHost, target: VirtualTarget, tmp_path: Path
) -> None:
    target.program(lane_program())
    stream = target.start_telemetry(0, TelemetryPlan("all", tmp_path / "raw", 0, 3))
    assert target.read_counters(0, 0, 3).lane.lateness.max_ns == 0
    assert stream.stop().lost == 0
    assert {request["op"] for request in host.guests[0].requests} == {"hello", "shutdown"}


def test_a_reset_ends_the_guest(host: FakeGuestHost, target: VirtualTarget) -> None:
    target.reset(0, 0, 3)
    target.program(lane_program())
    target.reset(0, 0, 3)
    target.reset(0, 0, 3)
    assert host.guests[-1].stopped
    with pytest.raises(TargetError, match="guest: counters: no lane is programmed"):
        target.read_counters(0, 0, 3)


def test_nothing_boots_before_load(host: FakeGuestHost) -> None:
    target = VirtualTarget(host)
    with pytest.raises(TargetError, match="guest: the target is not loaded"):
        target.program(lane_program())
    target.reset(0, 0, 1)
    target.close()
    assert host.booted == []


def test_a_machine_without_guests_is_a_mistake_of_ours(tmp_path: Path) -> None:
    assert isinstance(make_target(FakeGuestHost(tmp_path), BED), VirtualTarget)  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="FakeHost boots no guests"):
        make_target(FakeHost(tmp_path), BED)  # type: ignore[arg-type]


def test_a_guest_has_the_memory_that_its_lane_can_fill() -> None:
    """1 GB in the queue and 500 kB in flight at 100 Mbit/s and 40 ms, each packet with an ACK."""
    large = guest_dataplane(lane_program(limit_bytes=10**9))
    assert large.queue_packets == 2 * 2 * (10**9 + 500_000) // 1514
    assert large.memory.bytes >= large.least_memory_bytes
    assert (large.lanes, large.flow_capacity, large.huge_pages) == (1, 3, False)
    assert guest_dataplane(lane_program(limit_bytes=3000)).queue_packets == LEAST_GUEST_PACKETS


def test_probes_are_small_and_their_number_does_not_go_by_the_rate() -> None:
    program = lane_program(rate_bps=4 * 10**11)
    probed = replace(program, flows=tuple(replace(flow, proto=UDP) for flow in program.flows))
    assert guest_dataplane(probed).queue_packets == 10**6 // 60 + PROBE_PACKETS


def test_it_is_exact_in_everything() -> None:
    can = virtual_capabilities()
    assert can.isolated
    assert can.repeatable
    assert can.virtual_time
    assert can.time_bounds is not None
    assert (can.time_bounds.departure_ns, can.time_bounds.loop_gap_ns) == (0, 0)
