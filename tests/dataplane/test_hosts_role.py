"""The hosts role: delays are kept, order is kept, postcards off a wire are collected."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.messages.dataplane import Hello, HostsCounters, HostsStats
from nashbed.controlplane.contract.messages.message import read_message
from nashbed.controlplane.contract.records import (
    BIN,
    DISTURBANCE,
    POSTCARD,
    POSTCARD_OF_QUEUES,
    POSTCARD_VERSION_QUEUES,
)
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from tests.support.hosts_bed import HostsBed, Seen, hosts_bed
from tests.support.postcards import Card, postcards

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane]

MS = 1_000_000
FORWARD_NS, REVERSE_NS = 15 * MS, 5 * MS
SLACK_NS = 20 * MS
"""Above the delay, on a machine busy with other things; below it nothing may come."""
COUNT = 60
POSTCARD_TYPE = bytes.fromhex("88b5")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostsBed]:
    with hosts_bed(tmp_path_factory.mktemp("hosts")) as made:
        yield made


def frame(number: int, lane: int = 0, group: int = 0, back: bool = False) -> bytes:
    """A numbered segment of a lane's group, 60 to 1514 bytes long."""
    ends = (f"10.64.{lane}.{group + 1}", f"10.65.{lane}.{group + 1}")
    src, dst = ends[::-1] if back else ends
    load = number.to_bytes(4, "big") + bytes(number * 97 % 1400)
    made: bytes = bytes(Ether(dst="02:00:00:00:01:02") / IP(src=src, dst=dst) / TCP() / load)
    return made.ljust(60, b"\0")


def stays(sent: dict[bytes, int], seen: list[Seen]) -> list[int]:
    """How long each frame took, in ns; each must have come once and unchanged."""
    assert sorted(sent) == sorted(each.frame for each in seen)
    return [each.time_ns - sent[each.frame] for each in seen]


@pytest.mark.parametrize(
    ("start", "end", "delay_ns"), [("snd", "sw", FORWARD_NS), ("sw", "snd", REVERSE_NS)]
)
def test_frames_are_delayed_by_their_group_and_keep_their_order(
    live: HostsBed, tmp_path: Path, start: str, end: str, delay_ns: int
) -> None:
    """Group 0 has the delay, group 1 none: its frames overtake, each group keeps its order."""
    frames = [frame(i, group=i % 2, back=start == "sw") for i in range(COUNT)]
    with live.client() as client, live.wire(start) as near, live.wire(end) as far:
        client.call("reset", lane=0, flows=[0, 1])
        client.call(
            "delay", lane=0, group=0, forward_ns=FORWARD_NS, reverse_ns=REVERSE_NS, loss_ppb=0
        )
        sent = {each: near.send(each) for each in frames}
        seen = far.receive(COUNT)
        lane = client.call("counters", lane=0, flows=[0, 1])["lane"]
        bins, pauses = tmp_path / "bins", tmp_path / "pauses"
        told = client.call("disturbances", lane=0, path=str(bins), pauses_path=str(pauses))
        again = client.call("disturbances", lane=0, path=str(bins) + "2", pauses_path=str(pauses))
    taken = dict(zip((each.frame for each in seen), stays(sent, seen), strict=True))
    for group, least_ns in ((0, delay_ns), (1, 0)):
        mine = frames[group::2]
        assert [each.frame for each in seen if each.frame in set(mine)] == mine
        times = [taken[each] for each in mine]
        assert min(times) >= least_ns
        assert min(times) < least_ns + SLACK_NS
    outbound = COUNT if start == "snd" else 0
    assert (lane["delay_packets"], lane["lateness"]["count"]) == (0, outbound)
    records = np.fromfile(bins, DISTURBANCE)
    assert (told["bins"], told["lost"]) == (len(records), 0)
    assert sum(records["departures"]) == outbound
    assert sum(records["returns"]) == COUNT - outbound
    assert sum(records["responses"]) == 0  # a switch's queue would be in them
    assert again["bins"] == 0


