"""What a run leaves: the switch as it was found, whatever the driver asks of the way back."""

from copy import deepcopy
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.targets.tofino import client as bfrt
from nashbed.controlplane.targets.tofino import programming
from nashbed.controlplane.targets.tofino.capabilities import CHIPS as CHIP
from nashbed.controlplane.targets.tofino.client import BfRtClient, RefusedError
from nashbed.controlplane.targets.tofino.info import Change, Entry, Query
from nashbed.controlplane.targets.tofino.undo import UndoLog, restoring
from tests.fakes.bfrt import FakeBfRt, Stored, zeros
from tests.support.tofino import settings

LIMITS = "BottleneckEgress.limits"
SESSION = {"$sid": 1}


def limit(lane: int, cells: int = 100, verb: Any = "set") -> Change:
    return Change(verb, LIMITS, {"lane": lane}, {"limit_cells": cells}, "set_limit")


def cells_of(server: FakeBfRt, lane: int) -> int | None:
    found = server.entry(server.named(LIMITS), lane=lane)
    return None if found is None else found.data["limit_cells"]


def foreign_session(server: FakeBfRt) -> Stored:
    """A mirror session that somebody else has set: ingress, multicast, another port."""
    fields = {"$session_enable": True, "$direction": "INGRESS", "$ucast_egress_port": 5,
              "$ucast_egress_port_valid": True, "$egress_port_queue": 3, "$ingress_cos": 2,
              "$packet_color": "YELLOW", "$mcast_grp_a": 77, "$mcast_grp_a_valid": True,
              "$mcast_rid": 9, "$copy_to_cpu": True, "$max_pkt_len": 128}  # fmt: skip
    table = next(t for t in server.tables.values() if t["name"] == "$mirror.cfg")
    server.put("$mirror.cfg", zeros(table, "$normal") | fields, **SESSION)
    found = server.entry("$mirror.cfg", **SESSION)
    assert found is not None
    found.action = "$normal"
    return deepcopy(found)


def test_a_session_that_was_there_is_modified_and_comes_back(
    server: FakeBfRt, client: BfRtClient
) -> None:
    before = foreign_session(server)
    log = UndoLog(client)
    log.apply([programming.mirror_session(settings(server.chip, server.address))])
    assert [done.verb for done in server.done] == ["MODIFY"]
    ours = server.entry("$mirror.cfg", **SESSION)
    assert ours is not None
    assert (ours.data["$direction"], ours.data["$mcast_grp_a"]) == ("EGRESS", 0)
    log.undo()
    assert server.entry("$mirror.cfg", **SESSION) == before


def test_a_session_that_had_no_direction_comes_back(server: FakeBfRt, client: BfRtClient) -> None:
    """It is read as NONE, which cannot be written."""
    foreign_session(server)
    server.put("$mirror.cfg", {"$session_enable": False, "$direction": "NONE"}, **SESSION)
    before = deepcopy(server.entry("$mirror.cfg", **SESSION))
    log = UndoLog(client)
    log.apply([programming.mirror_session(settings(server.chip, server.address))])
    log.undo()
    assert server.entry("$mirror.cfg", **SESSION) == before


def test_a_session_of_ours_is_added_and_deleted(server: FakeBfRt, client: BfRtClient) -> None:
    log = UndoLog(client)
    log.apply([programming.mirror_session(settings(server.chip, server.address))])
    log.undo()
    assert [done.verb for done in server.done] == ["INSERT", "DELETE"]
    assert server.entry("$mirror.cfg", **SESSION) is None


def test_a_second_change_of_an_entry_does_not_move_what_is_remembered(
    server: FakeBfRt, client: BfRtClient
) -> None:
    log = UndoLog(client)
    log.apply([limit(3, 100)])
    log.apply([limit(3, 200)])
    assert cells_of(server, 3) == 200
    log.undo()
    assert cells_of(server, 3) is None


def test_an_entry_that_was_there_is_not_deleted(server: FakeBfRt, client: BfRtClient) -> None:
    client.write([limit(3, 7, "add")])
    log = UndoLog(client)
    log.apply([limit(3, 100), limit(4, 100)])
    log.undo()
    assert (cells_of(server, 3), cells_of(server, 4)) == (7, None)


def test_entries_of_a_cleared_table_are_not_asked_for(server: FakeBfRt, client: BfRtClient) -> None:
    client.write([limit(3, 7, "add")])
    log = UndoLog(client)
    log.apply([Change("clear", LIMITS)])
    asked: list[str] = []
    server.before_read = lambda: asked.append("read")
    log.apply([limit(3)])
    assert asked == []
    assert cells_of(server, 3) == 100


# -- the packet generator -----------------------------------------------------------


def generator(server: FakeBfRt) -> Stored:
    found = server.entry(f"{server.prefix}.pktgen.app_cfg", app_id=0)
    assert found is not None
    return found


@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("trigger", ["trigger_timer_one_shot", "trigger_timer_periodic"])
def test_a_generator_that_somebody_uses_comes_back(
    server: FakeBfRt, client: BfRtClient, enabled: bool, trigger: str
) -> None:
    """It keeps its trigger while it is enabled, and a configuration is all of it."""
    app = generator(server)
    app.action = trigger
    app.data |= {"app_enable": enabled, "pkt_len": 200, "ibg_jitter": 5, "timer_nanosec": 77,
                 "packets_per_batch_cfg": 3, "pipe_local_source_port": 2}  # fmt: skip
    before = deepcopy(app)
    log = UndoLog(client)
    described = settings(server.chip, server.address)
    log.apply(programming.ticks(described, CHIP[described.chip]))
    ours = generator(server)
    assert (ours.action, ours.data["app_enable"]) == ("trigger_timer_periodic", True)
    assert (ours.data["ibg_jitter"], ours.data["packets_per_batch_cfg"]) == (0, 0)
    log.undo()
    assert generator(server) == before


