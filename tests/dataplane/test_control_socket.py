"""The control socket: what it grants, what it refuses and why, and that nothing brings it down."""

import fcntl
import json
import os
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.messages.dataplane import (
    BottleneckCounters,
    Hello,
    Programmed,
    SharedCounters,
    TelemetryStopped,
)
from nashbed.controlplane.contract.messages.message import read_message
from nashbed.controlplane.contract.records import POSTCARD
from tests.support.control import Answer, Client
from tests.support.live import RECEIVER, SENDER, Bed, bed, udp_through
from tests.support.replay import PIPELINES

pytestmark = [pytest.mark.root, pytest.mark.dataplane]

MEBIBYTE = 1 << 20
ENTRY = {"flow": 7, "src": SENDER, "dst": RECEIVER, "sport": 10000, "dport": 5001, "proto": 17}
LIMIT = {"unit": "bytes", "value": 100_000}

REQUESTS: list[dict[str, Any]] = [
    {"op": "hello"},
    {"op": "stats"},
    {"op": "program", "lane": 1, "rate_bps": 10**7, "limit": LIMIT, "overhead_bytes": 24},
    {"op": "delay", "lane": 1, "group": 2, "forward_ns": 1000, "reverse_ns": 1000, "loss_ppb": 5,
     "seed": 9},
    {"op": "flows", "lane": 1, "entries": [ENTRY]},
    {"op": "telemetry", "lane": 1, "mode": "all", "path": "cards"},
    {"op": "telemetry", "lane": 2, "mode": "bins", "bin_ns": 10**6, "flows": [0, 8],
     "path": "bins"},
    {"op": "telemetry_stop", "lane": 1},
    {"op": "counters", "lane": 1, "flows": [0, 8]},
    {"op": "disturbances", "lane": 1, "path": "held", "pauses_path": "pauses"},
    {"op": "begin", "lane": 1, "t0_ns": 2**62},
    {"op": "reset", "lane": 1, "flows": [0, 8]},
    {"op": "return", "lane": 1, "rate_bps": 10**6, "limit": {"unit": "packets", "value": 50},
     "overhead_bytes": 24},
    {"op": "return_queue", "lane": 1, "path": "back"},
    {"op": "impair", "lane": 1, "group": 2, "way": "forward",
     "changes": [{"at_ns": 5, "delay_ns": 7, "loss_ppb": 0, "retry_ppb": 8}],
     "jitter": {"is_wifi": True, "retry_ppb": 9, "every_ns": 0, "seed": 1}},
    {"op": "impair", "lane": 1, "group": 2, "way": "return",
     "changes": [{"at_ns": 5, "delay_ns": 7, "loss_ppb": 0}],
     "jitter": {"points_ns": [0, 5, 9], "every_ns": 0, "seed": 1},
     "reorder": {"share_ppb": 10**7, "by_ns": 10**6, "seed": 2},
     "gilbert": {"p_ppb": 1, "r_ppb": 2, "loss_bad_ppb": 3, "loss_good_ppb": 4, "seed": 3}},
]  # fmt: skip

fuzz = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """One data plane for all that must not harm it."""
    with bed(tmp_path_factory.mktemp("control")) as made:
        yield made
        assert made.stop() == 0
        assert made.log.read_text() == ""


def stopped(client: Client, lane: int) -> Answer:
    """The last answer to `telemetry_stop`: totals, or why there are none."""
    while (answer := client.ask({"op": "telemetry_stop", "lane": lane})).get("totals", 0) is None:
        time.sleep(0.005)
    return answer


@pytest.fixture
def live(shared: Bed) -> Iterator[Bed]:
    """The data plane, which must be as well after the test as before it."""
    for lane in range(4):
        with shared.client() as client:
            client.call("reset", lane=lane, flows=[0, 65536])
            stopped(client, lane)
    yield shared
    assert shared.alive()
    assert shared.hello()["ok"]


def test_hello(live: Bed) -> None:
    hello = live.hello()
    assert hello["lanes"] == 4
    assert hello["flow_capacity"] == 65536
    assert hello["postcard_bytes"] == POSTCARD.itemsize
    assert hello["pid"] > 0
    assert len(hello["spec_digest"]) == 64
    assert hello["pipeline"] in PIPELINES
    assert hello["ports"]["senders"] == {
        "driver": "af_packet",
        "device": "nbs1",
        "stamps": "none",
    }
    assert 0 < hello["epoch_ns"] < time.monotonic_ns()