def test_frames_of_no_lane_pass_at_once(live: HostsBed) -> None:
    """Lane 200 is not laid out, and a frame that is no IPv4 has no lane."""
    others = [frame(1, lane=200), bytes(12) + b"\x12\x34" + bytes(range(50))]
    with live.wire("snd") as near, live.wire("sw") as far:
        sent = {each: near.send(each) for each in others}
        seen = far.receive(len(others))
    assert max(stays(sent, seen)) < SLACK_NS
    assert [each.frame for each in seen] == others


def test_certain_loss_takes_all_and_is_counted(live: HostsBed) -> None:
    with live.client() as client, live.wire("snd") as near, live.wire("sw") as far:
        client.call("delay", lane=1, group=0, forward_ns=0, reverse_ns=0, loss_ppb=10**9)
        for i in range(5):
            near.send(frame(i, lane=1))
        near.send(frame(9, lane=2))
        assert [each.frame for each in far.receive(6, timeout_s=1)] == [frame(9, lane=2)]
        lane = client.call("counters", lane=1, flows=[0, 1])["lane"]
        client.call("reset", lane=1, flows=[0, 1])
    assert lane["random_loss_packets"] == 5


def on_wire(record: np.ndarray[Any, Any], padding: int = 6) -> bytes:
    """A postcard's frame as p4src/README.md has it."""
    return bytes(12) + POSTCARD_TYPE + record.tobytes() + bytes(padding)


def wait_for_postcards(client: Any, lane: int, count: int) -> None:
    deadline = time.monotonic() + 10
    while client.call("counters", lane=lane, flows=[0, 1])["lane"]["postcards"] < count:
        assert time.monotonic() < deadline, "the postcards do not arrive"
        time.sleep(0.01)


def test_postcards_off_the_wire_are_collected_and_gaps_seen(live: HostsBed) -> None:
    """Postcards 10, 50 and 51 of 100 are lost before the wire."""
    numbers = [i for i in range(100) if i not in (10, 50, 51)]
    cards = postcards(Card(flow=i % 3, lane_seq=(2**32 - 20 + i) % 2**32) for i in numbers)
    cards["lane"] = 3
    path = live.folder / "cards"
    with live.client() as client, live.wire("tel") as wire:
        client.call("reset", lane=3, flows=[0, 3])
        client.call("telemetry", lane=3, mode="all", path=str(path), flows=[0, 3])
        for i, card in enumerate(cards):
            wire.send(on_wire(card, padding=6 + i))
        wait_for_postcards(client, 3, len(cards))
        totals = client.stop_telemetry(3)
    assert {key: totals[key] for key in ("seen", "written", "gaps", "lost")} == {
        "seen": 97, "written": 97, "gaps": 3, "lost": 0,
    }  # fmt: skip
    assert np.array_equal(np.fromfile(path, POSTCARD), cards)


def test_postcards_of_several_queues_are_collected(live: HostsBed) -> None:
    """They are 8 bytes longer, and a frame that ends within them is none."""
    plain = postcards(Card(lane_seq=i) for i in range(50))
    cards = np.zeros(len(plain), POSTCARD_OF_QUEUES)
    for name in plain.dtype.names or ():
        cards[name] = plain[name]
    cards["version"], cards["lane"] = POSTCARD_VERSION_QUEUES, 3
    cards["queue"], cards["own_queue_bytes"] = np.arange(50) % 8, np.arange(50) * 1000
    path = live.folder / "cards"
    with live.client() as client, live.wire("tel") as wire:
        client.call("reset", lane=3, flows=[0, 1])
        client.call("telemetry", lane=3, mode="all", path=str(path), flows=[0, 1])
        wire.send(on_wire(cards[0], padding=0)[:-1])
        for card in cards:
            wire.send(on_wire(card))
        wait_for_postcards(client, 3, len(cards))
        totals = client.stop_telemetry(3)
    assert (totals["seen"], totals["written"], totals["gaps"]) == (50, 50, 0)
    assert np.array_equal(np.fromfile(path, POSTCARD_OF_QUEUES), cards)


