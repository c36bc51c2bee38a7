"""What a lane is asked to be: its bottleneck, delay lines, flow table and telemetry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .target import BottleneckProgram


@dataclass(frozen=True)
class GroupDelay:
    """The delay line of one flow group.

    Attributes:
        forward_ns: Delay from senders to receivers, before the queue.
        reverse_ns: Delay from receivers to senders.
        loss_ppb: Random loss on the forward path in parts per billion.
        seed: Seed of the random loss.
    """

    forward_ns: int
    reverse_ns: int
    loss_ppb: int
    seed: int


@dataclass(frozen=True)
class FlowEntry:
    """One entry of the flow table.

    Attributes:
        flow: Flow id in the table.
        src: Sender's address.
        dst: Receiver's address.
        sport: Sender's port.
        dport: Receiver's port.
        proto: IP protocol; 6 is TCP.
    """

    flow: int
    src: str
    dst: str
    sport: int
    dport: int
    proto: int = 6


@dataclass(frozen=True)
class LaneProgram:
    """Everything that one lane needs before its flows start.

    Attributes:
        lane: The lane.
        bottleneck: Rate and limit.
        delays: The delay line of each flow group.
        flows: The flow table entries; ids are consecutive.
        seed: Of everything random on the lane's machine, where that can be set.
        kernel: Guest kernel, by the beginning of its release; empty: the testbed's.
    """

    lane: int
    bottleneck: BottleneckProgram
    delays: tuple[GroupDelay, ...]
    flows: tuple[FlowEntry, ...]
    seed: int = 0
    kernel: str = ""

    @property
    def first_flow(self) -> int:
        """Flow id of the lane's flow 0."""
        return self.flows[0].flow


@dataclass(frozen=True)
class TelemetryPlan:
    """How a lane's postcards are kept.

    Attributes:
        mode: Every postcard, one in `n`, or bins of `bin_ns`.
        path: The file that raw records are written to.
        first_flow: Flow id of the lane's flow 0.
        flows: Number of the lane's flows.
        n: One in how many.
        bin_ns: Length of a bin in ns.
    """

    mode: Literal["all", "sample", "bins"]
    path: Path
    first_flow: int
    flows: int
    n: int = 1
    bin_ns: int = 0