def test_answers_are_the_messages_of_the_contract(live: Bed, tmp_path: Path) -> None:
    with live.client() as client:
        client.call("telemetry", lane=0, mode="all", path=str(tmp_path / "cards"))
        for model, op, fields in (
            (Hello, "hello", {}),
            (Programmed, "program", {"lane": 0, "rate_bps": 10**8, "limit": LIMIT}),
            (BottleneckCounters, "counters", {"lane": 0, "flows": [0, 3]}),
            (SharedCounters, "stats", {}),
            (TelemetryStopped, "telemetry_stop", {"lane": 0}),
        ):
            answer = client.call(op, **fields)
            del answer["ok"]
            read_message(model, answer, op)
        read_message(TelemetryStopped, {"totals": client.stop_telemetry(0)}, "telemetry_stop")


@pytest.mark.parametrize(
    "memory",
    [
        {"name": "complete_sharing"},
        {"name": "complete_partitioning"},
        {"name": "static", "limits_bytes": [70_000, 40_000]},
        {"name": "dynamic_threshold", "alpha": 0.5},
    ],
)
def test_queues_are_answered_as_they_are_applied(live: Bed, memory: dict[str, Any]) -> None:
    """And what is answered can be asked for again."""
    codel = {"name": "codel", "target_ns": 10**6, "interval_ns": 10**8, "ecn": True}
    queues = {
        "scheduler": "drr",
        "memory": memory,
        "queues": [
            {"limit_bytes": 50_000, "weight": 3, "discipline": codel},
            {"limit_bytes": 0, "weight": 1},
        ],
        "seed": 5,
    }
    with live.client() as client:
        asked = {"rate_bps": 10**8, "limit": LIMIT, "queues": queues}
        applied = client.call("program", lane=0, **asked)["applied"]
        assert applied["queues"] == queues
        again = client.call("program", lane=0, rate_bps=10**8, limit=LIMIT, queues=queues)
        assert again["applied"] == applied
        lane = client.call("counters", lane=0, flows=[0, 1])["lane"]
        assert f"memory {memory['name']}" in lane["queue"]
        assert "queue 1: drop-tail, weight 1" in lane["queue"]


def test_a_lane_from_program_to_reset(live: Bed, tmp_path: Path) -> None:
    cards = tmp_path / "cards"
    with live.client() as client:
        applied = client.call("program", lane=0, rate_bps=10**8, limit=LIMIT)["applied"]
        assert (applied["rate_bps"], applied["limit"]["value"]) == (10**8, 100_000)
        client.call("delay", lane=0, group=0, forward_ns=10**6, reverse_ns=0)
        assert client.call("flows", lane=0, entries=[ENTRY])["added"] == 1
        client.call("telemetry", lane=0, mode="all", path=str(cards))
        assert udp_through(live, sport=10000, count=100, size=1000) == list(range(100))
        counters = client.call("counters", lane=0, flows=[7, 1])
        assert client.stop_telemetry(0) == {
            "seen": 100, "written": 100, "gaps": 0, "lost": 0,
        }  # fmt: skip
    frame_bytes = 14 + 20 + 8 + 1000
    flows = {name: values[0] for name, values in counters["flows"].items()}
    assert flows["arrived_packets"] == flows["departed_packets"] == 100
    assert flows["arrived_bytes"] == flows["departed_bytes"] == 100 * frame_bytes
    assert (flows["dropped_packets"], flows["in_queue_bytes"]) == (0, 0)
    assert flows["peak_queue_bytes"] >= frame_bytes
    lane = counters["lane"]
    assert (lane["queue_bytes"], lane["queue_packets"], lane["delay_packets"]) == (0, 0, 0)
    assert lane["lateness"]["count"] == sum(lane["histogram"]) == 100

    records = np.fromfile(cards, POSTCARD)
    assert list(records["lane_seq"]) == list(range(100))
    assert set(records["flow"]) == {7}
    assert set(records["packet_bytes"]) == {frame_bytes}
    assert set(records["payload_bytes"]) == {1000}

    with live.client() as client:
        client.call("reset", lane=0, flows=[0, 8])
        counters = client.call("counters", lane=0, flows=[0, 8])
        assert {sum(values) for values in counters["flows"].values()} == {0}
        assert counters["lane"]["histogram"] == []
        assert counters["lane"]["lateness"]["count"] == 0
        unknown = client.call("stats")["unshaped"]["unknown_packets"]
        assert udp_through(live, sport=10000, count=5, size=100) == list(range(5))
        assert client.call("stats")["unshaped"]["unknown_packets"] == unknown + 5


