"""Several queues on a Tofino: what its traffic manager is told, and what of it is read back."""

from collections.abc import Iterator
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.contract.queues import Memory, Queue, Queues
from nashbed.controlplane.contract.target import (
    Applied,
    FlowEntry,
    Lane,
    LaneProgram,
    Limit,
)
from nashbed.controlplane.targets.tofino import TofinoSwitch
from nashbed.controlplane.targets.tofino.capabilities import switch_capabilities
from nashbed.controlplane.targets.tofino.client import BfRtClient
from nashbed.controlplane.targets.tofino.queues import BAF
from nashbed.controlplane.targets.tofino.resolving import resolve
from tests.fakes.bfrt import FakeBfRt
from tests.support.tofino import artefact, settings

RECEIVERS, PIPE = 136, 1
FULL = {"tofino1": 20, "tofino2": 9}
"""Cells of a full-sized packet."""
SHARING = Memory(name="complete_sharing")
STATIC = Memory(name="static", parameters=(("limits_bytes", (80 * 1514, 40 * 1514)),))


def connected(server: FakeBfRt, lanes: int = 1) -> TofinoSwitch:
    described = settings(server.chip, server.address)
    client = BfRtClient(described.grpc, described.device, described.p4_name, timeout_s=60.0)
    switch = TofinoSwitch(described, lanes=lanes, client=client)
    switch.load(artefact(server.chip))
    return switch


@pytest.fixture
def switch(server: FakeBfRt) -> Iterator[TofinoSwitch]:
    made = connected(server)
    yield made
    made.close()


def several(
    memory: Memory = SHARING,
    scheduler: Any = "drr",
    weights: tuple[int, ...] = (1, 3),
    limits: tuple[int, ...] = (0, 0),
) -> Lane:
    """Queues out of a hundred packets at 100 Mbit/s."""
    queues = tuple(
        Queue(name=f"q{i}", limit_bytes=limit, weight=weight)
        for i, (weight, limit) in enumerate(zip(weights, limits, strict=True))
    )
    return Lane(
        rate_bps=10**8,
        limit=Limit(unit="bytes", value=100 * 1514),
        queues=Queues(scheduler=scheduler, memory=memory, queues=queues),
    )


def programmed(switch: TofinoSwitch, asked: Lane) -> Applied:
    flows = tuple(
        FlowEntry(f, "10.64.0.1", "10.65.0.1", 20000 + f, 5201, queue=f % 2) for f in range(2)
    )
    return switch.program(LaneProgram(0, asked, (), flows))


def at_queue(server: FakeBfRt, table: str, queue: int) -> dict[str, Any]:
    """An entry of the lane's n-th queue, which stands behind that of unshaped packets."""
    key = server.queue_key(RECEIVERS, 1 + queue)
    found = server.entry(f"{server.prefix}.tm.queue.{table}", PIPE, **key)
    assert found is not None
    return found.data


def at_port(server: FakeBfRt, table: str) -> dict[str, Any]:
    found = server.entry(f"{server.prefix}.tm.port.{table}", dev_port=RECEIVERS)
    assert found is not None
    return found.data


def test_the_port_is_the_line_and_the_queues_are_not_shaped(
    server: FakeBfRt, switch: TofinoSwitch
) -> None:
    applied = programmed(switch, several())
    assert at_port(server, "sched_cfg") == {"max_rate_enable": True}
    # 1514 byte frames at 100 Mbit/s, and 50 bytes that the shaper counts beside each.
    kbits = at_port(server, "sched_shaping")["max_rate"]
    assert kbits == pytest.approx(1e5 * 1564 / 1514, rel=0.002)
    assert applied.rate_bps / 1000 == pytest.approx(kbits, abs=1)
    assert [at_queue(server, "sched_cfg", i)["max_rate_enable"] for i in (0, 1)] == [False] * 2


def test_weights_keep_their_ratio_and_priorities_their_order(
    server: FakeBfRt, switch: TofinoSwitch
) -> None:
    programmed(switch, several())
    served = [at_queue(server, "sched_cfg", i) for i in (0, 1)]
    assert [(each["dwrr_weight"], each["max_priority"]) for each in served] == [
        (341, "7"),
        (1023, "7"),
    ]
    programmed(switch, several(scheduler="strict_priority", weights=(1, 1)))
    served = [at_queue(server, "sched_cfg", i) for i in (0, 1)]
    assert [(each["dwrr_weight"], each["max_priority"]) for each in served] == [
        (1023, "7"),
        (1023, "6"),
    ]


def test_the_lowest_of_eight_priorities_is_read_by_another_name() -> None:
    server = FakeBfRt("tofino2", artefact("tofino2").read_bytes()).start()
    try:
        switch = connected(server)
        asked = several(scheduler="strict_priority", weights=(1,) * 8, limits=(0,) * 8)
        applied = programmed(switch, asked)
        assert at_queue(server, "sched_cfg", 7)["max_priority"] == "LOW"
        assert applied.queues is not None
        assert len(applied.queues.queues) == 8
        switch.close()
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("memory", "limits", "packets"),
    [
        (SHARING, (0, 0), (100, 100)),
        (SHARING, (0, 30 * 1514), (100, 30)),
        (Memory(name="complete_partitioning"), (0, 0), (50, 50)),
        (STATIC, (0, 0), (80, 40)),
    ],
)
def test_static_limits_are_within_one_pool(
    server: FakeBfRt,
    switch: TofinoSwitch,
    memory: Memory,
    limits: tuple[int, ...],
    packets: tuple[int, ...],
) -> None:
    asked = several(memory, limits=limits)
    applied = programmed(switch, asked)
    full = FULL[server.chip]
    pool = server.entry(f"{server.prefix}.tm.pool.cfg", pool="EG_APP_POOL_3")
    assert pool is not None
    assert pool.data["size_cells"] == 100 * full == applied.limit.value
    buffers = [at_queue(server, "buffer", i) for i in (0, 1)]
    assert [each["pool_max_cells"] for each in buffers] == [n * full for n in packets]
    for each in buffers:
        assert (each["pool_id"], each["dynamic_baf"]) == ("EG_APP_POOL_3", "DISABLE")
        assert (each["guaranteed_cells"], each["tail_drop_enable"]) == (0, True)
    assert applied.queues is not None
    assert [q.limit_bytes for q in applied.queues.queues] == [n * 1514 for n in packets]
    assert applied == resolve(settings(server.chip, server.address), asked)


