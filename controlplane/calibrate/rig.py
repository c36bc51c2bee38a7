"""One measurement on the calibrated lane: program it, load and probe it, gather everything.

The lane has one flow of load, and one probe flow in each group.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..contract.errors import HostError
from ..contract.messages.dataplane import Counters, TelemetryTotals
from ..contract.records import PROBE_ECHO, PROBE_SCHEDULE, PROBED
from ..contract.shared import FIRST_SENDER_PORT, SINK_PORT, receiver_address, sender_address
from ..contract.target import (
    Applied,
    FlowEntry,
    GroupDelay,
    Lane,
    LaneProgram,
    TelemetryPlan,
)
from ..lane.lab import Lab
from ..lane.programmed import ProgrammedLane, programmed
from ..machine.process.clock import poll
from ..store.postcards import PostcardBatch, read_postcards
from ..store.raw_files import LaneClock
from .load import Burst, BurstStep, Load
from .probe import LINGER_NS, Prober, Records, Reflector, Socket

LANE = 0
LOAD_FLOW = 0
UDP = 17
PROBE_BYTES = 100
PROBE_EVERY_NS = 2_000_000
ARRIVAL_S = 2.0
DRAIN_S = 15.0


@dataclass(frozen=True)
class RigLane:
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

    def program(self, bottleneck: Lane) -> LaneProgram:
        """Everything that is asked of the target."""
        groups = [0, *range(self.groups)]
        return LaneProgram(
            lane=LANE,
            bottleneck=bottleneck,
            delays=tuple(
                GroupDelay(forward_ns=rtt // 2, reverse_ns=rtt - rtt // 2)
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
        return Burst(self._socket(LOAD_FLOW, 0), steps, pps)

    def _socket(self, flow: int, group: int) -> Socket:
        ends = sender_address(LANE, group), receiver_address(LANE, group)
        return Socket(ends[0], self.port(flow), ends[1], SINK_PORT)

    def sinks(self) -> list[tuple[str, int]]:
        """Where the reflector listens."""
        return [(receiver_address(LANE, group), SINK_PORT) for group in range(self.groups)]

    def probe_sockets(self) -> list[Socket]:
        """The prober's sockets, one for each group."""
        return [self._socket(self.probe_flow(group), group) for group in range(self.groups)]

    def probes(self, seconds: float) -> NDArray[np.void]:
        """A schedule of probes, each group in its turn."""
        schedule = np.zeros(int(seconds * 1e9) // PROBE_EVERY_NS, PROBE_SCHEDULE)
        schedule["at_ns"] = np.arange(len(schedule)) * PROBE_EVERY_NS
        schedule["socket"] = np.arange(len(schedule)) % self.groups
        schedule["frame_bytes"] = PROBE_BYTES
        schedule["flags"] = PROBE_ECHO
        return schedule


@dataclass(frozen=True)
class Stimulus:
    """What is done to the lane.

    Attributes:
        name: For folders and messages.
        probe_seconds: How long probes are sent; 0: none.
        lead_seconds: How long probes are alone before the load.
        drain: Whether to wait until the lane is empty.
    """

    name: str
    bottleneck: Lane
    burst: Burst
    probe_seconds: float = 0.0
    lead_seconds: float = 0.0
    drain: bool = True


@dataclass(frozen=True)
class Stimulated:
    """What was sent. Times are the hosts' CLOCK_MONOTONIC.

    Attributes:
        sent: Frames of the load, as its generator says.
        load_ns: When the load began and ended.
    """

    sent: int
    load_ns: tuple[int, int]
    schedule: Records
    probed: Records


@dataclass(frozen=True)
class Observation(Stimulated):
    """What came of it.

    Attributes:
        seen: Everything that arrived at the receivers, in order.
        cards: All postcards; their times are the switch's.
        losses: Change of every loss counter.
    """

    applied: Applied
    seen: Records
    cards: PostcardBatch
    counters: Counters
    totals: TelemetryTotals
    losses: dict[str, int]

    @property
    def lost_elsewhere(self) -> int:
        """Frames lost anywhere but in the bottleneck."""
        return sum(self.losses.values())


class CalibrationRig:
    """Runs measurements on a lab's first lane."""

    def __init__(self, lab: Lab, lane: RigLane, load: Load, folder: Path) -> None:
        self._lab = lab
        self._clock = lab.session.clock
        self.lane = lane
        self.step_s = load.step_s
        self._load = load
        self._folder = folder
        self._count = 0

    def measure(self, what: Stimulus) -> Observation:
        """Do one measurement; the lane is empty afterwards, whatever happens."""
        self._count += 1
        folder = self._folder / f"{self._count:02d}-{what.name}"
        folder.mkdir()
        raw = folder / "telemetry.raw"
        telemetry = TelemetryPlan("all", raw, 0, self.lane.flows)
        clock = LaneClock(LANE, 0, self.lane.flows, self._clock.now_ns() - self._lab.epoch_ns)
        with programmed(self._lab, self.lane.program(what.bottleneck), telemetry) as lane:
            stimulated, seen, counters = self._gather(lane, what, folder)
            return Observation(
                **vars(stimulated),
                applied=lane.applied,
                seen=seen,
                totals=lane.stop_telemetry(),
                cards=PostcardBatch.joined([*read_postcards(raw, clock)]),
                counters=counters,
                losses=lane.losses(counters),
            )

    def _gather(
        self, lane: ProgrammedLane, what: Stimulus, folder: Path
    ) -> tuple[Stimulated, Records, Counters]:
        reflector = Reflector(self._lab.session, folder / "reflector", self.lane.sinks())
        try:
            stimulated = self._stimulate(what, folder)
            counters = self._settle(lane, what, stimulated.sent + len(stimulated.schedule))
            return stimulated, reflector.finish(), counters
        finally:
            reflector.stop()

    def _stimulate(self, what: Stimulus, folder: Path) -> Stimulated:
        """Probes all along, the load in the middle."""
        schedule = self.lane.probes(what.probe_seconds)
        if len(schedule) == 0:
            sent, load_ns = self._send(what.burst)
            return Stimulated(sent, load_ns, schedule, np.zeros(0, PROBED))
        linger_ns = LINGER_NS + max(self.lane.base_rtts_ns)
        sockets = self.lane.probe_sockets()
        prober = Prober(self._lab.session, folder / "prober", sockets, schedule, linger_ns)
        try:
            prober.start()
            self._clock.sleep(what.lead_seconds)  # probes alone are part of the stimulus
            sent, load_ns = self._send(what.burst)
            return Stimulated(sent, load_ns, schedule, prober.finish())
        finally:
            prober.stop()

    def _send(self, burst: Burst) -> tuple[int, tuple[int, int]]:
        begin_ns = self._clock.now_ns()
        sent = self._load.send(burst)
        return sent, (begin_ns, self._clock.now_ns())

    def _settle(self, lane: ProgrammedLane, what: Stimulus, frames: int) -> Counters:
        """Registers once all frames have arrived, and left where the lane is to be drained.

        Frames that never arrive are no error here: the judges see that they are missing.
        """
        deadline_ns = self._clock.now_ns() + int(ARRIVAL_S * 1e9)

        def settled() -> Counters | None:
            counters = lane.counters()
            missing = frames - sum(counters.flows.arrived_packets)
            if missing > 0 and self._clock.now_ns() < deadline_ns:
                return None
            return None if what.drain and counters.held_packets else counters

        late = HostError(f"calibration: {what.name}: the lane does not drain")
        return poll(settled, ARRIVAL_S + DRAIN_S, lambda: late, 0.02, self._clock)
