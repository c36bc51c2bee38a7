"""Several packet loops: however lanes are spread over them, every lane has the same results."""

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import POSTCARD
from tests.conformance.packets import tcp
from tests.model.classifier import FlowKey
from tests.support.control import Client
from tests.support.virtual import RECEIVERS, SENDERS, library, whole_frames

pytestmark = pytest.mark.dataplane

LANES = 5
FLOWS = 3
"""Of each lane."""
PACKETS = 4000
MS = 1_000_000
Sent = list[tuple[int, int, bytes]]


def key(lane: int, flow: int) -> FlowKey:
    """The 5-tuple of a lane's flow, by the address plan."""
    return FlowKey(f"10.64.{lane}.1", f"10.65.{lane}.1", 10_000 + flow, 5001, 6)


@cache
def traffic() -> Sent:
    """Frames of all lanes in one stream, acknowledgements and strangers among them."""
    choose = random.Random(28)
    sent: Sent = []
    now_ns = 0
    for number in range(PACKETS):
        now_ns += choose.randrange(30_000)
        lane, flow = choose.randrange(LANES), choose.randrange(FLOWS)
        forward = key(lane, flow)
        kind = choose.random()
        if kind < 0.1:
            sent.append((now_ns, RECEIVERS, tcp(key=forward.reversed(), size=66, seq=number)))
        elif kind < 0.15:
            stranger = FlowKey("192.0.2.1", "192.0.2.2", 7, 8, 6)
            sent.append((now_ns, SENDERS, tcp(key=stranger, size=200, seq=number)))
        else:
            size = choose.randrange(60, 1515)
            sent.append((now_ns, SENDERS, tcp(key=forward, size=size, seq=number)))
    return sent


@dataclass(frozen=True)
class Result:
    """What came of the traffic.

    Attributes:
        postcards: Each lane's file, to the byte.
        counters: Each lane's, as the socket answers.
        left: Each lane's frames at the receivers, in their order, with their times.
        returned: The same at the senders.
        stats: What all lanes share.
    """

    postcards: list[bytes]
    counters: list[dict[str, Any]]
    left: list[list[tuple[int, bytes]]]
    returned: list[list[tuple[int, bytes]]]
    stats: dict[str, Any]


def program(client: Client, folder: Path, lane: int) -> None:
    """A bottleneck, a delay with jitter and loss, and flows, different in every lane."""
    limit = {"unit": "bytes", "value": 20_000 + 4_000 * lane}
    client.call("program", lane=lane, rate_bps=(10 + 3 * lane) * 10**6, limit=limit)
    client.call(
        "delay", lane=lane, group=0, forward_ns=(2 + lane) * MS, reverse_ns=MS, jitter_ns=MS // 4,
        loss_ppb=20_000_000, seed=lane,
    )  # fmt: skip
    entries = [
        {"flow": lane * FLOWS + flow, "src": k.src, "dst": k.dst, "sport": k.sport,
         "dport": k.dport, "proto": k.proto}
        for flow in range(FLOWS) for k in [key(lane, flow)]
    ]  # fmt: skip
    client.call("flows", lane=lane, entries=entries)
    client.call("telemetry", lane=lane, mode="all", path=str(folder / f"postcards-{lane}"))


def of_lane(frames: list[tuple[int, bytes]], lane: int, at: int) -> list[tuple[int, bytes]]:
    """Those with the lane in the address that begins at a byte of the frame."""
    mine = bytes([lane, 1])
    return [(ns, frame) for ns, frame in frames if frame[at + 2 : at + 4] == mine]


def run(folder: Path, loops: int) -> Result:
    """The traffic through a data plane with so many loops."""
    config = {"cores": list(range(loops)), "lanes": LANES, "memory_mb": 96 * (1 + loops)}
    with library(folder, **config) as made, Client(made.socket) as client:
        for lane in range(LANES):
            program(client, folder, lane)
        out = made.play(client, whole_frames(traffic()))
        for lane in range(LANES):
            client.stop_telemetry(lane)
        result = Result(
            postcards=[(folder / f"postcards-{lane}").read_bytes() for lane in range(LANES)],
            counters=[
                client.call("counters", lane=lane, flows=[lane * FLOWS, FLOWS])
                for lane in range(LANES)
            ],
            left=[of_lane(out.on(RECEIVERS), lane, 26) for lane in range(LANES)],
            returned=[of_lane(out.on(SENDERS), lane, 30) for lane in range(LANES)],
            stats=client.call("stats"),
        )
        client.call("shutdown")
        made.end()
    return result


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """What one loop makes of it."""
    return run(tmp_path_factory.mktemp("alone"), 1)


@pytest.mark.slow
def test_the_traffic_fills_every_queue(alone: Result) -> None:
    """Else equal results would say little."""
    for cards in alone.postcards:
        kinds = np.frombuffer(cards, POSTCARD)["kind"]
        assert np.count_nonzero(kinds == 0) > 100
        assert np.count_nonzero(kinds == 1) > 10
    assert all(alone.returned)


@pytest.mark.slow
@pytest.mark.parametrize("loops", [2, 5])
def test_every_lane_has_the_same_results(tmp_path: Path, alone: Result, loops: int) -> None:
    spread = run(tmp_path, loops)
    assert spread.postcards == alone.postcards
    assert spread.counters == alone.counters
    assert spread.left == alone.left
    assert spread.returned == alone.returned
    assert spread.stats["unshaped"] == alone.stats["unshaped"]
    assert spread.stats["ports"] == alone.stats["ports"]
    assert spread.stats["rings"] == alone.stats["rings"] | {"foreign": 0}


def test_a_flow_of_another_loops_lane_is_refused(tmp_path: Path) -> None:
    """Its frames would never come to the table that has it."""
    entry = {"flow": 0, "src": "10.64.0.1", "dst": "10.65.0.1", "sport": 1, "dport": 2, "proto": 6}
    with library(tmp_path, cores=[0, 1], lanes=4) as made, Client(made.socket) as client:
        said = client.refused("flows", lane=1, entries=[entry])
        assert "flow 0 is from another packet loop's lane" in said
        client.call("flows", lane=2, entries=[entry])
        stranger = entry | {"src": "192.0.2.1"}
        assert "another packet loop's lane" in client.refused("flows", lane=3, entries=[stranger])


def test_a_lane_is_reset_alone(tmp_path: Path) -> None:
    with library(tmp_path, cores=[0, 1], lanes=LANES) as made, Client(made.socket) as client:
        for lane in range(LANES):
            program(client, tmp_path, lane)
        made.play(client, whole_frames(traffic()))
        for lane in range(LANES):
            client.stop_telemetry(lane)
        client.call("reset", lane=3, flows=[3 * FLOWS, FLOWS])
        counts = [
            client.call("counters", lane=lane, flows=[lane * FLOWS, FLOWS]) for lane in (1, 3)
        ]
    assert [count["lane"]["postcards"] > 0 for count in counts] == [True, False]
    assert [sum(count["flows"]["arrived_packets"]) > 0 for count in counts] == [True, False]
