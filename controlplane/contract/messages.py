"""Everything that the C programs say, as models; the JSON is written in hosts/.

A message is read once, where it arrives, by `read_message`; behind that there are attributes.
Unknown keys are ignored where a newer program may say more, and refused where they mean another
protocol, or a counter that could be a loss which nobody counts.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from .disciplines import DisciplineProgram
from .errors import NashbedError, TargetError
from .model import JsonObject
from .queues import MemoryProgram, Scheduler
from .shared import FLOW_REGISTERS
from .target import Arrivals, Limit, LimitCounts

Whole = Annotated[int, Field(strict=True)]
"""A whole number; true, 1.0 and "1" are none."""
Count = Annotated[int, Field(strict=True, ge=0)]
"""A whole number of 0 or more."""
Finite = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A number of 0 or more; neither infinite nor NaN."""
Moment = Whole | None
"""Nanoseconds after t0; None: it never happened."""

LONGEST_PROBLEM = 300
LONGEST_VALUE = 60


class Message(BaseModel):
    """A frozen model of what a program says; written again, it has the keys that it came with."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> JsonObject:
        written: JsonObject = handler(self)
        return {key: value for key, value in written.items() if key in self.model_fields_set}


MessageT = TypeVar("MessageT", bound=Message)


def read_message(
    model: type[MessageT],
    content: object,
    source: str,
    failure: type[NashbedError] = TargetError,
) -> MessageT:
    """Check a message.

    Args:
        model: What it should be.
        content: What came: the JSON text, or the object in it.
        source: Program and message, for the error's line: `data plane: counters`.
        failure: The error to raise.

    Raises:
        NashbedError: It is not such a message; the line names the source and the first field.
    """
    try:
        if isinstance(content, str | bytes):
            return model.model_validate_json(content)
        return model.model_validate(content)
    except ValidationError as error:
        raise failure(f"{source}: {_problem(error)}") from error


# The data plane.


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
        version: Its version.
    """

    epoch_ns: Whole
    artefact_digest: str = ""
    program: str = ""
    chip: str = ""
    version: str = ""


class Hello(Message, extra="forbid"):
    """What a data plane says about itself.

    Attributes:
        version: Its version.
        role: The bottleneck itself, or the hosts' side of a switch.
        pid: Process id.
        epoch_ns: Switch clock 0 on CLOCK_MONOTONIC.
        lanes: Lanes side by side.
        flow_capacity: Entries of its flow table.
        spec_digest: Digest of the P4 program; empty where it runs none.
        pipeline: How it runs P4; None where it runs none.
        postcard_bytes: Size of a raw postcard.
        ports: Its ports by name.
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


class AppliedQueue(Message):
    """What one of several queues was set to.

    Attributes:
        limit_bytes: Its own hard limit; 0: none but the memory's.
        weight: What it may send in its turn, in packets of 1514 bytes.
        discipline: Its discipline with its parameters; None: drop-tail.
    """

    limit_bytes: Count
    weight: Count = 1
    discipline: DisciplineProgram | None = None


class AppliedQueues(Message):
    """What several queues were set to.

    Attributes:
        scheduler: Whose packet is sent next.
        memory: How the memory is shared.
        queues: The queues.
    """

    scheduler: Scheduler
    memory: MemoryProgram
    queues: tuple[AppliedQueue, ...]


class AppliedProgram(Message, extra="forbid"):
    """What a lane's queue was set to.

    Attributes:
        rate_bps: Rate in bit/s.
        limit: The queue's hard limit.
        overhead_bytes: Bytes counted for each packet besides the frame.
        arrivals: What it admits or drops as one.
        limit_counts: Until when a packet counts against the limit.
        discipline: The queue's discipline with its parameters; None: drop-tail.
        queues: Several queues, whose memory is the limit; None: one queue.
        schedule: What happens to the line; None: nothing.
        policer: What is in front of the queue; None: nothing.
    """

    rate_bps: Count
    limit: Limit
    overhead_bytes: Count
    arrivals: Arrivals
    limit_counts: LimitCounts
    discipline: DisciplineProgram | None = None
    queues: AppliedQueues | None = None
    schedule: JsonObject | None = None
    policer: JsonObject | None = None


class Programmed(Message):
    """The answer to `program`.

    Attributes:
        applied: What was set.
    """

    applied: AppliedProgram


class DepartureLateness(Message):
    """Actual minus scheduled departure of a lane since its reset, in ns.

    Attributes:
        count: Departures.
        mean_ns: Their mean lateness.
        p50_ns: Its median.
        p99_ns: Its 99th percentile.
        p999_ns: Its 99.9th percentile.
        max_ns: The worst.
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
        queue_bytes: Bytes queued now.
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
    """The answer to `counters` in the bottleneck role.

    Attributes:
        flows: Each flow's registers.
        lane: The lane's own.
    """

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
        ports: Counters of each port.
        rings: Packets lost between ports and lanes by reason; `discarded`: by a reset.
        loop: The packet loop.
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
        flows: Each flow's registers.
        lane: The lane's own.
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


