"""The stand-in for simple_switch as a Switch; tests register it in place of bmv2."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.messages.dataplane import FlowRegisters, SwitchHello
from nashbed.controlplane.contract.target import (
    PLAIN_LANE,
    Applied,
    Capabilities,
    Lane,
    LaneProgram,
)
from nashbed.controlplane.targets import Switch, SwitchRegisters
from nashbed.controlplane.targets.base import SwitchHost, TargetProcess

PROGRAM = Path(__file__).resolve().parents[1] / "fakes" / "soft_switch.py"


class SoftSwitch(Switch):
    """tests/fakes/soft_switch.py, started and controlled through a session.

    Args:
        dies_after: Readings of its registers that it survives.
    """

    def __init__(self, host: SwitchHost, dies_after: int = sys.maxsize) -> None:
        self._host = host
        self._left = dies_after
        self.process: TargetProcess | None = None
        self._connection: socket.socket | None = None

    def capabilities(self) -> Capabilities:
        return Capabilities(
            target="soft",
            lanes=1,
            flows=64,
            lane=PLAIN_LANE,
            max_rate_bps=2 * 10**7,
            max_buffer_bytes=10**6,
        )

    def resolve(self, program: Lane) -> Applied:
        return program.applied()

    def load(self, artefact: Path) -> SwitchHello:
        self.process = self._host.start_switch(artefact)
        self._connection = self._host.connect_switch(10.0)
        return SwitchHello.model_validate(self._call("hello"))

    def program(self, lane: LaneProgram) -> Applied:
        flows = [(f.flow, f.src, f.dst, f.sport, f.dport) for f in lane.flows]
        rate_bps, limit = lane.bottleneck.rate_bps, lane.bottleneck.limit.value
        self._call("program", rate_bps=rate_bps, limit=limit, flows=flows)
        return self.resolve(lane.bottleneck)

    def read_registers(self, lane: int, first_flow: int, flows: int) -> SwitchRegisters:
        self._left -= 1
        told = self._call("die" if self._left < 0 else "read", flows=[first_flow, flows])
        unknown = {"unknown_packets": told["unknown_packets"]}
        registers = FlowRegisters.model_validate(told["flows"])
        return SwitchRegisters(registers, told["queue_packets"], unshaped=unknown)

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        self._call("reset")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self.process is not None:
            self.process.stop()

    def _call(self, op: str, **arguments: Any) -> dict[str, Any]:
        if self._connection is None or self.process is None:
            raise TargetError("soft switch: it is not loaded")
        try:
            self._connection.sendall(json.dumps({"op": op, **arguments}).encode() + b"\n")
            answer = self._connection.makefile("rb").readline()
        except OSError:
            answer = b""
        if not answer:
            raise self.process.failure(f"ended while asked for {op!r}")
        told: dict[str, Any] = json.loads(answer)
        return told
