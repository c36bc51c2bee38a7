"""What goes to a target and what comes back: bottlenecks and lanes as asked for, and as applied."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from .disciplines import DisciplineAsked
from .limit import Admission, Arrivals, LimitCounts, QueuedLine
from .limit import Limit as Limit  # noqa: PLC0414 - others take it from here
from .line import Line
from .link_changes import LinkEvents, LinkProgram
from .model import ELSEWHERE, ContractModel, Needs
from .path_program import PathProgram, ReturnProgram
from .queues import QueuesProgram, Scheduler


class LaneLine(Admission, QueuedLine):
    """The line of a lane and its queue, wherever they are described: asked for, told, applied.

    Attributes:
        back: A bottleneck on the way back; None: no queue is there.
    """

    back: Annotated[
        ReturnProgram | None,
        Needs(
            "return_queue",
            "bottleneck.return: target {of.target} has no queue on the way back; remove it, or "
            + ELSEWHERE,
        ),
        Field(exclude_if=lambda told: told is None),
    ] = None


class TargetLine(LaneLine):
    """The same as a target is asked for it, or has it.

    Attributes:
        discipline: The queue's discipline; None: drop-tail.
        queues: Several queues, whose memory is the limit; None: one queue.
    """

    discipline: DisciplineAsked = None
    queues: Annotated[
        QueuesProgram | None,
        Needs(
            "several_queues",
            "target {of.target} has one queue behind its line ({key}){of.why_one_queue}; "
            + ELSEWHERE,
        ),
    ] = None


class BottleneckProgram(TargetLine):
    """The intent for one lane.

    Attributes:
        link: What happens to the link in mid-trial, and a policer; None: nothing.
    """

    link: LinkProgram | None = None

    @property
    def is_scheduled(self) -> bool:
        """Whether it changes at times after the start."""
        return self.link is not None and self.link.is_scheduled

    def applied(self, **otherwise: Any) -> Applied:
        """What a target does that does all of it, but for what it does otherwise."""
        does = {name: getattr(self, name) for name in TargetLine.model_fields}
        does["limit_counts"] = self.limit_counts or "system"
        if self.link is not None:
            does |= {name: getattr(self.link, name) for name in LinkEvents.model_fields}
        does |= otherwise
        return Applied(buffer_bytes=does["limit"].in_bytes, **does)


class Applied(TargetLine, LinkEvents):
    """What the target really does.

    Attributes:
        limit_counts: Until when a packet counts against the limit.
        buffer_bytes: The limit as bytes (packets of 1514 bytes).
        slot_bytes: Length that every packet counts with, whatever its own (a rate in packets
            per second); 0: its own.
        detail: The request in the target's own units, for a person; empty: the same.
    """

    limit_counts: LimitCounts = "system"
    buffer_bytes: int
    slot_bytes: int = 0
    detail: str = ""

    @property
    def line(self) -> Line:
        """The line that the target really made."""
        return self.line_from(self.rate_bps)


class TimeBounds(ContractModel):
    """How late things may be at a target whose times are exact, whatever the scenario allows.

    Attributes:
        departure_ns: The latest departure.
        loop_gap_ns: The longest pause of the packet loop.
        sampling_ns: Mean lateness of the samples of TCP's state; none may be missed.
        delay_ns: How far a delay that a calibration measures may be off.
        rate_percent: How far a rate that it measures may be off.
    """

    departure_ns: int
    loop_gap_ns: int
    sampling_ns: int
    delay_ns: int
    rate_percent: float


class Capabilities(ContractModel):
    """What a target can do.

    Attributes:
        target: Name of the target.
        lanes: Lanes side by side.
        flows: Flow table entries over all lanes.
        limit_units: Units that a limit can be enforced in.
        max_rate_bps: Highest rate of a lane in bit/s.
        max_buffer_bytes: Largest buffer of a lane in bytes.
        postcards: Ways of keeping postcards.
        arrivals: What its queue can admit or drop as one.
        limit_counts: Until when its packets can count against the limit; first, what it does
            unless the scenario says.
        disciplines: Names of its queue's disciplines.
        own_disciplines: Whether it loads a user's own, and policies of the memory.
        queues: The most queues behind the line.
        schedulers: How it can serve several queues.
        memory_policies: How several queues can share its memory.
        sorts_by_dscp: Whether a packet's DSCP can choose its queue.
        return_queue: Whether it has a bottleneck on the way back.
        without_queues: Why it has one queue alone, and what to do; empty: it has more.
        link_changes: Whether its link can change in mid-trial, or follow a trace.
        policer: Whether it can have a policer in front of its queue.
        clock_step_ns: What the times in its postcards are multiples of.
        departure_tolerance_ns: How far a departure may be from when the link, never idle with
            a queue, is done with it. More than 1 where departures are seen, not scheduled.
        queue_tolerance_bytes: How far the queue that a packet met may be from what the other
            postcards tell; None: it cannot be judged.
        in_queue_registers: Whether P4 itself knows each flow's bytes in the queue, now and at
            peak; without, those registers are 0.
        isolated: Whether each lane is a machine of its own, and is lane 0 there. Lanes share
            nothing then, so that only their number limits what runs at once.
        repeatable: Whether the same trial gives the same bytes again.
        virtual_time: Whether time passes as fast as a trial is computed, not as clocks have it.
        time_bounds: Bounds that replace the scenario's; None: the scenario's.
        arrival_stamps: Whether the kernel stamps each frame as it arrives, so that a pause of the
            data plane moves no arrival.
        loop_polls: Whether the data plane's loop never rests: a pause of it is a disturbance.
        switch_beside: Whether the bottleneck is a switch beside the data plane, which then cannot
            give back on the way back what left late on the way there.
        verified_on: What the target has run on so far, for a person; no hardware unless it says so.
        traffic_manager: What queues and shapes, for a person.
        limit_detail: How exact a limit is, for a person.
    """

    target: str
    lanes: int
    flows: int
    limit_units: tuple[Literal["bytes", "packets", "cells"], ...]
    max_rate_bps: int
    max_buffer_bytes: int
    arrivals: tuple[Arrivals, ...] = ("frames",)
    limit_counts: tuple[LimitCounts, ...] = ("system",)
    disciplines: tuple[str, ...] = ("droptail",)
    own_disciplines: bool = False
    queues: int = 1
    schedulers: tuple[Scheduler, ...] = ()
    memory_policies: tuple[str, ...] = ()
    sorts_by_dscp: bool = False
    return_queue: bool = False
    without_queues: str = ""
    link_changes: bool = False
    policer: bool = False
    clock_step_ns: int = 1
    departure_tolerance_ns: int = 1
    queue_tolerance_bytes: int | None = 0
    in_queue_registers: bool = True
    isolated: bool = False
    repeatable: bool = False
    virtual_time: bool = False
    time_bounds: TimeBounds | None = None
    arrival_stamps: bool = False
    loop_polls: bool = True
    switch_beside: bool = False
    verified_on: str = ""
    traffic_manager: str = ""
    limit_detail: str = ""

    @property
    def several_queues(self) -> bool:
        """Whether there can be more than one queue behind the line."""
        return self.queues > 1

    @property
    def why_one_queue(self) -> str:
        """Why not, as the rest of a refusal."""
        return f": {self.without_queues}" if self.without_queues else ""


@dataclass(frozen=True)
class GroupDelay:
    """The delay line of one flow group.

    Attributes:
        forward_ns: Delay from senders to receivers, before the queue.
        reverse_ns: Delay from receivers to senders.
        loss_ppb: Random loss on the forward path in parts per billion.
        seed: Seed of all that is random.
        jitter_ns: Each host takes up to so much to process a frame.
        receivers_wait: The receivers read at intervals, so that what they take to answer is the
            scenario's; else it is the machine's, and the data plane gives it back.
        forward: What the forward path does besides; None: nothing.
        back: What the return path does besides.
    """

    forward_ns: int
    reverse_ns: int
    loss_ppb: int
    seed: int
    jitter_ns: int = 0
    receivers_wait: bool = False
    forward: PathProgram | None = None
    back: PathProgram | None = None

    @property
    def is_scheduled(self) -> bool:
        """Whether it changes at times after the start."""
        return any(way is not None and bool(way.changes) for way in (self.forward, self.back))


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
        queue: Which of several queues its packets go to; BY_DSCP: their DSCP says.
    """

    flow: int
    src: str
    dst: str
    sport: int
    dport: int
    proto: int = 6
    queue: int = 0


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

    @property
    def is_scheduled(self) -> bool:
        """Whether anything changes at times after the start: the target is to be told it then."""
        return self.bottleneck.is_scheduled or any(delay.is_scheduled for delay in self.delays)


@dataclass(frozen=True)
class TelemetryPlan:
    """How a lane's postcards are kept.

    Attributes:
        mode: Every postcard, or bins of `bin_ns`.
        path: The file that raw records are written to.
        first_flow: Flow id of the lane's flow 0.
        flows: Number of the lane's flows.
        bin_ns: Length of a bin in ns.
        overtaken_ns: For bins: a packet leaves at the latest when one does that arrived so long
            after it; 0: first in, first out.
    """

    mode: Literal["all", "bins"]
    path: Path
    first_flow: int
    flows: int
    bin_ns: int = 0
    overtaken_ns: int = 0