# The data plane, run once to its end.


class EffectiveConfiguration(Message):
    """What `--check` prints, as far as anybody reads it.

    Attributes:
        role: The bottleneck itself, or the hosts' side of a switch.
        pipeline: How P4 would be run; None where it would not.
    """

    role: Literal["bottleneck", "hosts"]
    pipeline: Literal["native", "interpreted"] | None = None


class ReplayedFlow(Message):
    """A flow of a replayed capture, and its registers."""

    flow: Count
    src: str
    dst: str
    sport: Count
    dport: Count
    proto: Count
    arrived_packets: Count
    arrived_bytes: Count
    departed_packets: Count
    departed_bytes: Count
    dropped_packets: Count
    dropped_bytes: Count
    in_queue_bytes: Count
    peak_queue_bytes: Count
    marked_packets: Count
    marked_bytes: Count


class ReplaySummary(Message):
    """replay.json, beside a replay's departures and postcards.

    Attributes:
        packets: Packets of the capture.
        departed: Packets that left to the receivers.
        dropped: Packets that the queue refused.
        postcards: Records written.
        peak_queue_bytes: The most that was queued.
        times_backwards: Packets with a time before an earlier one's.
        first_ns: The capture's first time; 0 on the replay's clock.
        flows: The flows in the order of their first packets.
        reverse_packets: Packets from receivers to senders; so for bytes and the other reasons.
        histogram_bin_ns: Width of a bin of the queue-delay histogram.
        histogram: Packets in each bin.
    """

    packets: Count
    departed: Count
    dropped: Count
    postcards: Count
    peak_queue_bytes: Count
    times_backwards: Count
    first_ns: Count
    flows: tuple[ReplayedFlow, ...]
    reverse_packets: Count
    reverse_bytes: Count
    unknown_packets: Count
    unknown_bytes: Count
    malformed_packets: Count
    malformed_bytes: Count
    histogram_bin_ns: Count
    histogram: tuple[Count, ...]

    @property
    def registers(self) -> FlowRegisters:
        """The flows' registers."""
        return FlowRegisters(
            **{name: tuple(getattr(flow, name) for flow in self.flows) for name in FLOW_REGISTERS}
        )


class PathSpeed(Message):
    """What `nashbed-replay --bench` prints: packets through the whole path in memory.

    Attributes:
        pipeline: How P4 was run.
        loops: Packet loops side by side.
        mpps: Million packets per second, of all loops together.
        departed: Packets that left.
        dropped: Packets that the queue refused.
        postcards: Postcards that were made.
    """

    pipeline: Literal["native", "interpreted"]
    loops: Count
    mpps: Finite
    departed: Count
    dropped: Count
    postcards: Count


# The flow generator.


class TimerLateness(Message):
    """How late a generator's sampling timer was.

    Attributes:
        count: Samples taken.
        missed: Samples that were not.
        mean_ns: Mean lateness.
        max_ns: The worst.
    """

    count: Count
    missed: Count
    mean_ns: Count
    max_ns: Count


