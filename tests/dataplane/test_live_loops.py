"""Two packet loops on a clock: each has a core, a device at both ports, and every other lane."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import POSTCARD
from tests.support.live import BUFFERS, MACS, PAGE_BYTES, Bed, run, running, udp_through

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane]

MS = 1_000_000
LANES = 2
SENT = 300
SECOND_PAIRS = {"snd": ("nbs2", "nbs3"), "rcv": ("nbr2", "nbr3")}
"""End -> its interface at the second loop, and the data plane's device there."""


def address(end: str, lane: int) -> str:
    return f"10.{64 if end == 'snd' else 65}.{lane}.1"


@dataclass
class TwoLoops(Bed):
    """A bed with a second pair of cables, for the second loop and the odd lanes."""

    cores: list[int] = field(default_factory=lambda: sorted(os.sched_getaffinity(0))[-2:])

    def build(self) -> None:
        super().build()
        for end, (iface, device) in SECOND_PAIRS.items():
            peer = ("peer", "name", device, "netns", self.namespace("dp"))
            netns = ("netns", self.namespace(end))
            run("ip", "link", "add", "name", iface, *netns, "type", "veth", *peer)
            self.within("dp", "ip", "link", "set", device, "up")
            for where, what in ((end, iface), ("dp", device)):
                self.within(where, "ethtool", "-K", what, "tso", "off", "gso", "off", "tx", "off")

    def config(self, **changes: Any) -> dict[str, Any]:
        ports = {
            name: {"driver": self.driver, "iface": [self.dp_ports[end], SECOND_PAIRS[end][1]]}
            for name, end in (("senders", "snd"), ("receivers", "rcv"))
        }
        spread = {
            "cores": self.cores,
            "memory_mb": 2 * (BUFFERS * PAGE_BYTES // 2**20 + 64),
            "ports": ports,
        }
        return super().config(**spread | changes)

    def start(self, **changes: Any) -> None:
        super().start(**changes)
        for end, (iface, _) in SECOND_PAIRS.items():
            other = "rcv" if end == "snd" else "snd"
            mac = MACS[end][:-2] + "1" + MACS[end][-1]
            their_mac = MACS[other][:-2] + "1" + MACS[other][-1]
            theirs = address(other, 1)
            self.within(end, "ip", "link", "set", iface, "address", mac, "up")
            self.within(end, "ip", "address", "add", address(end, 1), "dev", iface)
            self.within(end, "ip", "route", "add", theirs, "dev", iface)
            permanent = ("lladdr", their_mac, "dev", iface, "nud", "permanent")
            self.within(end, "ip", "neigh", "add", theirs, *permanent)


def program(made: Bed, folder: Path, lane: int) -> None:
    """A lane with a rate that its datagrams do not fill, one flow, and its own base RTT."""
    with made.client() as client:
        limit = {"unit": "bytes", "value": 10**6}
        client.call("program", lane=lane, rate_bps=20 * 10**6, limit=limit)
        half = (3 + 4 * lane) * MS
        client.call("delay", lane=lane, group=0, forward_ns=half, reverse_ns=half)
        entry = {"flow": lane, "src": address("snd", lane), "dst": address("rcv", lane),
                 "sport": 7000, "dport": 5001, "proto": 17}  # fmt: skip
        client.call("flows", lane=lane, entries=[entry])
        path = str(folder / f"postcards-{lane}")
        client.call("telemetry", lane=lane, mode="all", path=path)


def check_lane(made: Bed, folder: Path, lane: int) -> None:
    """Every datagram came in its order and has its postcard; nothing came before its delay."""
    src, dst = address("snd", lane), address("rcv", lane)
    assert udp_through(made, 7000, SENT, 400, src, dst) == list(range(SENT))
    ping = ("ping", "-n", "-i", "0.05", "-c", "3", "-W", "5", "-I", src, dst)
    rtt_line = made.within("snd", *ping).splitlines()[-1]
    fastest_ms = float(rtt_line.split("=")[1].split("/")[0])
    assert fastest_ms >= 2 * (3 + 4 * lane) - 0.001
    with made.client() as client:
        totals = client.stop_telemetry(lane)
        counters = client.call("counters", lane=lane, flows=[lane, 1])
    cards = np.fromfile(folder / f"postcards-{lane}", POSTCARD)
    assert (totals["lost"], totals["gaps"], len(cards)) == (0, 0, SENT)
    assert set(cards["lane"].tolist()) == {lane}
    assert counters["flows"]["departed_packets"] == [SENT]


@pytest.mark.parametrize("driver", ["af_packet", "af_xdp"])
def test_two_loops_forward_their_lanes(tmp_path: Path, driver: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a machine with one core has no two loops")
    with running(TwoLoops(tmp_path, driver)) as made:
        for lane in range(LANES):
            program(made, tmp_path, lane)
        for lane in range(LANES):
            check_lane(made, tmp_path, lane)
        with made.client() as client:
            stats = client.call("stats")
        assert set(stats["rings"].values()) == {0}
        assert made.stop() == 0


def test_a_frame_at_another_loops_device_is_counted(tmp_path: Path) -> None:
    """Forwarded it would bypass its lane's queue."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a machine with one core has no two loops")
    with running(TwoLoops(tmp_path)) as made:
        there, here = address("rcv", 1), address("snd", 1)
        wrong = ("ip", "route", "replace", there, "dev", "nbs0", "src", here)
        made.within("snd", *wrong)
        neighbour = ("lladdr", MACS["rcv"], "dev", "nbs0", "nud", "permanent")
        made.within("snd", "ip", "neigh", "replace", there, *neighbour)
        made.within("snd", "sh", "-c", f"ping -n -c 2 -i 0.05 -W 0.2 {there} || true")
        with made.client() as client:
            assert client.call("stats")["rings"]["foreign"] >= 2