def test_a_generator_that_nobody_has_configured(server: FakeBfRt, client: BfRtClient) -> None:
    """Tofino 2 reads it with 0 bytes, which its driver does not take: it is the shortest then."""
    before = deepcopy(generator(server))
    log = UndoLog(client)
    described = settings(server.chip, server.address)
    log.apply(programming.ticks(described, CHIP[described.chip]))
    log.undo()
    length = {"tofino1": before.data["pkt_len"], "tofino2": 60}[server.chip]
    assert generator(server) == Stored(before.action, before.data | {"pkt_len": length})


def test_only_what_we_changed_is_put_back_where_the_driver_keeps_the_rest(
    server: FakeBfRt, client: BfRtClient
) -> None:
    described = client.info.table(f"{server.prefix}.tm.pool.cfg")
    change = Change("modify", described.name, {"pool": "IG_APP_POOL_0"}, {"size_cells": 1})
    [restored] = restoring(change, Entry("", {"size_cells": 9, "foreign": 1}), described)
    assert restored.data == {"size_cells": 9}


# -- refusals -----------------------------------------------------------------------


@pytest.mark.parametrize("refused", [[0], [2], [4], [1, 3], [0, 1, 2, 3, 4]])
def test_a_refused_change_is_named_wherever_it_stands(
    server: FakeBfRt, client: BfRtClient, refused: list[int]
) -> None:
    """The server's details end with the last that it refuses, and it makes the others."""
    for lane in refused:
        client.write([limit(lane, 7, "add")])
    changes = [limit(lane, verb="add") for lane in range(5)]
    with pytest.raises(RefusedError) as error:
        client.write(changes)
    assert f"add {LIMITS} [lane={refused[0]}]" in error.value.message
    assert "Already exists" in error.value.message
    assert error.value.not_made == tuple(changes[lane] for lane in refused)
    made = [lane for lane in range(5) if cells_of(server, lane) == 100]
    assert made == [lane for lane in range(5) if lane not in refused]


def test_what_comes_after_a_refused_request_is_not_sent(
    server: FakeBfRt, client: BfRtClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bfrt, "BATCH", 2)
    client.write([limit(1, 7, "add")])
    changes = [limit(lane, verb="add") for lane in range(5)]
    with pytest.raises(RefusedError) as error:
        client.write(changes)
    assert error.value.not_made == (changes[1], *changes[2:])
    assert [cells_of(server, lane) for lane in range(5)] == [100, 7, None, None, None]


def test_what_was_refused_may_fail_to_be_taken_back(server: FakeBfRt, client: BfRtClient) -> None:
    log = UndoLog(client)
    server.refuse = lambda verb, table: "no" if (verb, table) == ("INSERT", "$mirror.cfg") else None
    with pytest.raises(TargetError, match=r"add \$mirror\.cfg"):
        log.apply([limit(3), programming.mirror_session(settings(server.chip, server.address))])
    assert cells_of(server, 3) == 100
    log.undo()
    assert cells_of(server, 3) is None


def test_what_was_made_may_not(server: FakeBfRt, client: BfRtClient) -> None:
    log = UndoLog(client)
    log.apply([limit(3), limit(4)])
    client.write([Change("delete", LIMITS, {"lane": 3})])
    with pytest.raises(TargetError, match=r"delete BottleneckEgress.limits \[lane=3\].*as it was"):
        log.undo()
    assert cells_of(server, 4) is None


def test_what_was_refused_in_part_is_taken_back(server: FakeBfRt, client: BfRtClient) -> None:
    """A port is added before its negotiation is refused."""
    chip = CHIP[settings(server.chip, server.address).chip]
    port = settings(server.chip, server.address).ports.senders

    def half(verb: str, table: str) -> str | None:
        if (verb, table) != ("INSERT", "$PORT"):
            return None
        server.put("$PORT", {}, **{"$DEV_PORT": port.port})
        return "no such negotiation"

    server.refuse = half
    log = UndoLog(client)
    with pytest.raises(TargetError, match="no such negotiation"):
        log.apply([programming.add_port(port, chip)])
    assert server.entry("$PORT", **{"$DEV_PORT": port.port}) is not None
    log.undo()
    assert server.entry("$PORT", **{"$DEV_PORT": port.port}) is None


def test_set_is_for_the_log(client: BfRtClient) -> None:
    """No table's "insert or modify" is used, for the mirror's has none."""
    with pytest.raises(KeyError, match="set"):
        client.write([limit(3)])


def test_counters_and_registers_are_read_from_the_chip(
    server: FakeBfRt, client: BfRtClient
) -> None:
    """The driver keeps a copy of when it last read them, which is what else it tells."""
    counter, key = "BottleneckIngress.arrived_packets", {"$COUNTER_INDEX": 4}
    server.put(server.named(counter), {"$COUNTER_SPEC_PKTS": 9}, **key)
    remembered = Query(counter, key, from_hardware=False)
    assert client.read([remembered])[0]["$COUNTER_SPEC_PKTS"] == 0
    assert client.read([Query(counter, key)])[0]["$COUNTER_SPEC_PKTS"] == 9
    assert client.read([remembered])[0]["$COUNTER_SPEC_PKTS"] == 9