def test_certain_loss_loses_all_and_counts_it(live: Bed) -> None:
    with live.client() as client:
        client.call("program", lane=0, rate_bps=10**8, limit=LIMIT)
        client.call(
            "delay", lane=0, group=0, forward_ns=0, reverse_ns=0, loss_ppb=10**9, seed=1
        )  # fmt: skip
        client.call("flows", lane=0, entries=[ENTRY])
        live.within("snd", "sh", "-c", "ping -n -c 3 -i 0.05 -W 1 10.65.0.1 || true")
        assert client.call("counters", lane=0, flows=[0, 8])["lane"]["random_loss_packets"] == 3


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"op": "fly"}, "op must be one of"),
        ({"op": 5}, "op must be one of"),
        ({}, "op must be one of"),
        ([], "op must be one of"),
        (None, "not JSON"),
        ("hello", "not JSON"),
        ({"op": "hello", "more": 1}, "more"),
        ({"op": "program", "lane": 4, "rate_bps": 1, "limit": LIMIT}, "program: lane: bad value 4"),
        ({"op": "program", "lane": -1, "rate_bps": 1, "limit": LIMIT}, "lane: bad value -1"),
        ({"op": "program", "lane": 0, "rate_bps": 0, "limit": LIMIT}, "rate_bps"),
        ({"op": "program", "lane": 0, "rate_bps": 10**12, "limit": LIMIT}, "rate_bps"),
        ({"op": "program", "lane": 0, "rate_bps": 1.5, "limit": LIMIT}, "rate_bps: bad value 1.5"),
        ({"op": "program", "lane": 0, "rate_bps": 1, "limit": 5}, "limit: bad value 5"),
        ({"op": "program", "lane": 0, "rate_bps": 1, "limit": {"unit": "bytes"}}, "value"),
        (
            {"op": "program", "lane": 0, "rate_bps": 1, "limit": {"unit": "miles", "value": 1}},
            "limit.unit",
        ),
        (
            {"op": "program", "lane": 0, "rate_bps": 1, "limit": {"unit": "cells", "value": 1}},
            'limit: bad value {"unit":"cells","value":1}',
        ),
        (REQUESTS[3] | {"group": 16}, "group: bad value 16"),
        (REQUESTS[3] | {"forward_ns": -1}, "forward_ns: bad value -1"),
        (REQUESTS[3] | {"reverse_ns": 60 * 10**9 + 1}, "reverse_ns: bad value 60000000001"),
        (REQUESTS[3] | {"loss_ppb": 10**9 + 1}, "loss_ppb"),
        (REQUESTS[-1] | {"way": "out"}, 'way: bad value "out"'),
        (
            REQUESTS[-1] | {"jitter": {"points_ns": [2], "every_ns": 0, "seed": 1}},
            "jitter.points_ns: bad value [2]",
        ),
        (
            REQUESTS[-1] | {"jitter": {"retry_ppb": 10**9 + 1, "every_ns": 0, "seed": 1}},
            "jitter.retry_ppb",
        ),
        (
            REQUESTS[-1] | {"reorder": {"share_ppb": 10**9 + 1, "by_ns": 1, "seed": 1}},
            "reorder.share_ppb",
        ),
        (REQUESTS[-1] | {"group": 3}, "impair: Invalid argument"),
        (REQUESTS[4] | {"entries": {}}, "entries: bad value"),
        (REQUESTS[4] | {"entries": [ENTRY] * 513}, "entries: bad value"),
        (
            REQUESTS[4] | {"entries": [ENTRY | {"flow": 65536}]},
            "entries[0].flow: bad value 65536",
        ),
        (
            REQUESTS[4] | {"entries": [ENTRY | {"src": "10.64.0.256"}]},
            'src: bad value "10.64.0.256"',
        ),
        (
            REQUESTS[4] | {"entries": [ENTRY | {"sport": 65536}]},
            "entries[0].sport: bad value 65536",
        ),
        (REQUESTS[4] | {"entries": [ENTRY | {"proto": 256}]}, "entries[0].proto: bad value 256"),
        (REQUESTS[5] | {"mode": "some"}, 'mode: bad value "some"'),
        (REQUESTS[5] | {"path": "/no/such/folder/cards"}, "No such file"),
        (REQUESTS[6] | {"bin_ns": 999}, "at least 1000"),
        (REQUESTS[6] | {"flows": [65530, 7]}, "flows: bad value [65530,7]"),
        ({"op": "telemetry_stop", "lane": 3}, "not collecting"),
        ({"op": "counters", "lane": 0, "flows": [0]}, "counters:"),
        ({"op": "counters", "lane": 0, "flows": [-1, 1]}, "flows: bad value [-1,1]"),
        ({"op": "reset", "lane": 0}, "flows"),
        ({"op": "begin", "lane": 1, "t0_ns": 1}, "begin: t0_ns has passed by "),
        ({"op": "begin", "lane": 1, "t0_ns": -1}, "t0_ns: bad value -1"),
    ],
)
def test_bad_requests_are_refused_with_the_reason(live: Bed, request_: Any, error: str) -> None:
    with live.client() as client:
        answer = client.ask(request_)
        assert not answer["ok"]
        assert error in answer["error"]


