"""What goes to a target and what comes back: bottlenecks and lanes as asked for, and as applied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, Field

from .disciplines import DROPTAIL, Choice, DisciplineAsked
from .limit import Admission, LimitCounts, QueuedLine
from .limit import Limit as Limit  # noqa: PLC0414 - others take it from here
from .link import Departures, ShapedDepartures, TokenBucket
from .link_changes import ChangingLine
from .model import ELSEWHERE, UNTOLD, ContractModel, Count, JsonObject, Needs, told_of
from .path_changes import Impairment, PathNs, Ppb
from .queues import MOST, Queues
from .strategy import ModuleParameters

Possible = bool | int | tuple[str, ...]
"""What a target can do of a field of a lane."""


class Lane(Admission, ChangingLine):
    """A lane: what is asked of a target, what it is told, and what it applied.

    Attributes:
        back: A bottleneck on the way back; None: no queue is there.
        discipline: The queue's discipline; None: drop-tail.
        queues: Several queues, whose memory is the limit; None: one queue.
    """

    back: Annotated[
        QueuedLine | None,
        Needs(
            "bottleneck.return: target {of.target} has no queue on the way back; remove it, or "
            + ELSEWHERE,
        ),
        UNTOLD,
        Field(exclude_if=lambda told: told is None),
    ] = None
    discipline: DisciplineAsked = None
    queues: Queues | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has a line of one rate, and nothing in front of its queue."""
        return not self.is_scheduled and not self.has_bucket

    @property
    def departures(self) -> Departures | ShapedDepartures | None:
        """When packets leave it, one after the other; None: a line of one rate sends them."""
        if self.shaper is None:
            return Departures(self.link) if self.is_scheduled else None
        buckets = [TokenBucket(self.rate_bps, self.shaper.burst.bytes)]
        if self.shaper.peak is not None and self.shaper.mtu is not None:
            buckets.append(TokenBucket(self.shaper.peak.bps, self.shaper.mtu.bytes))
        return ShapedDepartures(*buckets)

    def told(self, seed: int = 0, trace_file: str = "") -> JsonObject:
        """What a data plane is told.

        Args:
            seed: Of everything random in its queues.
            trace_file: Where it finds the times of a trace's opportunities.
        """
        told = told_of(self, Lane)
        if self.discipline == DROPTAIL:
            del told["discipline"]
        elif self.discipline is not None:
            told["discipline"]["seed"] = seed
        if self.queues is not None:
            told |= self.queues.told(seed)
        if self.is_scheduled:
            told["schedule"] = self.told_schedule(trace_file).model_dump(exclude_unset=True)
        return told

    def applied(self, **otherwise: Any) -> Applied:
        """What a target does that does all of it, but for what it does otherwise."""
        does = {name: getattr(self, name) for name in Lane.model_fields}
        does["limit_counts"] = self.limit_counts or "system"
        if self.discipline == DROPTAIL:
            does["discipline"] = None
        does |= otherwise
        return Applied(buffer_bytes=does["limit"].in_bytes, **does)


class Applied(Lane):
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


PLAIN_LANE: Final[dict[str, Possible]] = {
    "unit": ("bytes",),
    "arrive_as": ("frames",),
    "limit_counts": ("system",),
    "discipline": ("droptail",),
    "queues": 1,
}
"""One queue, drop-tail in bytes."""


def _every(model: type[BaseModel]) -> Iterator[tuple[str, Possible]]:
    """What there is of each field of a lane that not every target has."""
    for name, info in model.model_fields.items():
        kinds = [info.annotation, *get_args(info.annotation)]
        values = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
        models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if any(isinstance(each, Needs) for each in info.metadata):
            named = next((tuple(kind.KINDS) for kind in models if issubclass(kind, Choice)), ())
            yield name, values or named or True
        for kind in models:
            yield from _every(kind)


EVERY_LANE: Final = {**dict(_every(Lane)), "queues": MOST, "file": True}
"""All that there is; `file`: disciplines and policies of the user's own."""


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
        lane: What a lane can be, by the names of its fields: the values that are possible, the
            highest number of them, or whether it can be had at all. Of `limit_counts` the first is
            what it does unless the scenario says.
        max_rate_bps: Highest rate of a lane in bit/s.
        max_buffer_bytes: Largest buffer of a lane in bytes.
        postcards: Ways of keeping postcards.
        without_queues: Why it has one queue alone; empty: it has more.
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
        queues_detail: What several queues take, for a person.
    """

    target: str
    lanes: int
    flows: int
    lane: dict[str, Possible]
    max_rate_bps: int
    max_buffer_bytes: int
    without_queues: str = ""
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
    queues_detail: str = ""

    @property
    def why_one_queue(self) -> str:
        """Why there is one queue, as the rest of a refusal."""
        return f": {self.without_queues}" if self.without_queues else ""

    def names(self, field: str) -> tuple[str, ...]:
        """The values that a field of a lane can have."""
        possible = self.lane.get(field)
        return possible if isinstance(possible, tuple) else ()


class GroupDelay(ContractModel):
    """The delay line of one flow group.

    Attributes:
        forward_ns: Delay from senders to receivers, before the queue.
        reverse_ns: Delay from receivers to senders.
        loss_ppb: Random loss on the forward path in parts per billion.
        seed: Of that loss, and of the hosts' jitter.
        jitter_ns: Each host takes up to so much to process a frame.
        receivers_wait: The receivers read at intervals, so that what they take to answer is the
            scenario's; else it is the machine's, and the data plane gives it back.
        forward: What the forward path does besides.
        back: What the return path does besides.
    """

    forward_ns: PathNs
    reverse_ns: PathNs
    loss_ppb: Ppb = 0
    seed: Count = 0
    jitter_ns: PathNs = 0
    receivers_wait: bool = False
    forward: Annotated[Impairment, UNTOLD] = Impairment()
    back: Annotated[Impairment, UNTOLD] = Impairment()

    @property
    def is_scheduled(self) -> bool:
        """Whether it changes at times after the start."""
        return bool(self.forward.changes or self.back.changes)


@dataclass(frozen=True)
class FlowEntry:
    """One entry of the flow table.

    Attributes:
        flow: Flow id in the table.
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
        flows: The flow table entries; ids are consecutive.
        seed: Of everything random on the lane's machine, where that can be set.
        kernel: Guest kernel, by the beginning of its release; empty: the testbed's.
        module_parameters: What its congestion controls that are modules are inserted with.
    """

    lane: int
    bottleneck: Lane
    delays: tuple[GroupDelay, ...]
    flows: tuple[FlowEntry, ...]
    seed: int = 0
    kernel: str = ""
    module_parameters: ModuleParameters = field(default_factory=dict)

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
        overtaken_ns: For bins: a packet leaves at the latest when one does that arrived so long
            after it; 0: first in, first out.
    """

    mode: Literal["all", "bins"]
    path: Path
    first_flow: int
    flows: int
    bin_ns: int = 0
    overtaken_ns: int = 0
