"""The lane that is calibrated: one flow of load, and one probe flow in each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..contract.addresses import FIRST_SENDER_PORT, SINK_PORT, receiver_address, sender_address
from ..contract.lane import FlowEntry, GroupDelay, LaneProgram
from ..contract.records import PROBE_ECHO, PROBE_SCHEDULE
from ..contract.target import BottleneckProgram
from .load import Burst, BurstStep
from .probe import Socket

LANE = 0
LOAD_FLOW = 0
UDP = 17
PROBE_BYTES = 100
PROBE_EVERY_NS = 2_000_000


@dataclass(frozen=True)
class Lane:
    """Flows and addresses of the lane.

    Attributes:
        base_rtts_ns: Base RTT of each group; the load is in the first one.
    """

    base_rtts_ns: tuple[int, ...]

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.base_rtts_ns)

    @property
    def flows(self) -> int:
        """Number of flows."""
        return 1 + self.groups

    def probe_flow(self, group: int) -> int:
        """Flow id of a group's probes."""
        return 1 + group

    def port(self, flow: int) -> int:
        """A flow's source port."""
        return FIRST_SENDER_PORT + flow

    def program(self, bottleneck: BottleneckProgram) -> LaneProgram:
        """Everything that is asked of the target."""
        groups = [0, *range(self.groups)]
        return LaneProgram(
            lane=LANE,
            bottleneck=bottleneck,
            delays=tuple(
                GroupDelay(forward_ns=rtt // 2, reverse_ns=rtt - rtt // 2, loss_ppb=0, seed=1)
                for rtt in self.base_rtts_ns
            ),
            flows=tuple(
                FlowEntry(
                    flow=flow,
                    src=sender_address(LANE, group),
                    dst=receiver_address(LANE, group),
                    sport=self.port(flow),
                    dport=SINK_PORT,
                    proto=UDP,
                )
                for flow, group in enumerate(groups)
            ),
        )

    def burst(self, steps: tuple[BurstStep, ...], pps: int) -> Burst:
        """Load of the lane."""
        return Burst(
            src=sender_address(LANE, 0),
            sport=self.port(LOAD_FLOW),
            dst=receiver_address(LANE, 0),
            dport=SINK_PORT,
            steps=steps,
            pps=pps,
        )

    def sinks(self) -> list[tuple[str, int]]:
        """Where the reflector listens."""
        return [(receiver_address(LANE, group), SINK_PORT) for group in range(self.groups)]

    def probe_sockets(self) -> list[Socket]:
        """The prober's sockets, one for each group."""
        return [
            Socket(
                sender_address(LANE, group),
                self.port(self.probe_flow(group)),
                receiver_address(LANE, group),
                SINK_PORT,
            )
            for group in range(self.groups)
        ]

    def probes(self, seconds: float) -> NDArray[np.void]:
        """A schedule of probes, each group in its turn."""
        schedule = np.zeros(int(seconds * 1e9) // PROBE_EVERY_NS, PROBE_SCHEDULE)
        schedule["at_ns"] = np.arange(len(schedule)) * PROBE_EVERY_NS
        schedule["socket"] = np.arange(len(schedule)) % self.groups
        schedule["frame_bytes"] = PROBE_BYTES
        schedule["flags"] = PROBE_ECHO
        return schedule