def test_the_refusal_lists_every_operation(live: Bed) -> None:
    with live.client() as client:
        listed = client.refused("fly").removeprefix("op must be one of ").split(", ")
        assert set(listed) == {request["op"] for request in REQUESTS} | {"shutdown"}
        for op in listed:
            assert client.refused(op, nonsense=1).startswith(f"{op}: ")


def test_a_second_collection_of_a_lane_is_refused(live: Bed) -> None:
    with live.client() as client:
        client.call("telemetry", lane=1, mode="all", path="one")
        assert "already collecting" in client.refused("telemetry", lane=1, mode="all", path="two")
        client.stop_telemetry(1)


def test_a_full_disk_is_told_at_the_stop(live: Bed) -> None:
    with live.client() as client:
        client.call("program", lane=0, rate_bps=10**8, limit=LIMIT)
        client.call("flows", lane=0, entries=[ENTRY])
        client.call("telemetry", lane=0, mode="all", path="/dev/full")
        udp_through(live, sport=10000, count=5, size=100)
        assert "No space left" in stopped(client, 0)["error"]


def test_a_file_that_takes_nothing_holds_up_no_other_lane(live: Bed, tmp_path: Path) -> None:
    """Lane 0 writes to a pipe that nobody reads; all is there when somebody does."""
    slow, cards = tmp_path / "slow", tmp_path / "cards"
    os.mkfifo(slow)
    reader = os.open(slow, os.O_RDONLY | os.O_NONBLOCK)
    count = 2 * fcntl.fcntl(reader, fcntl.F_GETPIPE_SZ) // POSTCARD.itemsize
    with live.client() as client:
        for lane, path in ((0, slow), (1, cards)):
            client.call("program", lane=lane, rate_bps=10**9, limit=LIMIT)
            client.call("telemetry", lane=lane, mode="all", path=str(path))
        client.call("flows", lane=0, entries=[ENTRY])
        udp_through(live, sport=10000, count=count, size=100)
        assert client.call("telemetry_stop", lane=0)["totals"] is None
        assert client.stop_telemetry(1)["seen"] == 0
        assert client.call("counters", lane=1, flows=[0, 1])["lane"]["queue_packets"] == 0
        assert client.call("telemetry_stop", lane=0)["totals"] is None
        with ThreadPoolExecutor(1) as pool:
            os.set_blocking(reader, True)
            content = pool.submit(read_all, reader)
            totals = client.stop_telemetry(0)
            records = np.frombuffer(content.result(), POSTCARD)
    assert totals == {"seen": count, "written": count, "gaps": 0, "lost": 0}
    assert len(records) == count


def read_all(file: int) -> bytes:
    """Read a pipe to its end."""
    with os.fdopen(file, "rb") as stream:
        return stream.read()


def test_errors_quote_long_and_strange_names_in_one_line(live: Bed) -> None:
    with live.client() as client:
        for name in ("\u00e9" * 500, "a\nb\tc\u007f", "x" * 255 + "\U0001f600" * 9):
            assert client.refused("hello", **{name: 1})
            assert client.refused("telemetry", lane=0, mode="all", path=f"/no/{name}/x")


