"""What was measured of one attempt at a trial: gates judge it, and its record is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from ..contract.messages import (
    Counters,
    DisturbanceTotals,
    ReadyFlow,
    SenderReport,
    SinkReport,
    TelemetryTotals,
)
from ..contract.strain import HostStrain
from ..contract.target import Applied, Capabilities
from ..contract.trial import Steadiness
from ..plan.attempt import Attempt
from ..store.postcards import PostcardBatch
from ..store.raw_files import LaneClock
from .disturbance_evidence import DisturbanceEvidence, QueueingDelay
from .postcard_evidence import Edges, PostcardEvidence
from .window_limits import WindowLimits


@dataclass(frozen=True)
class Evidence:
    """What the raw files of an attempt prove; fed while they are converted to tables.

    Attributes:
        postcards: What all postcards prove; None when not all are recorded.
        edges: Which flows were seen in the first and the last part of the window.
        limits: For how much of the window each flow was held back by its sockets.
        queueing: The mean queueing delay of the window.
        disturbance: What held frames up in the window.
    """

    postcards: PostcardEvidence | None
    edges: Edges
    limits: WindowLimits
    queueing: QueueingDelay
    disturbance: DisturbanceEvidence

    @classmethod
    def empty(
        cls,
        attempt: Attempt,
        applied: Applied,
        capabilities: Capabilities,
        window_ns: tuple[int, int],
    ) -> Self:
        """The evidence before any file was read."""
        scenario, flows = attempt.scenario, len(attempt.flows)
        postcards = PostcardEvidence(
            tuple(flow.base_rtt_ns for flow in attempt.flows),
            applied.rate_bps,
            applied.overhead_bytes,
            applied.slot_bytes,
            capabilities.departure_tolerance_ns,
            capabilities.queue_tolerance_bytes,
        )
        return cls(
            postcards if attempt.telemetry().mode == "all" else None,
            Edges(flows, window_ns, scenario.gates.overlap.fraction),
            WindowLimits(flows, window_ns),
            QueueingDelay(window_ns),
            DisturbanceEvidence(window_ns),
        )

    def feed(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        self.edges.feed(batch.flow, batch.enqueue_ns)
        self.queueing.feed_postcards(batch)
        if self.postcards is not None:
            self.postcards.feed(batch)


@dataclass(frozen=True)
class TrialMeasurement:
    """Everything that is known of an attempt when its lane has drained.

    Attributes:
        attempt: What was run.
        applied: What the target really did.
        t0_ns: Common start on CLOCK_MONOTONIC.
        epoch_ns: Switch clock 0 on CLOCK_MONOTONIC.
        started_utc: Wall-clock start.
        ended_utc: Wall-clock end.
        ready: What the sender reported of each flow before the start.
        sender: The sender's report at the end.
        sink: The sink's report at the end.
        window_ns: The measured window (from, to), after t0.
        steadiness: Whether the shares of a trial that was to settle were steady; None: it was to
            last a fixed time.
        counters: Registers after the drain.
        telemetry: What became of the postcards.
        disturbances: What became of the records of what held frames up.
        losses: Change of every loss counter over the trial.
        strain: What strained the hosts meanwhile.
        evidence: What the raw files prove; empty until they are collected.
        capabilities: What the target can do.
    """

    attempt: Attempt
    applied: Applied
    t0_ns: int
    epoch_ns: int
    started_utc: str
    ended_utc: str
    ready: tuple[ReadyFlow, ...]
    sender: SenderReport
    sink: SinkReport
    window_ns: tuple[int, int]
    steadiness: Steadiness | None
    counters: Counters
    telemetry: TelemetryTotals
    disturbances: DisturbanceTotals
    losses: dict[str, int]
    strain: HostStrain
    evidence: Evidence
    capabilities: Capabilities

    @property
    def clock(self) -> LaneClock:
        """What turns raw records into this trial's."""
        attempt = self.attempt
        t0_switch_ns = self.t0_ns - self.epoch_ns
        return LaneClock(attempt.lane, attempt.first_flow, len(attempt.flows), t0_switch_ns)
