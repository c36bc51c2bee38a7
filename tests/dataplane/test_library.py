"""The library in a guest's process: its control socket, its requests to the guest, its delay line.

The socket is served only while the guest waits for a request, so an answer to a client may come
after the test has the guest wait again.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.messages.dataplane import Hello
from nashbed.controlplane.contract.messages.message import read_message
from nashbed.controlplane.contract.records import POSTCARD
from nashbed.controlplane.contract.target import (
    FlowEntry,
    GroupDelay,
    Lane,
    LaneProgram,
    Limit,
)
from nashbed.controlplane.targets.dataplane import dataplane_config
from nashbed.controlplane.targets.virtual import guest_dataplane
from tests.conformance.packets import tcp, tcp_key
from tests.conformance.virtual import program
from tests.support.control import Client
from tests.support.replay import Bottleneck, time_of
from tests.support.virtual import RECEIVERS, SENDERS, Library, library, whole_frames

pytestmark = pytest.mark.dataplane

OK = '{"ok":true}\n'
MS = 1_000_000


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Library]:
    """A library that waits for its first request."""
    with library(tmp_path) as made:
        yield made


def line(**request: Any) -> bytes:
    return json.dumps(request).encode() + b"\n"


def test_its_clock_is_the_guests_and_starts_at_0(guest: Library) -> None:
    assert guest.ready == {"event": "ready", "pid": guest.process.pid, "epoch_ns": 0}
    with Client(guest.socket) as client:
        answer = client.call("hello")
        del answer["ok"]
        hello = read_message(Hello, answer, "hello")
        assert (hello.epoch_ns, hello.lanes) == (0, 1)
        assert answer["ports"]["senders"] == {
            "driver": "virtual",
            "device": "nb0",
            "stamps": "kernel",
        }
        client.call("shutdown")
        assert guest.end() == ""


@pytest.mark.parametrize("size", [50_000_000, pytest.param(250_000_000, marks=pytest.mark.long)])
def test_a_deep_queue_finds_its_memory(tmp_path: Path, size: int) -> None:
    """250 MB are 40 BDP and more of 500 Mbit/s and 80 ms: 0.7 million packet buffers."""
    lane = LaneProgram(
        lane=0,
        bottleneck=Lane(rate_bps=500_000_000, limit=Limit(unit="bytes", value=size)),
        delays=(GroupDelay(forward_ns=40 * MS, reverse_ns=40 * MS),),
        flows=(FlowEntry(flow=0, src="10.64.0.1", dst="10.65.0.1", sport=10000, dport=5001),),
    )
    config = dataplane_config(guest_dataplane(lane))
    with library(tmp_path, **config) as made, Client(made.socket) as client:
        client.call("shutdown")
        assert made.end() == ""


@pytest.mark.slow
def test_another_driver_is_refused(tmp_path: Path) -> None:
    ports = {name: {"driver": "tap", "iface": name} for name in ("senders", "receivers")}
    with (
        pytest.raises(AssertionError, match="must be virtual inside a guest, not tap"),
        library(tmp_path, ports=ports, memory_mb=256),
    ):
        pass


def test_a_request_to_the_guest_is_answered_on_its_connection(guest: Library) -> None:
    with Client(guest.socket) as client, Client(guest.socket) as other:
        client.send(line(op="run", until_ns=5))
        assert json.loads(guest.waited()) == {"op": "run", "until_ns": 5}
        guest.answer('{"ok":true,', '"now_ns":5', "}\n")
        guest.wait()
        assert client.answer() == {"ok": True, "now_ns": 5}
        assert other.call("hello")["ok"], "the other one has got no answer before this"


def test_a_long_request_comes_in_parts(guest: Library) -> None:
    with Client(guest.socket) as client:
        client.send(line(op="first"))
        guest.waited()
        guest.answer(OK)
        guest.wait(room=100)
        client.send(line(op="start", log="x" * 5000))
        assert json.loads(guest.waited()) == {"op": "start", "log": "x" * 5000}


def test_what_is_wrong_is_answered_by_who_knows_it(guest: Library) -> None:
    """The data plane: its own commands and what is not JSON. The guest: everything else."""
    with Client(guest.socket) as client:
        assert client.refused("program", lane=9)
        for wrong in (b"{", b"\xff", b"[1,", b"nothing"):
            client.send(wrong + b"\n")
            answer = client.answer()
            assert answer is not None
            assert "not JSON" in answer["error"]
        client.send(line(op="fly"))
        assert json.loads(guest.waited()) == {"op": "fly"}


def test_one_request_at_a_time_is_with_the_guest(guest: Library) -> None:
    with Client(guest.socket) as first, Client(guest.socket) as second:
        first.send(line(op="one"))
        assert json.loads(guest.waited())["op"] == "one"
        second.send(line(op="two"))
        guest.answer('{"ok":true,"of":1}\n')
        guest.wait()
        assert json.loads(guest.waited())["op"] == "two"
        guest.answer('{"ok":true,"of":2}\n')
        assert first.answer() == {"ok": True, "of": 1}
        assert second.answer() == {"ok": True, "of": 2}


def test_requests_that_are_sent_together_are_answered_in_their_order(guest: Library) -> None:
    with Client(guest.socket) as client:
        client.send(line(op="one") + line(op="hello") + line(op="two") + line(op="hello"))
        for name in ("one", "two"):
            assert json.loads(guest.waited())["op"] == name
            guest.answer(json.dumps({"ok": True, "of": name}) + "\n")
            guest.wait()
            assert client.answer() == {"ok": True, "of": name}
            hello = client.answer()
            assert hello is not None
            assert hello["lanes"] == 1


def test_more_together_than_there_is_room_for(guest: Library) -> None:
    """More than a mebibyte of whole requests is no request of more than a mebibyte."""
    request = line(op="long", text="x" * 400_000)
    with Client(guest.socket) as client:
        sender = Thread(target=client.send, args=(line(op="first") + request * 3,))
        sender.start()
        assert json.loads(guest.waited())["op"] == "first"
        for _ in range(3):
            guest.answer(OK)
            guest.wait()
            assert client.answer() == {"ok": True}
            assert json.loads(guest.waited())["op"] == "long"
        sender.join()


def test_a_client_that_goes_away_while_the_guest_has_its_request(guest: Library) -> None:
    with Client(guest.socket) as other:
        other.call("hello")
        with Client(guest.socket) as client:
            client.send(line(op="run"))
            guest.waited()
        guest.answer(OK)
        guest.wait()
        assert other.call("hello")["ok"]
        other.send(line(op="next"))
        assert json.loads(guest.waited()) == {"op": "next"}


def test_the_guest_ends_when_all_clients_have_gone(guest: Library) -> None:
    with Client(guest.socket) as first:
        first.call("hello")
        with Client(guest.socket) as second:
            second.call("hello")
        assert first.call("hello")["ok"], "one is still there"
    assert guest.end() == ""
    assert not guest.socket.exists()


def test_the_guest_ends_when_its_last_client_goes_away_in_a_request(guest: Library) -> None:
    with Client(guest.socket) as client:
        client.send(line(op="run"))
        guest.waited()
    guest.answer(OK)
    guest.wait()
    assert guest.end() == ""


def test_delays_are_exact(guest: Library, tmp_path: Path) -> None:
    key = tcp_key()
    cards = tmp_path / "cards"
    with Client(guest.socket) as client:
        program(client, [key], Bottleneck(rate_bps=8_000_000_000, limit=10_000))
        client.call("delay", lane=0, group=0, forward_ns=15 * MS, reverse_ns=5 * MS + 1)
        client.call("telemetry", lane=0, mode="all", path=str(cards))
        left = guest.play(
            client,
            whole_frames(
                [(0, SENDERS, tcp(size=1000)), (7, RECEIVERS, tcp(size=60, key=key.reversed()))]
            ),
        )
        client.stop_telemetry(0)
        lane = client.call("counters", lane=0, flows=[0, 1])["lane"]
        stats = client.call("stats")
    assert [time_ns for time_ns, _ in left.on(RECEIVERS)] == [15 * MS + 1000]
    assert [time_ns for time_ns, _ in left.on(SENDERS)] == [7 + 5 * MS + 1]
    assert list(time_of(np.fromfile(cards, POSTCARD), "enqueue")) == [15 * MS]
    assert (lane["lateness"]["count"], lane["lateness"]["max_ns"]) == (1, 0)
    for port in ("senders", "receivers"):
        assert stats["ports"][port]["rx_packets"] == stats["ports"][port]["tx_packets"] == 1


def test_progress_is_where_it_stands(tmp_path: Path) -> None:
    progress = tmp_path / "progress"
    with library(tmp_path, progress=str(progress)) as guest, Client(guest.socket) as client:
        guest.play(client, whole_frames([(12_345, SENDERS, tcp())]))
        assert int.from_bytes(progress.read_bytes(), "little") == 12_345
