"""The virtual target: the library that a guest's kernel loads, called as that kernel calls it.

Both a replay and this are virtual/driver.c. What differs: here the flow table, the bottleneck and
the collection of postcards are set and the counters read through the control socket, frames come
and go by the functions that the guest's kernel calls, and the delay line has been given a delay of
0 ns for the vectors' hosts.
"""

from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import POSTCARD
from nashbed.controlplane.contract.shared import CONSTANTS
from tests.conformance.dpdk import Dpdk
from tests.conformance.target import Count, Outcome, Packet, tuple_of
from tests.model.classifier import FlowKey
from tests.support.control import Answer, Client
from tests.support.replay import Bottleneck
from tests.support.virtual import LIBRARY, RECEIVERS, SENDERS, Library, library, whole_frames

LANE = 0


class Virtual:
    """A process with the library for each vector.

    Args:
        loops: Its packet loops. The vectors' lane is the first one's; what is of no lane, too.
    """

    capabilities = Dpdk.capabilities

    def __init__(self, loops: int = 1) -> None:
        self.name = "virtual" if loops == 1 else f"virtual-{loops}-loops"
        self._config = {} if loops == 1 else {"cores": list(range(loops)), "lanes": loops}

    def why_not(self) -> str:
        """Empty where the library is built."""
        return "" if LIBRARY.exists() else f"{LIBRARY} is not built: make build"

    def run(
        self,
        folder: Path,
        packets: list[Packet],
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int] | None = None,
    ) -> Outcome:
        assert not presets, "the library starts with empty registers"
        with library(folder, **self._config) as made, Client(made.socket) as client:
            program(client, flows, bottleneck)
            outcome = play(made, client, packets, flows)
            client.call("shutdown")
            made.end()
        return outcome


def program(client: Client, flows: list[FlowKey], bottleneck: Bottleneck) -> None:
    """The vector's bottleneck and flow table."""
    config = bottleneck.config()
    client.call("program", lane=LANE, **config)
    client.call("delay", lane=LANE, group=0, forward_ns=0, reverse_ns=0)
    entries = [
        {"flow": i, "src": key.src, "dst": key.dst, "sport": key.sport, "dport": key.dport,
         "proto": key.proto}
        for i, key in enumerate(flows)
    ]  # fmt: skip
    most = CONSTANTS.flow_entries_per_call
    for first in range(0, len(entries), most):
        client.call("flows", lane=LANE, entries=entries[first : first + most])


def play(made: Library, client: Client, packets: list[Packet], flows: list[FlowKey]) -> Outcome:
    """Put the packets in, and read what came of them."""
    start = packets[0].time_ns if packets else 0
    backwards = {key.reversed() for key in flows}
    cards = made.folder / "postcards"
    client.call("telemetry", lane=LANE, mode="all", path=str(cards))
    arrivals = [
        (
            packet.time_ns - start,
            RECEIVERS if tuple_of(packet.frame) in backwards else SENDERS,
            packet.frame,
        )
        for packet in packets
    ]
    left = made.play(client, whole_frames(arrivals))
    client.stop_telemetry(LANE)
    counters = client.call("counters", lane=LANE, flows=[0, max(1, len(flows))])
    return Outcome(
        postcards=np.fromfile(cards, POSTCARD),
        out=[Packet(time_ns, frame) for time_ns, frame in left.on(RECEIVERS)],
        flows=registers(counters, len(flows)),
        unshaped=unshaped(client.call("stats")["unshaped"]),
        histogram=counters["lane"]["histogram"],
    )


def registers(counters: Answer, flows: int) -> list[dict[str, int]]:
    return [{name: values[i] for name, values in counters["flows"].items()} for i in range(flows)]


def unshaped(counts: dict[str, Any]) -> dict[str, Count]:
    """What saw no queue, by its reason."""
    return {
        reason: Count(counts[f"{reason}_packets"], counts[f"{reason}_bytes"])
        for reason in ("reverse", "unknown", "malformed")
    }