class Listening(Message):
    """The sink listens.

    Attributes:
        addresses: At how many addresses.
    """

    addresses: Count


class ReadyFlow(Message):
    """A flow that is connected.

    Attributes:
        flow: Its number.
        cc_applied: Its CCA, read back from the socket.
        handshake_ns: How long connecting took; None for a flow that is connected after t0.
        ecn: Whether both sides agreed on ECN.
    """

    flow: Count
    cc_applied: str
    handshake_ns: Moment
    ecn: bool = False


class SinkProgress(Message):
    """What has arrived so far.

    Attributes:
        t_ns: When, after t0.
        bytes: Payload of each flow since it was connected, in the order of the configuration.
    """

    t_ns: Whole
    bytes: tuple[Count, ...]


class SenderReady(Message):
    """The sender has connected every flow.

    Attributes:
        notsent_lowat_bytes: Unsent bytes that a socket keeps at the most.
        flows: The flows.
    """

    notsent_lowat_bytes: Count
    flows: tuple[ReadyFlow, ...]


class SenderFlowReport(Message):
    """What became of a flow, at its sender.

    Attributes:
        flow: Its number.
        cc_applied: Its CCA, read back from the socket.
        connect_ns: When it was connected.
        handshake_ns: How long connecting took; None: it was not connected.
        start_ns: When it began to send.
        end_ns: When it ended.
        bytes_acked: Bytes acknowledged.
        bytes_sent: Bytes sent, retransmissions included.
        bytes_retrans: Bytes sent again.
        total_retrans: Segments sent again.
        notsent_bytes: Bytes left in the socket.
        min_rtt_us: The shortest round trip; None: none was measured.
        error: Why it ended early; None: it did not.
        ecn: Whether both sides agreed on ECN.
    """

    flow: Count
    cc_applied: str
    connect_ns: Moment
    handshake_ns: Moment
    start_ns: Moment
    end_ns: Moment
    bytes_acked: Count
    bytes_sent: Count
    bytes_retrans: Count
    total_retrans: Count
    notsent_bytes: Count
    min_rtt_us: Count | None
    error: str | None
    ecn: bool = False


class SinkFlowReport(Message):
    """What became of a flow, at its sink.

    Attributes:
        flow: Its number.
        bytes: Payload read.
        first_byte_ns: When the first byte was read.
        last_byte_ns: When the last byte was read.
        closed: How the connection ended.
        error: What went wrong; None: nothing.
    """

    flow: Count
    bytes: Count
    first_byte_ns: Moment
    last_byte_ns: Moment
    closed: Literal["never connected", "open", "reset", "fin", "error", "deadline"]
    error: str | None


class SenderTotals(Message):
    """A sender as a whole.

    Attributes:
        lost: Flows whose connection was lost.
        lateness: Of the sampling of TCP's state.
    """

    lost: Count
    lateness: TimerLateness


class SinkTotals(Message):
    """A sink as a whole.

    Attributes:
        strangers: Connections refused because they belong to no flow.
        acks: Segments that the flows' receiving sockets sent; None: recorded by an earlier version.
        segments: Segments with data that they received, out of order and repeated ones included.
        lateness: Of the reading of goodput.
    """

    strangers: Count
    acks: Count | None = None
    segments: Count | None = None
    lateness: TimerLateness


class SenderReport(SenderTotals):
    """The sender's last word.

    Attributes:
        flows: The flows.
    """

    flows: tuple[SenderFlowReport, ...]

    @property
    def totals(self) -> SenderTotals:
        """The report without what the tables hold."""
        return SenderTotals(lost=self.lost, lateness=self.lateness)


class SinkReport(SinkTotals):
    """The sink's last word.

    Attributes:
        flows: The flows.
    """

    flows: tuple[SinkFlowReport, ...]

    @property
    def totals(self) -> SinkTotals:
        """The report without what the tables hold."""
        return SinkTotals(
            strangers=self.strangers,
            acks=self.acks,
            segments=self.segments,
            lateness=self.lateness,
        )


