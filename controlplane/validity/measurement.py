"""What was measured of one attempt at a trial: gates judge it, and its record is made of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..contract.course import SettledDuration
from ..contract.disciplines import DROPTAIL, Discipline
from ..contract.messages.dataplane import (
    Counters,
    DisturbanceTotals,
    ReturnQueueTotals,
    TelemetryTotals,
)
from ..contract.messages.flows import ReadyFlow, SenderReport, SinkReport
from ..contract.path_changes import longest_rtt_ns
from ..contract.scenario import Scenario
from ..contract.target import Applied, Capabilities
from ..contract.trial import FlowSpan, HostStrain, Steadiness
from ..plan.attempt import Attempt, TrialFlow
from ..store.raw_files import LaneClock
from .hold_ups import DisturbanceEvidence, QueueingDelay, WindowLimits
from .postcard_evidence import (
    Edges,
    LinkBusy,
    PostcardEvidence,
    QueueDepth,
    SeveralDepths,
    SinkTotals,
)


class DatagramCounts:
    """An examiner of datagrams: how many of each flow were sent, and arrived."""

    def __init__(self, flows: int) -> None:
        self.sent = np.zeros(flows, np.int64)
        self.arrived = np.zeros(flows, np.int64)
        self.copies = 0

    def examine(self, batch: NDArray[Any]) -> None:
        """Take joined records (store.applications.ARRIVED) in."""
        there = batch["copies"] > 0
        np.add.at(self.sent, batch["flow"], 1)
        np.add.at(self.arrived, batch["flow"][there], 1)
        self.copies += int(np.sum(batch["copies"][there] - 1))


@dataclass(frozen=True)
class Evidence:
    """What the raw files of an attempt prove; examined while they are converted to tables.

    Attributes:
        postcards: What all postcards prove; None when not all are recorded.
        edges: Which flows competed in the first and the last part of the window.
        limits: For how much of the window each flow was held back by its sockets.
        queueing: The mean queueing delay of the window.
        disturbance: What held frames up in the window.
        datagrams: How many datagrams each flow sent, and how many of them arrived.
        read: What the sinks read in the window.
    """

    postcards: PostcardEvidence | None
    edges: Edges
    limits: WindowLimits
    queueing: QueueingDelay
    disturbance: DisturbanceEvidence
    datagrams: DatagramCounts
    read: SinkTotals

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
        postcards = PostcardEvidence.empty(
            [_news_ns(attempt, flow) for flow in attempt.flows],
            window_ns,
            LinkBusy(
                applied.rate_bps,
                applied.overhead_bytes,
                applied.slot_bytes,
                capabilities.departure_tolerance_ns,
                applied.departures,
            ),
            _depth(applied, capabilities),
        )
        return cls(
            postcards if attempt.telemetry().mode == "all" else None,
            Edges(flows, window_ns, scenario.gates.overlap.fraction),
            WindowLimits(flows, window_ns),
            QueueingDelay(window_ns),
            DisturbanceEvidence(window_ns),
            DatagramCounts(flows),
            SinkTotals(flows, window_ns),
        )


def _news_ns(attempt: Attempt, flow: TrialFlow) -> int:
    """From a departure until the latest arrival of a copy that was sent before the news of it.

    The way back may have a queue; the way there has none before the bottleneck.
    """
    scenario, back = attempt.scenario, attempt.trial.setting.back
    path_ns = longest_rtt_ns(scenario.flows[flow.group], flow.base_rtt_ns)
    queue_ns = 0 if back is None else back.longest_ns
    return path_ns + queue_ns + 2 * scenario.hosts.processing_jitter.ns


def _depth(applied: Applied, capabilities: Capabilities) -> QueueDepth | SeveralDepths:
    """What compares the queue, or the queues, with what postcards add up to.

    A queue in which packets may overtake others is not judged.
    """
    tolerance = capabilities.queue_tolerance_bytes
    if applied.queues is not None:
        in_order = [_is_in_order(queue.discipline) for queue in applied.queues.queues]
        return SeveralDepths(tolerance, in_order, counts_sent=applied.counts_sent)
    return QueueDepth(tolerance if _is_in_order(applied.discipline) else None)


def _is_in_order(discipline: Discipline | None) -> bool:
    return (discipline or DROPTAIL).is_in_order


@dataclass(frozen=True)
class TrialMeasurement:
    """Everything that is known of an attempt when its lane has drained.

    Attributes:
        t0_ns: Common start on CLOCK_MONOTONIC.
        epoch_ns: Switch clock 0 on CLOCK_MONOTONIC.
        started_utc: Wall-clock start.
        ended_utc: Wall-clock end.
        ready: What the sender reported before the start of each flow that lasts.
        window_ns: The measured window (from, to), after t0.
        steadiness: Whether the shares of a trial that was to settle were steady; None: it was to
            last a fixed time.
        counters: Registers after the drain.
        disturbances: What became of the records of what held frames up.
        losses: Change of every loss counter over the trial.
        link_downs: How often each NIC lost its link in the trial.
        evidence: What the raw files prove; empty until they are collected.
        return_queue: What the queue of the way back did; None: there is none.
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
    link_downs: dict[str, int]
    strain: HostStrain
    evidence: Evidence
    capabilities: Capabilities
    return_queue: ReturnQueueTotals | None = None

    @property
    def clock(self) -> LaneClock:
        """What turns raw records into this trial's."""
        attempt = self.attempt
        t0_switch_ns = self.t0_ns - self.epoch_ns
        return LaneClock(attempt.lane, attempt.first_flow, len(attempt.flows), t0_switch_ns)


