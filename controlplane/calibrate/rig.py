"""One measurement: program the lane, load and probe it, gather everything about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..contract.errors import HostError
from ..contract.lane import TelemetryPlan
from ..contract.messages import Counters, TelemetryTotals
from ..contract.records import PROBED
from ..contract.target import Applied, BottleneckProgram
from ..lane.lab import Lab
from ..lane.programmed import ProgrammedLane, programmed
from ..machine.process.clock import poll
from ..store.postcards import PostcardBatch, read_postcards
from ..store.raw_files import LaneClock
from .lane import LANE, Lane
from .load import Burst, Load
from .probe import LINGER_NS, Prober, Records, Reflector

ARRIVAL_S = 2.0
DRAIN_S = 15.0


@dataclass(frozen=True)
class Stimulus:
    """What is done to the lane.

    Attributes:
        name: For folders and messages.
        bottleneck: Rate and limit.
        burst: The load.
        probe_seconds: How long probes are sent; 0: none.
        lead_seconds: How long probes are alone before the load.
        drain: Whether to wait until the lane is empty.
    """

    name: str
    bottleneck: BottleneckProgram
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
        schedule: The probes.
        probed: What became of each.
    """

    sent: int
    load_ns: tuple[int, int]
    schedule: Records
    probed: Records


@dataclass(frozen=True)
class Observation(Stimulated):
    """What came of it.

    Attributes:
        applied: What the target really did.
        seen: Everything that arrived at the receivers, in order.
        cards: All postcards; their times are the switch's.
        counters: Registers of the lane's flows.
        totals: What became of the postcards.
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
    """Runs measurements on a lab's first lane.

    Args:
        lab: Session and target.
        lane: The lane's flows.
        load: The load generator.
        folder: Where raw files go.
    """

    def __init__(self, lab: Lab, lane: Lane, load: Load, folder: Path) -> None:
        self._lab = lab
        self._clock = lab.session.clock
        self.lane = lane
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
