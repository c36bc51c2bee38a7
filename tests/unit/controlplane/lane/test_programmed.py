"""A lane is given back whatever happens between its programming and its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import HostError, TargetError
from nashbed.controlplane.contract.target import (
    FlowEntry,
    Lane,
    LaneProgram,
    Limit,
    TelemetryPlan,
)
from nashbed.controlplane.lane import programmed as module
from nashbed.controlplane.lane.lab import Lab
from nashbed.controlplane.lane.programmed import programmed
from nashbed.controlplane.machine.host.counters import StrainCounts
from nashbed.controlplane.machine.process.clock import SYSTEM_CLOCK

PROGRAM = LaneProgram(
    lane=3,
    bottleneck=Lane(rate_bps=10**7, limit=Limit(unit="bytes", value=10_000)),
    delays=(),
    flows=tuple(FlowEntry(flow, "10.64.3.1", "10.65.3.1", 10_000, 5001) for flow in (6, 7)),
)
TELEMETRY = TelemetryPlan("all", Path("/nowhere"), 6, 2)


class Target:
    """Notes every call; `held` is how many packets are left at each look."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.held = [0]
        self.drops = 0
        self.link_downs = 0
        self._fails = fails

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self._fails:
            raise TargetError(f"{call} failed")

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        assert (lane, first_flow, flows) == (3, 6, 2)
        self._note("reset")

    def program(self, program: LaneProgram) -> str:
        assert program == PROGRAM
        self._note("program")
        return "applied"

    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> Target:
        assert (lane, plan) == (3, TELEMETRY)
        self._note("start")
        return self

    def stop(self) -> str:
        self._note("stop")
        return "totals"

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Any:
        assert (lane, first_flow, flows) == (3, 6, 2)
        held = self.held.pop(0) if len(self.held) > 1 else self.held[0]
        ports = {"senders": SimpleNamespace(link_downs=self.link_downs)}
        shared = SimpleNamespace(drops=self.drops, ports=ports)
        return SimpleNamespace(held_packets=held, shared=shared)


@pytest.fixture(autouse=True)
def _losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The losses are the target's drops and the hosts'."""
    monkeypatch.setattr(
        module, "loss_counters", lambda shared, hosts: {"switch": shared.drops, "hosts": hosts}
    )


def lab(
    target: Target,
    host_losses: int = 0,
    pruned: tuple[int, ...] = (0, 0),
    nic_downs: tuple[int, ...] = (0, 0),
) -> Lab:
    downs = iter([{"enp4s0f0": count} for count in nic_downs])
    strain = iter([StrainCounts({"rcv PruneCalled": count}) for count in pruned])
    session: Any = SimpleNamespace(
        host_losses=lambda: host_losses,
        host_strain=lambda: next(strain),
        link_downs=lambda: next(downs),
        clock=SYSTEM_CLOCK,
    )
    made: Any = Lab(session, target, {"epoch_ns": 0})  # type: ignore[arg-type]
    return made  # type: ignore[no-any-return]


def test_in_and_out_in_order() -> None:
    target = Target()
    with programmed(lab(target), PROGRAM, TELEMETRY) as lane:
        assert lane.applied == "applied"
        assert target.calls == ["reset", "program", "start"]
        assert lane.stop_telemetry() == "totals"
    assert target.calls == ["reset", "program", "start", "stop", "reset"]


def test_a_failure_inside_stops_the_recording_and_resets() -> None:
    target = Target()
    with pytest.raises(ZeroDivisionError), programmed(lab(target), PROGRAM, TELEMETRY):
        raise ZeroDivisionError
    assert target.calls == ["reset", "program", "start", "stop", "reset"]


@pytest.mark.parametrize(
    ("fails", "calls"),
    [
        ("program", ["reset", "program", "reset"]),
        ("start", ["reset", "program", "start", "reset"]),
    ],
)
def test_a_lane_that_cannot_be_programmed_is_reset(fails: str, calls: list[str]) -> None:
    target = Target(fails)
    with (
        pytest.raises(TargetError, match=f"{fails} failed"),
        programmed(lab(target), PROGRAM, TELEMETRY),
    ):
        pytest.fail("the lane must not be given out")
    assert target.calls == calls


def test_a_lane_that_cannot_be_reset_first_is_left_alone() -> None:
    target = Target("reset")
    with (
        pytest.raises(TargetError, match="reset failed"),
        programmed(lab(target), PROGRAM, TELEMETRY),
    ):
        pytest.fail("the lane must not be given out")
    assert target.calls == ["reset"]


def test_it_waits_until_the_lane_has_drained() -> None:
    target = Target()
    with programmed(lab(target), PROGRAM, TELEMETRY) as lane:
        target.held = [2, 1, 0]
        assert lane.drained(5.0, "trial").held_packets == 0
        assert target.held == [0]


def test_a_lane_that_does_not_drain_is_an_error() -> None:
    target = Target()
    with programmed(lab(target), PROGRAM, TELEMETRY) as lane:
        target.held = [1]
        with pytest.raises(HostError, match="trial x: the lane does not drain"):
            lane.drained(0.0, "trial x")
    assert target.calls[-2:] == ["stop", "reset"]


def test_losses_count_from_the_programming() -> None:
    target = Target()
    target.drops = 5
    with programmed(lab(target, host_losses=1), PROGRAM, TELEMETRY) as lane:
        target.drops = 7
        assert lane.losses(lane.counters()) == {"switch": 2, "hosts": 0}


def test_lost_links_count_from_the_programming() -> None:
    target = Target()
    target.link_downs = 2
    with programmed(lab(target, nic_downs=(1, 1)), PROGRAM, TELEMETRY) as lane:
        target.link_downs = 3
        assert lane.link_downs(lane.counters()) == {"port senders": 1, "enp4s0f0": 0}


def test_strain_counts_from_the_programming() -> None:
    with programmed(lab(Target(), pruned=(4, 9)), PROGRAM, TELEMETRY) as lane:
        strain = lane.strain()
    assert strain.pressure == {"rcv PruneCalled": 5}
    assert strain.cores is None
