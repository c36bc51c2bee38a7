"""What the flow generator and the probe say."""

from typing import Literal

from .message import Count, Message, Moment, Whole


class TimerLateness(Message):
    """How late a generator's sampling timer was.

    Attributes:
        count: Samples taken.
        missed: Samples that were not.
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
    """

    notsent_lowat_bytes: Count
    flows: tuple[ReadyFlow, ...]


class SenderFlowReport(Message):
    """What became of a flow, at its sender.

    Attributes:
        connect_ns: When it was connected.
        handshake_ns: How long connecting took; None: it was not connected.
        start_ns: When it began to send.
        end_ns: When it ended.
        bytes_sent: Bytes sent, retransmissions included.
        bytes_retrans: Bytes sent again.
        total_retrans: Segments sent again.
        notsent_bytes: Bytes left in the socket.
        min_rtt_us: The shortest round trip; None: none was measured.
        error: Why it ended early; None: it did not.
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
        acks: Segments that the flows' receiving sockets sent.
        segments: Segments with data that they received, out of order and repeated ones included.
        lateness: Of the reading of goodput.
    """

    strangers: Count
    acks: Count
    segments: Count
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
    """Both flow generators of a trial, without what its tables hold."""

    sender: SenderTotals
    sink: SinkTotals


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
