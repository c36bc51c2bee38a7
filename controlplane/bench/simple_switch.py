"""The same packets through bmv2's simple_switch, as fast as it takes them: a comparison.

simple_switch reads its packets from a capture (no interface, no root) and writes what leaves to
nowhere. Its queue's rate is taken away, so what is timed is what the replay is timed for: ingress,
queue, egress and postcard of each packet.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import numpy as np

from ..contract.errors import TargetError
from ..contract.shared import CONSTANTS, SINK_PORT, receiver_address, sender_address
from ..contract.target import FlowEntry, Lane, LaneProgram, Limit
from ..contract.units import PACKET_BYTES
from ..machine.paths import artefact
from ..machine.process.clock import poll
from ..machine.process.managed import Process
from ..targets.bmv2 import Bmv2Switch, bmv2_capabilities
from ..targets.bmv2 import program as p4
from ..targets.bmv2.runtime import ThriftRuntime, load_bindings

PROGRAM = "simple_switch"
MAX_FLOWS = bmv2_capabilities().flows
SENDER, RECEIVER = IPv4Address(sender_address(0, 0)), IPv4Address(receiver_address(0, 0))
FIRST_PORT, TCP = 1024, 6
IP_BYTES, SPORT_OFFSET = PACKET_BYTES - CONSTANTS.ethernet_bytes, 34
WAIT_S = 3
"""Whole seconds before it begins to read: it is programmed meanwhile."""
RATE_BPS = 10**8
ROOM_BYTES = 2**40
LOOK_EVERY_S = 0.05
PATIENCE_S = 120.0
PCAP_HEADER = np.array([(0xA1B2C3D4, 2, 4, 0, 262144, 1)], "<u4,<u2,<u2,<u8,<u4,<u4")


def available() -> str:
    """Where simple_switch is; empty where it is not on PATH."""
    return shutil.which(PROGRAM) or ""


@dataclass(frozen=True)
class Progress:
    """What had left by when.

    Attributes:
        at_s: Seconds of a clock.
        departed: Packets.
    """

    at_s: float
    departed: int


def measure(folder: Path, packets: int, flows: int, core: int | None) -> float:
    """Millions of packets per second through simple_switch.

    Args:
        folder: Where the capture and the log go.
        packets: How many; all of the size and the flows of `nashbed bench replay`.
        flows: Flows they belong to.
        core: The one core that it may use; None: every core.

    Raises:
        NashbedError: simple_switch did not start, or stopped on the way.
    """
    host = FilesHost(folder, core)
    write_capture(folder / "senders_in.pcap", packets, flows)
    switch = Bmv2Switch(host, PROGRAM)
    try:
        switch.load(artefact("bmv2/bottleneck.json"))
        switch.program(lane_program(flows))
        runtime = ThriftRuntime(host.connect_switch(WAIT_S), load_bindings(PROGRAM))
        try:
            runtime.set_rate(p4.PORT_RECEIVERS, p4.QUEUE_SHAPED, 0)
            return speed(_watch(runtime, packets))
        finally:
            runtime.close()
    finally:
        switch.close()


def speed(seen: Sequence[Progress]) -> float:
    """Millions of packets per second between the first look at which some had left and the last.

    Raises:
        TargetError: Everything had left before the second look.
    """
    first, last = seen[0], seen[-1]
    if last.departed <= first.departed:
        raise TargetError("simple_switch: too few packets to measure a speed; use more")
    return (last.departed - first.departed) / (last.at_s - first.at_s) / 1e6


def _watch(runtime: ThriftRuntime, packets: int) -> list[Progress]:
    """Look again and again, from the first departure until all have left."""
    register = p4.FLOW_REGISTERS["departed_packets"]
    seen: list[Progress] = []
    deadline = time.monotonic() + PATIENCE_S
    while not seen or seen[-1].departed < packets:
        now, departed = time.monotonic(), sum(runtime.read_register(register))
        if departed > 0 and (not seen or departed > seen[-1].departed):
            seen.append(Progress(now, departed))
        if now > deadline:
            raise TargetError(f"simple_switch: {departed} of {packets} packets left it")
        time.sleep(LOOK_EVERY_S)
    return seen


def lane_program(flows: int) -> LaneProgram:
    """All flows of one lane, and room for all packets."""
    return LaneProgram(
        lane=0,
        bottleneck=Lane(rate_bps=RATE_BPS, limit=Limit(unit="bytes", value=ROOM_BYTES)),
        flows=tuple(
            FlowEntry(
                flow=flow,
                src=str(SENDER),
                dst=str(RECEIVER),
                sport=FIRST_PORT + flow,
                dport=SINK_PORT,
                proto=TCP,
            )
            for flow in range(flows)
        ),
        delays=(),
    )


def write_capture(path: Path, packets: int, flows: int) -> None:
    """Full-sized TCP segments of flows in turn, as hosts/dpdk/offline/bench.c makes them."""
    frame = np.zeros(PACKET_BYTES, np.uint8)
    ip = bytes([0x45, 0]) + IP_BYTES.to_bytes(2, "big") + bytes([0, 0, 0, 0, 64, TCP, 0, 0])
    tcp = bytes(2) + SINK_PORT.to_bytes(2, "big") + bytes(8) + bytes([5 << 4])
    head = bytes(12) + b"\x08\x00" + ip + SENDER.packed + RECEIVER.packed + tcp
    frame[: len(head)] = np.frombuffer(head, np.uint8)
    layout = [("s", "<u4"), ("us", "<u4"), ("kept", "<u4"), ("wire", "<u4")]
    records = np.zeros(packets, [*layout, ("frame", np.uint8, PACKET_BYTES)])
    records["kept"] = records["wire"] = PACKET_BYTES
    records["frame"] = frame
    ports = (FIRST_PORT + np.arange(packets) % flows).astype(">u2")
    records["frame"][:, SPORT_OFFSET : SPORT_OFFSET + 2] = ports.view(np.uint8).reshape(-1, 2)
    with path.open("wb") as file:
        file.write(PCAP_HEADER.tobytes())
        records.tofile(file)


class FilesHost:
    """Runs simple_switch with captures for its interfaces.

    Args:
        folder: Where they are.
        core: The one core that it may use; None: every core.
    """

    def __init__(self, folder: Path, core: int | None) -> None:
        self.scratch = folder
        self._core = core
        self._port = _free_port()
        self._process: Process | None = None

    def start_switch(self, program: Path, options: Sequence[str] = ()) -> Process:
        """See SwitchHost."""
        ports = []
        for number, name in enumerate(("senders", "receivers", "telemetry")):
            ports += ["-i", f"{number}@{self.scratch / name}"]
            (self.scratch / f"{name}_out.pcap").symlink_to(os.devnull)
            if number:
                (self.scratch / f"{name}_in.pcap").write_bytes(PCAP_HEADER.tobytes())
        pinned = [] if self._core is None else ["taskset", "-c", str(self._core)]
        args = [*pinned, PROGRAM, *ports, "--use-files", str(WAIT_S)]
        args += ["--thrift-port", str(self._port), str(program), "--", *options]
        self._process = Process("switch", args, log_path=self.scratch / "simple_switch.log")
        return self._process

    def connect_switch(self, timeout_s: float) -> socket.socket:
        """See SwitchHost."""
        process = self._process
        assert process is not None

        def answering() -> socket.socket | None:
            if process.poll() is not None:
                raise process.failure("ended before it answered")
            try:
                return socket.create_connection(("127.0.0.1", self._port), 1.0)
            except OSError:
                return None

        return poll(answering, timeout_s, lambda: process.failure("does not answer"), 0.02)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
