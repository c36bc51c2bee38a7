"""The fake refuses what the driver refuses, and answers as the driver does (bfrt_driver.py)."""

from typing import Any

import grpc
import pytest
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.targets.tofino import bfruntime_pb2 as pb
from nashbed.controlplane.targets.tofino.client import BfRtClient, MissingEntryError, RefusedError
from nashbed.controlplane.targets.tofino.info import Change, Query
from tests.fakes.bfrt import SERVICE, FakeBfRt, operation
from tests.fakes.bfrt_driver import OPERATIONS, operations

CLIENT = 0x6E62
VERBS = {"add": "INSERT", "modify": "MODIFY", "delete": "DELETE", "clear": "CLEAR"}
ACTION = {"$mirror.cfg": "$normal", "pktgen.app_cfg": "trigger_timer_periodic",
          "tm.queue.buffer": "buffer_only"}  # fmt: skip
PERIODIC, ONE_SHOT = "trigger_timer_periodic", "trigger_timer_one_shot"


def any_change(client: BfRtClient, table: dict[str, Any], verb: Any) -> Change:
    """A change of a table that names an entry of it."""
    known = client.info.table(table["name"])
    key = {name: 0 if field.kind == "whole" else "" for name, field in known.keys.items()}
    short = table["name"].partition(".")[2] if table["name"][0] != "$" else table["name"]
    action = ACTION.get(short, next(iter(known.actions), ""))
    return Change(verb, table["name"], key, {}, action, 0)


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_table_cannot_do_is_refused(server: FakeBfRt, client: BfRtClient, verb: str) -> None:
    """Every table that the fake describes."""
    refused = 0
    for table in server.tables.values():
        change = any_change(client, table, verb)
        update = client._update(change)
        asked = operation(pb.Update.Type.Name(update.type), update.entity.table_entry)
        can = operations(table, server.prefix)
        if asked in can.names:
            continue
        refused += 1
        with pytest.raises(RefusedError) as error:
            client.write([change])
        assert f"Operation not supported ({can.source})" in error.value.message
    assert refused


def test_add_or_modify_is_for_ports_and_match_tables_only() -> None:
    able = {name for name, can in OPERATIONS.items() if "INSERT_OR_MODIFY" in can.names}
    assert able == {"$PORT", "MatchAction_Direct"}


def test_the_mirror_refuses_to_add_or_modify(server: FakeBfRt, client: BfRtClient) -> None:
    """As the adapter once asked it to, on the wire."""
    change = any_change(client, server._described("$mirror.cfg"), "modify")
    update = client._update(change)
    update.type = pb.Update.INSERT_OR_MODIFY
    request = pb.WriteRequest(client_id=CLIENT, updates=[update], p4_name=server.p4_name)
    with grpc.insecure_channel(server.address) as channel:
        write = channel.unary_unary(
            f"/{SERVICE}/Write", pb.WriteRequest.SerializeToString, pb.WriteResponse.FromString
        )
        with pytest.raises(grpc.RpcError) as error:
            write(request, timeout=5)
    metadata: dict[str, bytes] = dict(error.value.trailing_metadata())
    status = pb.Status.FromString(metadata["grpc-status-details-bin"])
    [detail] = [pb.Error.FromString(each.value) for each in status.details]
    assert detail.canonical_code == grpc.StatusCode.UNIMPLEMENTED.value[0]


def session(verb: Any, sid: int = 1, **data: Any) -> Change:
    fields = {f"${name}": value for name, value in data.items()}
    return Change(verb, "$mirror.cfg", {"$sid": sid}, fields, "" if verb == "delete" else "$normal")


def test_mirror_sessions(server: FakeBfRt, client: BfRtClient) -> None:
    for change in (session("modify"), session("delete"), session("add", session_enable=True),
                   session("add", direction="EGRESS", ucast_egress_port=999,
                           ucast_egress_port_valid=True)):  # fmt: skip
        with pytest.raises(RefusedError, match="Invalid arguments"):
            client.write([change])
    with pytest.raises(RefusedError, match="Object not found"):
        client.write([session("add", sid=1020, direction="EGRESS")])
    with pytest.raises(MissingEntryError):
        client.read([Query("$mirror.cfg", {"$sid": 1})])
    client.write([session("add", direction="EGRESS", session_enable=True, mcast_rid=4)])
    with pytest.raises(RefusedError, match="Invalid arguments"):
        client.write([session("add", direction="EGRESS")])
    client.write([session("modify", direction="BOTH")])
    found = client.entry(Query("$mirror.cfg", {"$sid": 1}))
    assert (found.action, found.data["$direction"]) == ("$normal", "BOTH")
    assert (found.data["$session_enable"], found.data["$mcast_rid"]) == (False, 0)


