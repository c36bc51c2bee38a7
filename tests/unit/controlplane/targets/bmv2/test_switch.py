"""The bmv2 adapter against a simple_switch that knows only what the compiled program has."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.contract.messages.dataplane import QueueState
from nashbed.controlplane.contract.target import FlowEntry, Lane, LaneProgram, Limit
from nashbed.controlplane.contract.units import PACKET_BYTES
from nashbed.controlplane.machine.paths import P4SRC
from nashbed.controlplane.targets.bmv2 import Bmv2Switch, bmv2_resolve
from nashbed.controlplane.targets.bmv2 import switch as module
from nashbed.controlplane.targets.bmv2.conversion import MAX_PPS, pace_of
from tests.fakes.bmv2 import FakeHost, FakeRuntime

ARTEFACT = P4SRC / "bmv2" / "bottleneck.json"
MBIT = 10**6
PROGRAM = Lane(rate_bps=10 * MBIT, limit=Limit(unit="bytes", value=100_000))
ENTRIES = tuple(FlowEntry(f, "10.64.0.1", "10.65.0.1", 40000 + f, 5001) for f in range(3))


@dataclass
class Rig:
    """A switch under test and what it talks to."""

    switch: Bmv2Switch
    host: FakeHost
    runtime: FakeRuntime


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    runtime = FakeRuntime(ARTEFACT)
    host = FakeHost(tmp_path)

    def connect(connection: object) -> FakeRuntime:
        connection.close()  # type: ignore[attr-defined]
        return runtime

    return Rig(Bmv2Switch(host, "simple_switch", connect), host, runtime)


def test_its_own_service_comes_after_the_port(rig: Rig) -> None:
    rig.runtime.refused_first = 2
    rig.switch.load(ARTEFACT)
    assert rig.runtime.depth == module.DEPTH_PACKETS
    assert rig.host.connections == 3


def test_a_service_that_never_comes_is_told(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READY_TIMEOUT_S", 0.05)
    rig.runtime.refused_first = 1000
    with pytest.raises(TargetError, match="does not serve its queues"):
        rig.switch.load(ARTEFACT)


def lane(program: Lane = PROGRAM, number: int = 0) -> LaneProgram:
    return LaneProgram(lane=number, bottleneck=program, delays=(), flows=ENTRIES)


def test_ten_mbit_are_826_packets_per_second() -> None:
    # 10^7 / (8 x 1514) = 825.6; 1/826 s = 1210653.75 ns, cut; 12112 bit / 1210653 ns.
    assert pace_of(10 * MBIT).pps == 826
    assert pace_of(10 * MBIT).slot_ns == 1_210_653
    assert pace_of(10 * MBIT).rate_bps == 10_004_518


def test_overhead_makes_slots_longer() -> None:
    assert pace_of(10 * MBIT, 24).pps == 813  # 10^7 / (8 x 1538) = 812.7
    assert pace_of(10 * MBIT, 24).packet_bytes == 1538


@pytest.mark.parametrize("rate_bps", range(MBIT, 900 * MBIT, 7 * MBIT))
def test_what_is_applied_is_within_half_a_packet_per_second(rate_bps: int) -> None:
    applied = bmv2_resolve(PROGRAM.model_copy(update={"rate_bps": rate_bps}))
    # Cutting the slot to whole nanoseconds makes the rate higher by at most pps / 10^9.
    most = 4 * PACKET_BYTES + rate_bps * MAX_PPS / 10**9
    assert abs(applied.rate_bps - rate_bps) <= most
    assert applied.limit == PROGRAM.limit
    assert applied.slot_bytes == PACKET_BYTES


@pytest.mark.parametrize("rate_bps", [1000, 6000, 970 * MBIT, 10**10])
def test_rates_that_it_has_not_are_refused(rate_bps: int) -> None:
    with pytest.raises(ConfigError, match=r"simple_switch does 1 to 80000 packets/s: write"):
        pace_of(rate_bps)


def test_the_conversion_is_told() -> None:
    told = bmv2_resolve(PROGRAM).detail
    assert told.startswith("826 packets/s, each 1210653 ns: 10mbit / (8 x 1514 bytes)")


def test_load_starts_it_with_two_queues_and_no_limit_of_its_own(rig: Rig) -> None:
    before = time.monotonic_ns()
    hello = rig.switch.load(ARTEFACT)
    assert rig.host.started == [(ARTEFACT, ("--priority-queues", "2"))]
    assert rig.runtime.depth == 2**30
    assert rig.runtime.sessions == {1: 2}
    assert len(hello.artefact_digest) == 64
    # Its clock says 5 s: its 0 was 5 s ago, give or take what the readings took.
    now = time.monotonic_ns()
    assert before - 5_000_200_000 <= hello.epoch_ns <= now - 5_000_000_000


def test_program_sets_rate_limit_and_flows(rig: Rig) -> None:
    rig.switch.load(ARTEFACT)
    applied = rig.switch.program(lane())
    assert applied == bmv2_resolve(PROGRAM)
    assert rig.runtime.rates == {(1, 0): 826}
    assert rig.runtime.registers["limit_bytes"] == [100_000]
    assert rig.runtime.registers["slot_ns"] == [1_210_653]
    key = (b"\x0a\x40\0\x01", b"\x0a\x41\0\x01", b"\x9c\x41", b"\x13\x89", b"\x06")
    assert rig.runtime.entries[key] == ("BottleneckIngress.to_queue", (b"\0\0", b"\0\0\0\x01"))
    assert len(rig.runtime.entries) == 3


def test_registers_come_by_their_names(rig: Rig) -> None:
    rig.switch.load(ARTEFACT)
    registers = rig.runtime.registers
    registers["BottleneckIngress.arrived_packets"][1:4] = [10, 20, 30]
    registers["BottleneckEgress.departed_packets"][1:4] = [7, 20, 29]
    registers["BottleneckIngress.dropped_packets"][1:4] = [1, 0, 1]
    registers["BottleneckIngress.unshaped_packets"][:] = [0, 4, 5, 6]
    registers["BottleneckIngress.unshaped_bytes"][:] = [0, 40, 50, 60]
    registers["BottleneckEgress.delay_histogram"][:3] = [1, 0, 2]
    found = rig.switch.read_registers(0, 1, 3)
    assert found.flows.arrived_packets == (10, 20, 30)
    assert found.flows.in_queue_bytes == (0, 0, 0)
    assert found.queue_packets == 2
    assert found.queue == QueueState(histogram_bin_ns=1 << 20, histogram=(1, 0, 2))
    assert found.unshaped == {
        "reverse_packets": 4,
        "reverse_bytes": 40,
        "unknown_packets": 5,
        "unknown_bytes": 50,
        "malformed_packets": 6,
        "malformed_bytes": 60,
    }


def test_reset_forgets_all_but_what_is_programmed(rig: Rig) -> None:
    rig.switch.load(ARTEFACT)
    rig.switch.program(lane())
    for name, cells in rig.runtime.registers.items():
        cells[0] = cells[0] or 9
        if name.endswith("_packets"):
            cells[0] = 0
    rig.switch.reset(0, 0, 3)
    assert rig.runtime.entries == {}
    left = {name: cells[0] for name, cells in rig.runtime.registers.items() if any(cells)}
    # What goes unshaped is of no lane; the rest is overwritten by the next program.
    assert left == {
        "limit_bytes": 100_000,
        "slot_ns": 1_210_653,
        "BottleneckIngress.unshaped_bytes": 9,
    }


def test_reset_waits_for_the_queue(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAIN_TIMEOUT_S", 0.05)
    rig.switch.load(ARTEFACT)
    rig.runtime.registers["BottleneckIngress.arrived_packets"][0] = 3
    with pytest.raises(TargetError, match="3 packets are still in its queue"):
        rig.switch.reset(0, 0, 1)


def test_there_is_one_lane(rig: Rig) -> None:
    rig.switch.load(ARTEFACT)
    with pytest.raises(TargetError, match="lane 1: simple_switch has one bottleneck"):
        rig.switch.program(lane(number=1))


def test_another_program_is_noticed(rig: Rig) -> None:
    rig.runtime.md5 = b"another"
    with pytest.raises(TargetError, match="runs another program"):
        rig.switch.load(ARTEFACT)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"stamp": 3}', '{"stamp": "none"}'])
def test_a_file_that_is_no_artefact(rig: Rig, tmp_path: Path, content: str) -> None:
    path = tmp_path / "program.json"
    path.write_text(content)
    with pytest.raises(TargetError, match=r"is not a program that p4src/build.py compiled"):
        rig.switch.load(path)
    assert rig.host.started == []


def test_a_switch_that_ended_is_what_the_error_is_about(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> list[int]:
        raise TargetError("simple_switch: register: no answer")

    rig.switch.load(ARTEFACT)
    monkeypatch.setattr(rig.runtime, "read_register", fail)
    with pytest.raises(TargetError, match=r"^simple_switch: register: no answer$"):
        rig.switch.read_registers(0, 0, 1)
    rig.host.process.code = -11
    with pytest.raises(TargetError, match=r"^switch ended: .* \(exit code -11\)$"):
        rig.switch.read_registers(0, 0, 1)


def test_nothing_works_before_load_and_after_close(rig: Rig) -> None:
    with pytest.raises(TargetError, match="not loaded"):
        rig.switch.read_registers(0, 0, 1)
    rig.switch.load(ARTEFACT)
    rig.switch.close()
    rig.switch.close()
    assert rig.runtime.closed
    assert rig.host.process.stopped
    with pytest.raises(TargetError, match="not loaded"):
        rig.switch.program(lane())
