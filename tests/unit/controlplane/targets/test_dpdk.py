"""The dpdk adapter against the fake's strict protocol, and the client against garbage."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.disciplines import Discipline
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.messages.dataplane import TelemetryTotals
from nashbed.controlplane.contract.queues import Memory, Queue, Queues
from nashbed.controlplane.contract.shared import CONSTANTS, FLOW_REGISTERS
from nashbed.controlplane.contract.target import (
    Applied,
    FlowEntry,
    GroupDelay,
    Lane,
    LaneProgram,
    Limit,
    TelemetryPlan,
)
from nashbed.controlplane.contract.testbed import DataPlane
from nashbed.controlplane.machine.process.control_client import ControlClient, FixedTimeout
from nashbed.controlplane.targets import dataplane
from nashbed.controlplane.targets.dpdk import DpdkTarget, replay_config
from tests.fakes.dataplane_host import Answer, FakeHost


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)


@pytest.fixture
def target(host: FakeHost) -> Iterator[DpdkTarget]:
    target = DpdkTarget(host, DataPlane())
    target.load(Path("x.spec"))
    yield target
    target.close()


def lane_program(flows: int = 3) -> LaneProgram:
    limit = Limit(unit="cells", value=100, cell_bytes=80)
    return LaneProgram(
        lane=2,
        bottleneck=Lane(rate_bps=10**8, limit=limit, overhead_bytes=24),
        delays=(
            GroupDelay(forward_ns=1, reverse_ns=2),
            GroupDelay(forward_ns=5, reverse_ns=6, seed=8, jitter_ns=9),
        ),
        flows=tuple(
            FlowEntry(flow=10 + i, src="10.64.2.1", dst="10.65.2.1", sport=10000 + i, dport=5001)
            for i in range(flows)
        ),
    )


def test_load_says_hello(host: FakeHost, target: DpdkTarget) -> None:
    assert host.process.plane.config["memory_mb"] == 1024
    assert host.process.plane.config["spec"] == "x.spec"
    assert host.process.requests == [{"op": "hello"}]


def test_program_returns_what_was_applied(host: FakeHost, target: DpdkTarget) -> None:
    applied = target.program(lane_program())
    limit = Limit(unit="cells", value=100, cell_bytes=80)
    assert applied == Applied(rate_bps=10**8, limit=limit, buffer_bytes=8000, overhead_bytes=24)
    ops = [request["op"] for request in host.process.requests]
    assert ops == ["hello", "program", "delay", "delay", "flows"]
    assert host.process.requests[3] == {
        "op": "delay", "lane": 2, "group": 1, "forward_ns": 5, "reverse_ns": 6,
        "loss_ppb": 0, "seed": 8, "jitter_ns": 9, "receivers_wait": False,
    }  # fmt: skip


def test_begin_is_told_on_the_switch_clock(host: FakeHost, target: DpdkTarget) -> None:
    target.program(lane_program())
    t0_ns = time.monotonic_ns() + 10**12
    target.begin(2, t0_ns)
    assert host.process.plane.begun == {2: t0_ns - host.process.plane.epoch_ns}
    with pytest.raises(TargetError, match="t0_ns"):
        target.begin(2, host.process.plane.epoch_ns)


def test_trains_are_applied(host: FakeHost, target: DpdkTarget) -> None:
    lane = lane_program()
    trains = lane.bottleneck.model_copy(update={"arrive_as": "trains"})
    assert target.program(replace(lane, bottleneck=trains)).arrive_as == "trains"
    assert host.process.requests[1]["arrive_as"] == "trains"
    assert trains.applied().arrive_as == "trains"


@pytest.mark.parametrize(
    ("asked", "applied"), [(None, "system"), ("system", "system"), ("queue", "queue")]
)
def test_what_the_limit_counts_is_applied(
    host: FakeHost, target: DpdkTarget, asked: str | None, applied: str
) -> None:
    lane = lane_program()
    program = lane.bottleneck.model_copy(update={"limit_counts": asked})
    assert target.program(replace(lane, bottleneck=program)).limit_counts == applied
    assert host.process.requests[1].get("limit_counts") == asked
    assert program.applied().limit_counts == applied


def test_a_discipline_is_applied(host: FakeHost, target: DpdkTarget) -> None:
    lane = lane_program()
    codel = Discipline(name="codel", parameters=(("target_ns", 5 * 10**6), ("ecn", True)))
    program = lane.bottleneck.model_copy(update={"discipline": codel})
    assert target.program(replace(lane, bottleneck=program)).discipline == codel
    flat = {"name": "codel", "target_ns": 5 * 10**6, "ecn": True, "seed": lane.seed}
    assert host.process.requests[1]["discipline"] == flat
    assert program.applied().discipline == codel
    assert target.program(lane).discipline is None
    assert "discipline" not in host.process.requests[-4]


def test_several_queues_are_applied(host: FakeHost, target: DpdkTarget) -> None:
    """The data plane knows no names; what is applied has them, and what it answered."""
    lane = lane_program()
    asked = Queues(
        scheduler="drr",
        memory=Memory(name="dynamic_threshold", parameters=(("alpha", 2.0),)),
        queues=(
            Queue(
                name="bulk",
                takes=("cubic",),
                limit_bytes=5000,
                weight=3,
                discipline=Discipline(name="codel", parameters=(("ecn", True),)),
            ),
            Queue(name="rest"),
        ),
        dscp=((46, 0),),
        dscp_default=1,
    )
    program = lane.bottleneck.model_copy(
        update={"queues": asked, "limit": Limit(unit="bytes", value=10**6)}
    )
    flows = tuple(replace(flow, queue=CONSTANTS.queue_by_dscp) for flow in lane.flows)
    applied = target.program(replace(lane, bottleneck=program, flows=flows))
    assert applied.queues == asked == program.applied().queues
    told = host.process.requests[1]
    assert told["queues"] == {
        "scheduler": "drr",
        "memory": {"name": "dynamic_threshold", "alpha": 2.0},
        "queues": [
            {"limit_bytes": 5000, "weight": 3, "discipline": {"name": "codel", "ecn": True}},
            {"limit_bytes": 0, "weight": 1},
        ],
        "seed": lane.seed,
    }
    assert (told["dscp"], told["dscp_default"]) == ([[46, 0]], 1)
    replayed = replay_config(Path("x.spec"), program)["bottleneck"]
    assert replayed["queues"]["queues"] == told["queues"]["queues"]
    strict = asked.model_copy(update={"scheduler": "strict_priority"})
    assert [set(queue) & {"weight"} for queue in strict.told(0)["queues"]["queues"]] == [
        set(),
        set(),
    ]
    assert target.program(lane).queues is None
    assert not {"queues", "dscp", "dscp_default"} & set(host.process.requests[-4])


def test_many_flows_go_in_several_calls(host: FakeHost, target: DpdkTarget) -> None:
    target.program(lane_program(flows=1200))
    sizes = [len(r["entries"]) for r in host.process.requests if r["op"] == "flows"]
    assert sizes == [512, 512, 176]
    assert len(host.process.plane.entries[2]) == 1200


def test_telemetry_and_counters(target: DpdkTarget, tmp_path: Path) -> None:
    target.program(lane_program())
    plan = TelemetryPlan("bins", tmp_path / "raw", first_flow=10, flows=3, bin_ns=10**7)
    stream = target.start_telemetry(2, plan)
    with pytest.raises(TargetError, match="already collecting"):
        target.start_telemetry(2, plan)
    counters = target.read_counters(2, 10, 3)
    assert counters.flows.arrived_bytes == (0, 0, 0)
    assert counters.held_packets == 0
    assert counters.lane.lateness.max_gap_ns == 1000
    assert stream.stop() == TelemetryTotals(seen=0, written=0, gaps=0, lost=0)


def test_a_slow_disk_is_asked_again(host: FakeHost, target: DpdkTarget, tmp_path: Path) -> None:
    target.program(lane_program())
    stream = target.start_telemetry(2, TelemetryPlan("all", tmp_path / "raw", 10, 3))
    host.process.plane.unwritten = 3
    assert stream.stop().lost == 0
    assert [r["op"] for r in host.process.requests].count("telemetry_stop") == 4


def test_a_disk_that_takes_nothing_is_told(
    host: FakeHost, target: DpdkTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataplane, "WRITTEN_TIMEOUT_S", 0.0)
    stream = target.start_telemetry(2, TelemetryPlan("all", tmp_path / "raw", 10, 3))
    host.process.plane.unwritten = 10**6
    with pytest.raises(TargetError, match="the disk has not taken the postcards of lane 2"):
        stream.stop()


def test_a_refusal_is_one_line(target: DpdkTarget) -> None:
    with pytest.raises(TargetError, match=r"^data plane: reset: lane must be 0 to 63$"):
        target.reset(64, 0, 1)
    target.reset(0, 0, 1)


def test_nothing_works_before_load_or_after_close(host: FakeHost) -> None:
    target = DpdkTarget(host, DataPlane())
    with pytest.raises(TargetError, match="it is not loaded"):
        target.reset(0, 0, 1)
    target.load(Path("x"))
    target.close()
    target.close()
    assert host.process.stopped
    assert host.process.requests[-1] == {"op": "shutdown"}
    with pytest.raises(TargetError, match="it is not loaded"):
        target.reset(0, 0, 1)


def replies(answer: Answer, tmp_path: Path) -> str:
    """The error that an answer to hello makes."""
    host = FakeHost(tmp_path, answer)
    target = DpdkTarget(host, DataPlane())
    with pytest.raises(TargetError) as caught:
        target.load(Path("x"))
    with contextlib.suppress(TargetError):
        target.close()
    assert host.process.stopped
    return caught.value.message


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"garbage\n", "broken answer"),
        (b"\xff\xfe\n", "broken answer"),
        (b"[" * 100_000 + b"\n", "broken answer"),
        (b"[]\n", "the answer is not an object with `ok`"),
        (b'{"ok":1}\n', "the answer is not an object with `ok`"),
        (b'{"ok":false,"error":"a\\nb"}\n', "data plane: hello: a b"),
        (b'{"ok":false}\n', "no reason given"),
        (b'{"ok":true}\n', "data plane: hello: version is missing"),
        (b'{"ok":true}\n{"ok":true}\n', "more than one line for one request"),
    ],
)
def test_a_wrong_answer_is_one_line(answer: bytes, problem: str, tmp_path: Path) -> None:
    found = replies(lambda honest: answer, tmp_path)
    assert problem in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pid": None}, "pid is None, expected a whole number"),
        ({"pid": -1}, "pid is -1, expected 0 or more"),
        ({"epoch_ns": "now"}, "epoch_ns is 'now', expected a whole number"),
        ({"role": "switch"}, "role is 'switch', expected 'bottleneck' or 'hosts'"),
        ({"dialect": 2}, "dialect is not a field of this message"),
    ],
)
def test_a_wrong_hello_is_one_line(
    changes: dict[str, object], problem: str, tmp_path: Path
) -> None:
    found = replies(lambda honest: changed(honest, changes), tmp_path)
    assert found == f"data plane: hello: {problem}"


def changed(honest: bytes, changes: dict[str, object]) -> bytes:
    """An answer with other fields."""
    return json.dumps(json.loads(honest) | changes).encode() + b"\n"


def test_counters_are_of_the_flows_that_were_asked_for(tmp_path: Path) -> None:
    registers = {name: [0, 0] for name in FLOW_REGISTERS}

    def two_flows(honest: bytes) -> bytes:
        return changed(honest, {"flows": registers}) if b'"flows"' in honest else honest

    target = DpdkTarget(FakeHost(tmp_path, two_flows), DataPlane())
    target.load(Path("x"))
    with pytest.raises(TargetError, match=r"^data plane: counters: arrived_packets has not 3 val"):
        target.read_counters(0, 0, 3)
    target.close()


def serve_once(path: Path, answer: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen(1)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        client = ControlClient(path, FixedTimeout(0.2))
        try:
            client.call("stats")
        finally:
            client.close()
            thread.join()


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_client_survives_random_bytes(
    tmp_path_factory: pytest.TempPathFactory, answer: bytes
) -> None:
    path = tmp_path_factory.mktemp("socket") / "s"
    try:
        serve_once(path, answer)
    except TargetError as error:
        assert error.message.startswith("data plane: stats: ")


def test_no_socket_and_no_answer(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="cannot connect to the data plane"):
        ControlClient(tmp_path / "none")
    with pytest.raises(TargetError, match="the data plane closed the connection"):
        serve_once(tmp_path / "s", b"")
