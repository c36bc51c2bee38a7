"""What the data plane says when it runs once to its end: a replay, and its speed."""

from __future__ import annotations

from typing import Literal

from ..shared import FLOW_REGISTERS
from .dataplane import FlowRegisters
from .message import Count, Finite, Message


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