def test_what_is_no_postcard_is_counted_as_lost(live: HostsBed) -> None:
    card = postcards([Card()])[0]
    other_lane, other_version = card.copy(), card.copy()
    other_lane["lane"], other_version["version"] = 4, 3
    good = on_wire(card)
    bad = [
        on_wire(other_lane),
        on_wire(other_version),
        good.replace(POSTCARD_TYPE, b"\x88\xb6"),
        good[:53],
        frame(1),
    ]
    with live.client() as client, live.wire("tel") as wire:
        before = client.call("stats")["rings"]["bad_postcards"]
        client.call("reset", lane=0, flows=[0, 1])
        for each in (*bad, good):
            wire.send(each)
        wait_for_postcards(client, 0, 1)
        stats = client.call("stats")
    assert stats["rings"]["bad_postcards"] - before == len(bad)
    assert stats["ports"]["telemetry"]["rx_dropped"] == 0
    assert set(stats["ports"]) == {"senders", "switch", "telemetry"}
    assert "unshaped" not in stats


@pytest.mark.parametrize("days_ahead_ns", [10**14, 3 * 2**48], ids=["ahead", "over-its-wrap"])
def test_bins_begin_at_a_time_on_the_switch_clock(live: HostsBed, days_ahead_ns: int) -> None:
    """The switch's clock is not ours: here it stands days ahead, and may wrap on the way."""
    start_ns = days_ahead_ns // (2 * MS) * (2 * MS)
    cards = postcards(
        Card(flow=5, enqueue_ns=start_ns + i * MS, dequeue_ns=start_ns + (i + 1) * MS, lane_seq=i)
        for i in range(4)
    )
    path = live.folder / "bins"
    with live.client() as client, live.wire("tel") as wire:
        client.call("reset", lane=0, flows=[5, 1])
        client.call(
            "telemetry", lane=0, mode="bins", bin_ns=2 * MS, path=str(path), flows=[5, 1],
            start_ns=start_ns,
        )  # fmt: skip
        for card in cards:
            wire.send(on_wire(card))
        wait_for_postcards(client, 0, 4)
        client.stop_telemetry(0)
        refused = client.refused(
            "telemetry", lane=0, mode="all", path=str(path), flows=[5, 1], start_ns=-1
        )
    bins = np.fromfile(path, BIN)
    assert "start_ns" in refused
    assert bins["bin"].tolist() == [(start_ns // (2 * MS) + i) % 2**32 for i in range(3)]
    # A packet that leaves as bin 1 begins departs in bin 1: one, two, one.
    assert bins["departed_packets"].tolist() == [1, 2, 1]
    assert bins["occupancy_byte_ns"].sum() == 4 * 1000 * MS


def test_the_bottleneck_is_elsewhere(live: HostsBed) -> None:
    limit = {"unit": "bytes", "value": 1000}
    with live.client() as client:
        for op, fields in (
            ("program", {"lane": 0, "rate_bps": 10**6, "limit": limit}),
            ("flows", {"lane": 0, "entries": []}),
        ):
            assert "this data plane has role hosts" in client.refused(op, **fields)
        assert "flows" not in client.call("counters", lane=0, flows=[0, 1])
    hello = live.hello()
    assert hello["role"] == "hosts"
    assert "spec_digest" not in hello
    assert "pipeline" not in hello


def test_answers_are_the_messages_of_the_contract(live: HostsBed) -> None:
    with live.client() as client:
        for model, op, fields in (
            (Hello, "hello", {}),
            (HostsCounters, "counters", {"lane": 0, "flows": [0, 1]}),
            (HostsStats, "stats", {}),
        ):
            answer = client.call(op, **fields)
            del answer["ok"]
            read_message(model, answer, op)


def test_af_xdp_serves_it(tmp_path: Path) -> None:
    with hosts_bed(tmp_path, "af_xdp") as made:
        with made.wire("snd") as near, made.wire("sw") as far:
            sent = {each: near.send(each) for each in (frame(1), frame(2))}
            assert [each.frame for each in far.receive(2)] == list(sent)
            sent = {each: far.send(each) for each in (frame(1, back=True), frame(2, back=True))}
            assert [each.frame for each in near.receive(2)] == list(sent)
        assert made.stop() == 0
        assert "nashbed-dataplane:" not in made.log.read_text()
