"""The tofino target on the chip's software model: our adapter, PTF at three veth pairs.

The model has no traffic manager to speak of: what leaves a queue leaves it at once. So a vector
says nothing here of rates, limits and times, and drops nothing.
"""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.testbed import SwitchTofino
from nashbed.controlplane.targets.tofino import TofinoSwitch
from nashbed.controlplane.targets.tofino.client import BfRtClient, MissingEntryError
from nashbed.controlplane.targets.tofino.info import Query
from tests.conformance.bmv2 import from_the_first, lane_program, postcards_in
from tests.conformance.target import Capabilities, Count, Outcome, Packet, tuple_of
from tests.model.classifier import FlowKey
from tests.support.bmv2 import RECEIVERS, SENDERS, TELEMETRY, Wire
from tests.support.replay import Bottleneck
from tests.support.tofino import artefact, settings

ADDRESS = os.environ.get("NASHBED_TOFINO_MODEL", "127.0.0.1:50052")
CHIP = os.environ.get("NASHBED_TOFINO_MODEL_CHIP", "tofino1")
PAGE = "docs/how-to/tofino-model.md says how to start it"
PORTS = {
    "senders": {"port": 8, "speed": "25gbit"},
    "receivers": {"port": 9, "speed": "25gbit"},
    "telemetry": {"port": 10, "speed": "25gbit"},
}
ENDS = ("veth1", "veth3", "veth5")
PATIENCE_S = 60.0
POLL_S = 0.05


def described() -> SwitchTofino:
    """The `switch` section of a testbed that is the model."""
    return settings(CHIP, ADDRESS, ports=PORTS)


def why_no_server(address: str = ADDRESS) -> str:
    """Why the model's driver cannot be asked; empty where it can."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError as error:
        return f"no Tofino model answers at {address} ({error.strerror or error}): {PAGE}"
    return ""


def why_no_wires() -> str:
    """Why no frame can be sent to the model; empty where one can."""
    missing = [end for end in ENDS if not Path("/sys/class/net", end).exists()]
    if missing:
        return f"no interface {', '.join(missing)}: {PAGE}"
    return "" if os.geteuid() == 0 else "needs root: raw sockets"


class Model:
    """A loaded switch, and the wires to it."""

    name = "tofino-model"
    capabilities = Capabilities()

    def __init__(self) -> None:
        self._switch = TofinoSwitch(described())
        self._wire: Wire | None = None

    def open(self) -> None:
        """Load the switch, and take the wires."""
        self._switch.load(artefact(CHIP))
        self._wire = Wire("", ENDS)

    def close(self) -> None:
        """Leave the switch as it was found."""
        if self._wire is not None:
            self._wire.close()
        self._switch.close()

    def why_not(self) -> str:
        return why_no_server() or why_no_wires()

    def run(
        self,
        folder: Path,
        packets: list[Packet],
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int] | None = None,
    ) -> Outcome:
        assert not presets
        count = len(flows)
        self._switch.program(lane_program(flows, bottleneck))
        try:
            before = self._unshaped(count)
            self._received()
            self._send(packets, frozenset(key.reversed() for key in flows))
            self._wait(len(packets), count)
            found = self._switch.read_registers(0, 0, count)
            received = self._received()
            unshaped = {n: total - before[n] for n, total in self._unshaped(count).items()}
        finally:
            self._switch.reset(0, 0, count)
        return Outcome(
            postcards=from_the_first(postcards_in(received[TELEMETRY])),
            out=[Packet(0, frame) for frame in received[RECEIVERS]],
            flows=[{name: values[flow] for name, values in found.flows} for flow in range(count)],
            unshaped={name: Count(packets=total) for name, total in unshaped.items()},
        )

    def _unshaped(self, count: int) -> dict[str, int]:
        counted = self._switch.read_registers(0, 0, count).unshaped
        return {name.removesuffix("_packets"): total for name, total in counted.items()}

    def _send(self, packets: list[Packet], backwards: frozenset[FlowKey]) -> None:
        assert self._wire is not None
        for packet in packets:
            port = RECEIVERS if tuple_of(packet.frame) in backwards else SENDERS
            self._wire.send(port, packet.frame)

    def _wait(self, sent: int, count: int) -> None:
        """Until every frame has come out of one wire or the other, and its postcard as well."""
        assert self._wire is not None
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self._wire.collect()
            came = [len(frames) for frames in self._wire.received]
            arrived = sum(self._switch.read_registers(0, 0, count).flows.arrived_packets)
            if came[SENDERS] + came[RECEIVERS] == sent and came[TELEMETRY] == arrived:
                return
            assert time.monotonic() < deadline, f"{sent} sent, {came} came, {arrived} arrived"
            time.sleep(POLL_S)

    def _received(self) -> list[list[bytes]]:
        """What has come to each wire since the last time."""
        assert self._wire is not None
        self._wire.collect()
        came = [[frame for _, frame in frames] for frames in self._wire.received]
        self._wire.received[:] = [[], [], []]
        return came


def as_found(look: Callable[[BfRtClient], object]) -> object:
    """Ask the driver something with a connection of the test's own."""
    switch = described()
    client = BfRtClient(switch.grpc, switch.device, switch.p4_name)
    try:
        client.open()
        return look(client)
    finally:
        client.close()


def entry(client: BfRtClient, query: Query) -> JsonObject | None:
    """An entry; None where there is none."""
    try:
        [found] = client.read([query])
    except MissingEntryError:
        return None
    return found