@pytest.mark.parametrize(("alpha", "name"), BAF.items())
def test_a_dynamic_threshold_is_the_chips(
    server: FakeBfRt, switch: TofinoSwitch, alpha: float, name: str
) -> None:
    """Its names are the share that one queue alone gets: alpha / (1 + alpha), cut to per cents."""
    memory = Memory(name="dynamic_threshold", parameters=(("alpha", alpha),))
    applied = programmed(switch, several(memory))
    assert [at_queue(server, "buffer", i)["dynamic_baf"] for i in (0, 1)] == [name] * 2
    assert int(name.removesuffix("%")) == pytest.approx(100 * alpha / (1 + alpha), abs=0.7)
    assert applied.queues is not None
    assert applied.queues.memory == memory
    assert f"dynamic {name}" in applied.detail


def test_each_flow_is_sent_to_its_queue(server: FakeBfRt, switch: TofinoSwitch) -> None:
    programmed(switch, several())
    table = server.named("BottleneckIngress.flow_table")
    sent = {
        dict(key)["src_port"] - 20000: stored.data["queue"]
        for (name, key, _), stored in server.entries.items()
        if name == table
    }
    assert sent == {0: 1, 1: 2}


def test_the_queues_are_counted_together(server: FakeBfRt, switch: TofinoSwitch) -> None:
    programmed(switch, several())
    for queue, (used, dropped) in enumerate(((21, 5), (20, 2))):
        key = server.queue_key(RECEIVERS, 1 + queue)
        counted = {"usage_cells": used, "drop_count_packets": dropped}
        server.put(f"{server.prefix}.tm.counter.queue", counted, PIPE, **key)
    found = switch.read_registers(0, 0, 2)
    assert found.queue_packets == -(-41 // FULL[server.chip])
    assert found.losses["lane_0_unreported_drops"] == 7


@pytest.mark.parametrize(
    ("table", "wrong", "problem"),
    [
        ("sched_cfg", {"dwrr_weight": 7}, "queue 'q1' has dwrr_weight 7 after 1023 was written"),
        ("buffer", {"dynamic_baf": "80%"}, "queue 'q1' has dynamic_baf 80% after DISABLE"),
    ],
)
def test_what_is_read_back_otherwise_is_told(
    server: FakeBfRt, switch: TofinoSwitch, table: str, wrong: dict[str, Any], problem: str
) -> None:
    key = server.queue_key(RECEIVERS, 2)
    name = f"{server.prefix}.tm.queue.{table}"
    server.before_read = lambda: server.put(name, wrong, PIPE, **key)
    with pytest.raises(TargetError, match=problem) as error:
        programmed(switch, several())
    assert "\n" not in error.value.message


def test_all_of_it_is_taken_back(server: FakeBfRt) -> None:
    switch = connected(server)
    programmed(switch, several(scheduler="strict_priority", weights=(1, 1)))
    switch.close()
    pool = server.entry(f"{server.prefix}.tm.pool.cfg", pool="EG_APP_POOL_3")
    assert pool is not None
    assert pool.data["size_cells"] == 0
    assert at_port(server, "sched_cfg") == {"max_rate_enable": False}
    assert at_queue(server, "sched_cfg", 1)["max_priority"] == "7"
    assert at_queue(server, "buffer", 1) == {
        "guaranteed_cells": 20, "hysteresis_cells": 32, "tail_drop_enable": True,
        "pool_id": "EG_APP_POOL_0", "pool_max_cells": 100, "dynamic_baf": "80%",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (
            several(Memory(name="dynamic_threshold", parameters=(("alpha", 3.0),))),
            "dynamic thresholds have alpha 0.0625, 0.125, 0.25, 0.5, 1, 2, 4, not 3",
        ),
        (
            several(
                Memory(name="dynamic_threshold", parameters=(("alpha", 1.0),)),
                limits=(0, 3028),
            ),
            "a queue has a dynamic threshold or a limit of its own, not both",
        ),
    ],
)
def test_what_it_cannot_is_refused_while_planning(
    server: FakeBfRt, asked: Lane, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as error:
        resolve(settings(server.chip, server.address), asked)
    assert "\n" not in error.value.message


def test_several_queues_have_the_port_to_themselves(server: FakeBfRt) -> None:
    described = settings(server.chip, server.address)
    assert (
        switch_capabilities(described, 1).lane["queues"]
        == {"tofino1": 7, "tofino2": 8}[server.chip]
    )
    assert switch_capabilities(described, 2).lane["queues"] == 1
    switch = connected(server, lanes=2)
    with pytest.raises(TargetError, match=r"one lane has it alone; set capacity\.lanes: 1"):
        programmed(switch, several())
    switch.close()
