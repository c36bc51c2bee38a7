"""What the data plane says: itself, what it was programmed with, and its counters."""

from typing import Literal, Self

from pydantic import model_validator

from ..errors import TargetError
from ..link_changes import Schedule
from ..queues import Queues
from ..shared import FLOW_REGISTERS
from ..target import Lane
from .message import Count, Message, Whole


class PortIdentity(Message):
    """A port of the data plane.

    Attributes:
        driver: DPDK's way in.
        device: Interface or PCI address.
        stamps: Who says when a frame arrived: the `kernel`, as it happens; `none`: the data
            plane, when it finds the frame.
        mtu: MTU of a NIC; None: the port is none.
        pauses: Whether a NIC's flow control (PAUSE frames) is `off`, as read back, or its driver
            has no such call.
    """

    driver: str
    device: str
    stamps: Literal["kernel", "none"]
    mtu: Count | None = None
    pauses: Literal["off", "unsupported"] | None = None


class SwitchHello(Message):
    """What a switch outside the data plane says about itself.

    Attributes:
        epoch_ns: Its clock's 0 on CLOCK_MONOTONIC of the hosts' machine; below 0 where it ran
            before that did.
        artefact_digest: Digest of its P4 program.
        program: The program's name on the switch.
        chip: Its chip.
    """

    epoch_ns: Whole
    artefact_digest: str = ""
    program: str = ""
    chip: str = ""
    version: str = ""


class Hello(Message, extra="forbid"):
    """What a data plane says about itself.

    Attributes:
        role: The bottleneck itself, or the hosts' side of a switch.
        epoch_ns: Switch clock 0 on CLOCK_MONOTONIC.
        lanes: Lanes side by side.
        flow_capacity: Entries of its flow table.
        spec_digest: Digest of the P4 program; empty where it runs none.
        pipeline: How it runs P4; None where it runs none.
        postcard_bytes: Size of a raw postcard.
        switch: The switch beside it; None: it is the bottleneck itself.
    """

    version: str
    role: Literal["bottleneck", "hosts"]
    pid: Count
    epoch_ns: Whole
    lanes: Count
    flow_capacity: Count
    spec_digest: str = ""
    pipeline: Literal["native", "interpreted"] | None = None
    postcard_bytes: Count
    ports: dict[str, PortIdentity]
    switch: SwitchHello | None = None


class Done(Message):
    """An answer that says no more than that it was done."""


class ToldQueues(Queues):
    """What several queues are set to.

    Attributes:
        seed: Of which the queues' own are made.
    """

    seed: Count = 0


class ToldLane(Message, Lane, extra="forbid"):
    """What a lane is set to, as a data plane is told it and says it.

    Attributes:
        schedule: What happens to the line; None: nothing.
    """

    queues: ToldQueues | None = None
    schedule: Schedule | None = None


class Programmed(Message):
    """The answer to `program`.

    Attributes:
        applied: What was set.
    """

    applied: ToldLane


class DepartureLateness(Message):
    """Actual minus scheduled departure of a lane since its reset, in ns.

    Attributes:
        count: Departures.
        p99_ns: Its 99th percentile.
        p999_ns: Its 99.9th percentile.
        max_gap_ns: The packet loop's longest pause.
    """

    count: Count
    mean_ns: Count
    p50_ns: Count
    p99_ns: Count
    p999_ns: Count
    max_ns: Count
    max_gap_ns: Count


class DelayCounters(Message):
    """What a lane counts besides its queue, in either role of the data plane.

    Attributes:
        delay_packets: Packets in the delay lines now.
        random_loss_packets: Packets dropped at random on purpose.
        postcards: Postcards that arrived at the collector.
        lateness: Lateness of its departures.
    """

    delay_packets: Count
    random_loss_packets: Count
    postcards: Count
    lateness: DepartureLateness


class QueueState(Message):
    """What a switch knows of a lane's queue besides its registers; each where it knows it.

    Attributes:
        queue: The discipline, for a person.
        peak_bytes: The most that were.
        dropped_packets: Packets that the queue refused.
        histogram_bin_ns: Width of a bin of the queue-delay histogram.
        histogram: Packets in each bin; bins behind the last may be left out.
        watermark_cells: The most cells that were in use.
    """

    queue: str | None = None
    queue_bytes: Count | None = None
    peak_bytes: Count | None = None
    dropped_packets: Count | None = None
    histogram_bin_ns: Count | None = None
    histogram: tuple[Count, ...] | None = None
    watermark_cells: Count | None = None


class LaneCounters(QueueState, DelayCounters):
    """Everything that is counted for one lane but for its flows.

    Attributes:
        queue_packets: Packets queued now.
    """

    queue_packets: Count