class GeneratorTotals(Message):
    """Both flow generators of a trial, without what its tables hold.

    Attributes:
        sender: The sender.
        sink: The sink.
    """

    sender: SenderTotals
    sink: SinkTotals


# The probe.


class ProberReport(Message):
    """The prober's last word.

    Attributes:
        sent: Frames sent.
        latest_ns: How late the latest of them was.
    """

    sent: Count
    latest_ns: Whole


class ReflectorReport(Message):
    """The reflector's last word.

    Attributes:
        received: Datagrams that arrived.
        echoes: Datagrams sent back.
    """

    received: Count
    echoes: Count


# Process 1 of a guest.


class StartedProcess(Message):
    """The answer to `start`.

    Attributes:
        process: The process's number.
    """

    process: Count


class GuestEvent(Message, extra="forbid"):
    """What a process in a guest said, or that it has ended.

    Attributes:
        process: Its number.
        line: A line of its standard output.
        exit: Its exit code; 128 and the signal when one killed it.
    """

    process: Count
    line: str | None = None
    exit: Count | None = None

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.line is None) == (self.exit is None):
            raise ValueError("an event has either a line or an exit code")
        return self


class PassedTime(Message):
    """The answer to `run`.

    Attributes:
        now_ns: The guest's CLOCK_MONOTONIC.
        events: What its processes did, in order.
    """

    now_ns: Count
    events: tuple[GuestEvent, ...]


class FileText(Message):
    """The answer to `read`.

    Attributes:
        text: The file's content.
    """

    text: str


# Any of them.


class ErrorEvent(Message):
    """A program's last words before it ends with an error.

    Attributes:
        event: Marks it as an error.
        error: One line.
    """

    event: Literal["error"]
    error: str


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "greater_than_equal": "{ge:g} or more",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "literal_error": "{expected}",
    "json_invalid": "JSON",
}
"""Pydantic's type of an error -> what should have come."""


def _problem(error: ValidationError) -> str:
    """The first problem in one line: the field, and what is wrong with it."""
    first = error.errors()[0]
    where, kind = ".".join(str(part) for part in first["loc"]), first["type"]
    if kind == "missing":
        text = f"{where} is missing"
    elif kind == "extra_forbidden":
        text = f"{where} is not a field of this message"
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**first.get("ctx", {}))
        text = f"{where or 'the message'} is {_shown(first['input'])}, expected {expected}"
    else:
        reason = re.sub(r"^Value error, ", "", first["msg"])
        text = f"{where}: {reason}" if where else reason
    return " ".join(text.split())[:LONGEST_PROBLEM]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else type(value).__name__


# The loader of CCAs, and their simulator.


class CcaRegistered(Message):
    """A CCA that the kernel has taken.

    Attributes:
        name: Its name.
        object: The object file.
        state_map: Id of the map with its state of each socket.
        state_bytes: Size of that.
    """

    name: str
    object: str
    state_map: Count
    state_bytes: Count


class CcaRefused(Message):
    """A CCA that the kernel does not take.

    Attributes:
        object: The object file.
        reason: Why, in one word.
        message: Why, in a line.
        log: The verifier's last lines.
    """

    object: str
    reason: Literal["verifier", "name_taken", "not_a_control", "not_permitted", "kernel"]
    message: str
    log: tuple[str, ...] = ()


class SimulatedFlow(Message):
    """What a flow of the simulator got.

    Attributes:
        flow: Its number.
        CCA: Its CCA.
        throughput_bps: What it delivered after the warm-up.
        sent: Segments that it sent.
        lost: Those of them that were lost.
        mean_rtt_us: Mean round-trip time.
    """

    flow: Count
    control: str
    throughput_bps: Finite
    sent: Count
    lost: Count
    mean_rtt_us: Finite


class SimulatedPath(Message):
    """What a simulation says of its bottleneck.

    Attributes:
        utilisation: Share of the link that was used.
        mean_queue_bytes: Mean length of the queue.
        drops: Segments that the queue dropped.
        marks: Segments that it marked.
    """

    utilisation: Finite
    mean_queue_bytes: Finite
    drops: Count
    marks: Count = 0
