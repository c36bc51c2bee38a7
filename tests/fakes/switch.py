"""A switch outside the data plane, with the traffic that all fakes agree on."""

import time
from collections.abc import Callable
from pathlib import Path

from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.contract.messages.dataplane import FlowRegisters, QueueState, SwitchHello
from nashbed.controlplane.contract.target import (
    PLAIN_LANE,
    Applied,
    Capabilities,
    Lane,
    LaneProgram,
)
from nashbed.controlplane.targets import Switch, SwitchRegisters
from tests.fakes.traffic import registers

CLOCK_AHEAD_NS = 5 * 10**9
DIGEST = "ab" * 32


def capabilities() -> Capabilities:
    """One lane, bytes only."""
    return Capabilities(
        target="fake",
        lanes=1,
        flows=64,
        lane=PLAIN_LANE,
        max_rate_bps=10**9,
        max_buffer_bytes=10**7,
        departure_tolerance_ns=10**6,
    )


def resolve(program: Lane) -> Applied:
    """As asked for, up to 900 Mbit/s."""
    if program.rate_bps > 9 * 10**8:
        raise ConfigError("bottleneck.rate: too fast for a fake")
    return Applied(
        rate_bps=program.rate_bps,
        limit=program.limit,
        buffer_bytes=program.limit.in_bytes,
        overhead_bytes=program.overhead_bytes,
        detail=f"{program.rate_bps // 8} bytes/s",
    )


class FakeSwitch(Switch):
    """Remembers what was asked; its traffic has happened when `happened` says so.

    Args:
        happened: Whether the lane's flows have sent.
        fault: loses, malformed, dies or queue_stuck; empty for none.
    """

    def __init__(self, happened: Callable[[], bool] = lambda: True, fault: str = "") -> None:
        self.calls: list[str] = []
        self.programs: list[LaneProgram] = []
        self._happened = happened
        self._fault = fault

    def capabilities(self) -> Capabilities:
        return capabilities()

    def load(self, artefact: Path) -> SwitchHello:
        self.calls.append("load")
        epoch_ns = time.monotonic_ns() - CLOCK_AHEAD_NS
        return SwitchHello(epoch_ns=epoch_ns, artefact_digest=DIGEST, version="fake switch")

    def program(self, lane: LaneProgram) -> Applied:
        self.calls.append("program")
        self.programs.append(lane)
        return resolve(lane.bottleneck)

    def read_registers(self, lane: int, first_flow: int, flows: int) -> SwitchRegisters:
        counts = registers(flows)
        happened = self._happened()
        if happened and self._fault == "dies":
            raise TargetError("switch: ended unexpectedly")
        if not happened:
            counts = {name: [0] * flows for name in counts}
        return SwitchRegisters(
            flows=FlowRegisters.model_validate(counts),
            queue_packets=3 if self._fault == "queue_stuck" else 0,
            queue=QueueState(histogram_bin_ns=1 << 20, histogram=(1,)),
            unshaped={
                "reverse_packets": 7,
                "malformed_packets": int(happened and self._fault == "malformed"),
            },
            losses={"telemetry": 3 if happened and self._fault == "loses" else 0},
        )

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        self.calls.append("reset")

    def close(self) -> None:
        self.calls.append("close")