class FlowRegisters(Message, extra="forbid"):
    """What P4 counts for each flow of a lane: a value for each flow, in their order."""

    arrived_packets: tuple[Count, ...]
    arrived_bytes: tuple[Count, ...]
    departed_packets: tuple[Count, ...]
    departed_bytes: tuple[Count, ...]
    dropped_packets: tuple[Count, ...]
    dropped_bytes: tuple[Count, ...]
    in_queue_bytes: tuple[Count, ...]
    peak_queue_bytes: tuple[Count, ...]
    marked_packets: tuple[Count, ...]
    marked_bytes: tuple[Count, ...]

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Self:
        for name in FLOW_REGISTERS:
            if len(getattr(self, name)) != self.count:
                raise ValueError(f"{name} has not {self.count} values")
        return self

    @property
    def count(self) -> int:
        """Number of flows."""
        return len(self.arrived_packets)

    def require(self, count: int, source: str) -> None:
        """Refuse registers of another number of flows."""
        if self.count != count:
            raise TargetError(f"{source}: arrived_packets has not {count} values")


class HostsCounters(Message):
    """The answer to `counters` in the hosts role.

    Attributes:
        lane: The delay lines and the collector.
    """

    lane: DelayCounters


class BottleneckCounters(Message):
    """The answer to `counters` in the bottleneck role."""

    flows: FlowRegisters
    lane: LaneCounters


class PortCounters(Message, extra="forbid"):
    """What a port counted since it was opened; an unknown counter could be a loss.

    `rx_unstamped` is no loss: frames of a port that stamps whose stamp was unsound; they have the
    time at which they were found. `link_downs` says how often a NIC lost its link.
    """

    rx_packets: Count
    tx_packets: Count
    rx_bytes: Count
    tx_bytes: Count
    rx_dropped: Count
    tx_dropped: Count
    rx_no_mbuf: Count
    xdp_rx_dropped: Count
    xdp_rx_ring_full: Count
    xdp_fill_ring_empty: Count
    xdp_tx_invalid: Count
    rx_unstamped: Count
    link_downs: Count


class LoopCounters(Message):
    """The packet loop since it began.

    Attributes:
        iterations: Rounds.
        busy: Rounds with a frame or an event.
        busy_ns: What these took.
        max_gap_ns: The longest pause between two rounds.
    """

    iterations: Count
    busy: Count
    busy_ns: Count
    max_gap_ns: Count


class HostsStats(Message):
    """The answer to `stats` in the hosts role.

    Attributes:
        rings: Packets lost between ports and lanes by reason; `discarded`: by a reset.
    """

    ports: dict[str, PortCounters]
    rings: dict[str, Count]
    loop: LoopCounters


class SharedCounters(HostsStats):
    """What all lanes share; in the bottleneck role the answer to `stats`.

    Attributes:
        unshaped: Packets and bytes by the reason why they bypassed the lanes' queues.
    """

    unshaped: dict[str, Count]


class Counters(Message):
    """Everything that a target counts, for one lane and for all together.

    Attributes:
        shared: Ports, rings, loop and unshaped traffic.
    """

    flows: FlowRegisters
    lane: LaneCounters
    shared: SharedCounters

    @property
    def held_packets(self) -> int:
        """Packets in the lane's queue and delay lines."""
        return self.lane.queue_packets + self.lane.delay_packets


class TelemetryTotals(Message):
    """What became of a lane's postcards.

    Attributes:
        seen: Postcards made by the pipeline.
        written: Records written to the file.
        gaps: Missing numbers in the postcards' sequence.
        lost: Postcards that a full ring or a failed write lost.
    """

    seen: Count
    written: Count
    gaps: Count
    lost: Count


class DisturbanceTotals(Message):
    """The answer to `disturbances`: what was written of a lane's records since its reset.

    Attributes:
        bins: Bins of the lane with any frame.
        pauses: Pauses of the packet loop.
        lost: Records that memory lacked for.
    """

    bins: Count
    pauses: Count
    lost: Count


class ReturnQueueTotals(Message):
    """The answer to `return_queue`: what became of the queue of a lane's way back.

    Attributes:
        bins: Bins in which a packet came or left.
        lost: Records that memory lacked for.
        dropped_packets: Packets that the queue refused.
        peak_bytes: The most that was in it.
    """

    bins: Count
    lost: Count
    dropped_packets: Count
    peak_bytes: Count


class TelemetryStopped(Message):
    """The answer to `telemetry_stop`.

    Attributes:
        totals: What became of the lane's postcards; None: some are not in their file yet.
    """

    totals: TelemetryTotals | None