@fuzz
@given(st.lists(st.binary(max_size=300), max_size=20))
def test_random_bytes(live: Bed, chunks: list[bytes]) -> None:
    data = b"\n".join(chunks) + b"\n"
    with live.client() as client:
        client.send(data)
        for _ in range(data.count(b"\n")):
            assert client.answer() is not None
        assert client.ask({"op": "hello"})["ok"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
NUMBERS = st.sampled_from([-1, 0, 1, 3, 4, 2**31, 2**32 - 1, 2**32, 2**63 - 1, -(2**63)])


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A good request with some of its fields made others, taken away or added."""
    request = json.loads(json.dumps(draw(st.sampled_from(REQUESTS))))
    for _ in range(draw(st.integers(0, 3))):
        name = draw(st.sampled_from(sorted(set(request) - {"op", "path"}) or ["lane"]))
        what = draw(st.sampled_from(["change", "number", "remove", "add", "inside"]))
        if what == "change":
            request[name] = draw(JSON)
        elif what == "number":
            request[name] = draw(NUMBERS)
        elif what == "remove":
            request.pop(name, None)
        elif what == "add":
            request[draw(st.text(max_size=8))] = draw(JSON)
        elif isinstance(request.get(name), list) and request[name]:
            request[name][0] = draw(JSON | NUMBERS)
    return dict(request)


@fuzz
@given(st.lists(mutated(), min_size=1, max_size=6))
def test_mutated_requests(live: Bed, requests: list[dict[str, Any]]) -> None:
    with live.client() as client:
        for request in requests:
            client.ask(request)
        assert client.ask({"op": "hello"})["ok"]


def test_a_huge_line_is_refused_and_others_are_served(live: Bed) -> None:
    with live.client() as client:
        with suppress(OSError):  # it may have closed before it has read all
            client.send(b"[" * (2 * MEBIBYTE))
        answer = client.answer()
        assert answer is None or "at most 1 MiB" in answer["error"]
    assert live.hello()["ok"]


def test_the_longest_line_is_answered(live: Bed) -> None:
    request = b'{"op":"hello"}'
    with live.client() as client:
        client.send(request + b" " * (MEBIBYTE - 2 - len(request)) + b"\n")
        answer = client.answer()
        assert answer is not None
        assert answer["ok"]


def test_deep_nesting(live: Bed) -> None:
    with live.client() as client:
        client.send(b'{"op":' * 100_000 + b"\n")
        answer = client.answer()
        assert answer is not None
        assert not answer["ok"]


def test_half_lines_wait_for_their_other_half(live: Bed) -> None:
    with live.client() as slow:
        for byte in b'{"op":"he':
            slow.send(bytes([byte]))
        assert live.hello()["ok"]
        slow.send(b'llo"}\n{"op":"hello"}\n')
        for _ in range(2):
            answer = slow.answer()
            assert answer is not None
            assert answer["ok"]


@pytest.mark.parametrize("linger", [None, 0], ids=["close", "reset"])
def test_abrupt_disconnects(live: Bed, linger: int | None) -> None:
    for _ in range(30):
        with live.client() as client:
            if linger is not None:
                client.socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, linger))
            client.send(b'{"op":"counters","lane":0,"flows":[0,1000]}\n' * 20 + b'{"op":"he')
    assert live.hello()["ok"]


def test_twenty_clients(live: Bed) -> None:
    clients = [live.client() for _ in range(20)]
    served = 0
    for client in clients:
        try:
            client.send(b'{"op":"hello"}\n')
            served += client.answer() is not None
        except OSError:
            pass  # more than the data plane takes at a time are turned away
    for client in clients:
        client.socket.close()
    assert served == 8
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with live.client() as client:
            client.send(b'{"op":"hello"}\n')
            if client.answer() is not None:
                return
    pytest.fail("no client is served after the others have gone")


def test_a_client_that_never_reads_is_dropped(live: Bed) -> None:
    with live.client() as deaf:
        deaf.socket.settimeout(1)
        try:
            for _ in range(50):
                deaf.send(b'{"op":"counters","lane":0,"flows":[0,65536]}\n')
        except OSError:
            pass
        # It waits five seconds for the deaf one, then serves the others.
        assert live.hello()["ok"]