def measured_window(
    scenario: Scenario, sender: SenderReport, steadiness: Steadiness | None
) -> tuple[int, int]:
    """The window in which a trial is measured, in ns after t0: that of the mix's flows.

    Args:
        steadiness: Where a trial that was to settle was looked at.
    """
    if isinstance(scenario.duration, SettledDuration) and steadiness is not None:
        return steadiness.window_ns
    flows = sender.flows[: scenario.total_flows]
    starts = _known(flow.start_ns for flow in flows)
    ends = _known(flow.end_ns for flow in flows)
    if scenario.window == "whole":
        return min(starts), max(ends)
    if scenario.start == "iperf3":
        begin = max(starts) + scenario.warmup.ns
        return begin, max(begin + 1, min(ends))
    return scenario.warmup.ns, scenario.longest.ns


def spans(
    flows: Sequence[TrialFlow], sender: SenderReport, sink: SinkReport
) -> tuple[FlowSpan, ...]:
    """When the flows of each strategy and group really ran, in order of appearance.

    Args:
        sender: The sender's report, in their order.
        sink: The sink's report, in their order.
    """
    kinds = dict.fromkeys((flow.group, flow.cc) for flow in flows)
    return tuple(
        _span(group, cc, [f.index for f in flows if (f.group, f.cc) == (group, cc)], sender, sink)
        for group, cc in kinds
    )


def _known(moments: Iterable[int | None]) -> list[int]:
    return [moment for moment in moments if moment is not None] or [0]


def _span(
    group: int, strategy: str, mine: Sequence[int], sender: SenderReport, sink: SinkReport
) -> FlowSpan:
    starts = [t for i in mine if (t := sender.flows[i].start_ns) is not None]
    ends = [t for i in mine if (t := sender.flows[i].end_ns) is not None]
    firsts = [t for i in mine if (t := sink.flows[i].first_byte_ns) is not None]
    lasts = [t for i in mine if (t := sink.flows[i].last_byte_ns) is not None]
    return FlowSpan(
        group=group,
        strategy=strategy,
        start_ns=min(starts, default=None),
        first_byte_ns=min(firsts, default=None),
        last_byte_ns=max(lasts, default=None),
        end_ns=min(ends, default=None),
    )