def app(server: FakeBfRt, action: str = PERIODIC, **data: Any) -> Change:
    return Change("modify", f"{server.prefix}.pktgen.app_cfg", {"app_id": 0}, data, action)


def test_generators(server: FakeBfRt, client: BfRtClient) -> None:
    for bad in (app(server, pkt_len=5), app(server, pkt_len=64, pkt_buffer_offset=8),
                app(server, timer_nanosec=5)):  # fmt: skip
        with pytest.raises(RefusedError, match="Invalid arguments"):
            client.write([bad])
    client.write([app(server, pkt_len=64, ibg=3), app(server, app_enable=True)])
    with pytest.raises(RefusedError, match="In use"):
        client.write([app(server, ONE_SHOT, pkt_len=64)])
    client.write([app(server, pkt_len=70)])
    found = client.entry(Query(f"{server.prefix}.pktgen.app_cfg", {"app_id": 0}))
    assert (found.action, found.data["app_enable"], found.data["ibg"]) == (PERIODIC, True, 0)
    table = f"{server.prefix}.pktgen.port_cfg"
    port = {"dev_port": next(k["dev_port"] for t, k in keys(server) if t == table)}
    with pytest.raises(TargetError, match=f"Read {table}: .* not supported"):
        client.read([Query(table, port)])
    assert client.read([Query(table, port, from_hardware=False)])


def keys(server: FakeBfRt) -> list[tuple[str, dict[str, Any]]]:
    return [(table, dict(key)) for table, key, _ in server.entries]


def test_the_traffic_manager(server: FakeBfRt, client: BfRtClient) -> None:
    tm = f"{server.prefix}.tm"
    pipe, pool, queue = f"{tm}.pipe.cfg", {"pool": "IG_APP_POOL_0"}, {"pg_id": 3, "pg_queue": 1}
    more = {"tofino1": 286_721, "tofino2": 393_217}[server.chip]
    refusals = [
        (Change("modify", pipe, {}, {"mirror_drop_pg_id": 1}, pipe=1), "Invalid arguments"),
        (Change("modify", f"{tm}.pool.cfg", pool, {"size_cells": more}), "more cells"),
        (Change("modify", f"{tm}.queue.buffer", queue, {}, "buffer_only", 0), "Not ready"),
        (Change("modify", f"{tm}.queue.buffer", queue, {}, "buffer_only"), "pipe 65535 is none"),
    ]
    for change, why in refusals:
        with pytest.raises(RefusedError, match=why):
            client.write([change])
    with pytest.raises(TargetError, match="pipe 65535 is none"):
        client.read([Query(pipe)])
    assert client.read([Query(f"{tm}.cfg")])[0]["total_cells"] == more - 1


def test_a_queue_is_read_as_sharing_a_pool(server: FakeBfRt, client: BfRtClient) -> None:
    server._port_added(0)
    key, table = server.queue_key(0, 2), f"{server.prefix}.tm.queue.buffer"
    data: dict[str, Any] = {"guaranteed_cells": 10**6}
    client.write([Change("modify", table, dict(key), data, "buffer_only", 0)])
    found = client.entry(Query(table, dict(key), 0))
    assert found.action == "shared_pool"
    assert (found.data["pool_max_cells"], found.data["guaranteed_cells"]) == (0, 10**6)
    assert found.data["dynamic_baf"] == "80%"


def test_ports(server: FakeBfRt, client: BfRtClient) -> None:
    key: dict[str, Any] = {"$DEV_PORT": 8}
    with pytest.raises(RefusedError, match="Invalid arguments"):
        client.write([Change("add", "$PORT", key, {"$SPEED": "BF_SPEED_25G"})])
    whole: dict[str, Any] = {"$SPEED": "BF_SPEED_25G", "$FEC": "BF_FEC_TYP_RS"}
    client.write([Change("delete", "$PORT", key), Change("add", "$PORT", key, whole)])
    client.write([Change("add", "$PORT", key, whole | {"$PORT_ENABLE": True})])
    found = client.read([Query("$PORT", key)])[0]
    assert (found["$PORT_ENABLE"], found["$FEC"]) == (True, "BF_FEC_TYP_RS")


def test_a_word_of_a_register_that_is_left_out_is_0(server: FakeBfRt, client: BfRtClient) -> None:
    register, key = "BottleneckIngress.arrived_bytes", {"$REGISTER_INDEX": 3}
    words: dict[str, Any] = {f"{register}.low": 5, f"{register}.high": 6}
    client.write([Change("modify", register, dict(key), words)])
    client.write([Change("modify", register, dict(key), {f"{register}.high": 7})])
    found = client.read([Query(register, dict(key))])[0]
    assert (found[f"{register}.low"], found[f"{register}.high"]) == (0, 7)
