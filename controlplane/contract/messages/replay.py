"""What the data plane says when it runs once to its end: a replay, and its speed."""

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


class NotLookedAt(Message):
    """Packets of a capture that are of no flow, by why; they pass the queue by.

    Attributes:
        not_ip: Neither IPv4 nor IPv6 behind the VLAN tags, such as ARP.
        other_protocol: Neither TCP nor UDP, such as ICMP.
        later_fragment: A fragment other than the first: it has no ports.
        malformed: Versions or lengths that contradict each other.
        cut_short: Captured only to before the ports, or TCP's header length.
    """

    not_ip: Count
    other_protocol: Count
    later_fragment: Count
    malformed: Count
    cut_short: Count

    @property
    def total(self) -> int:
        """All of them."""
        return sum(getattr(self, reason) for reason in _WHY)

    @property
    def why(self) -> str:
        """What is the matter with how many."""
        return ", ".join(
            f"{n} {text}" for reason, text in _WHY.items() if (n := getattr(self, reason))
        )


_WHY = {
    "not_ip": "are not IP",
    "other_protocol": "are neither TCP nor UDP",
    "later_fragment": "are fragments without ports",
    "malformed": "have headers that contradict their lengths",
    "cut_short": "were captured without all of their headers",
}

LONG_PAUSE_NS = 60 * 10**9
"""A longer pause is told: it may be a clock that was set."""


class ReplaySummary(Message):
    """replay.json, beside a replay's departures and postcards.

    Attributes:
        packets: Packets of the capture.
        departed: Packets that left the queue to the receivers.
        dropped: Packets that the queue refused.
        postcards: Records written.
        peak_queue_bytes: The most that was queued.
        times_backwards: Packets with a time before an earlier one's.
        furthest_back_ns: The most that one was before an earlier one.
        longest_pause_ns: The longest time between a packet and those before it.
        longest_pause_packet: The packet after it; the first is 1, and 0 means none.
        fcs_packets: Packets whose declared FCS was taken off.
        trailer_packets: Packets that lost what was behind their end: IP's, or Ethernet's padding.
        not_looked_at: Packets of no flow.
        first_ns: The capture's first time; 0 on the replay's clock.
        flows: The flows in the order of their first packets.
        reverse_packets: Packets from receivers to senders; so for bytes and the other reasons,
            which are as the P4 program sees them.
        histogram_bin_ns: Width of a bin of the queue-delay histogram.
        histogram: Packets in each bin.
    """

    packets: Count
    departed: Count
    dropped: Count
    postcards: Count
    peak_queue_bytes: Count
    times_backwards: Count
    furthest_back_ns: Count
    longest_pause_ns: Count
    longest_pause_packet: Count
    fcs_packets: Count
    trailer_packets: Count
    not_looked_at: NotLookedAt
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
    def unshaped(self) -> int:
        """Packets that never met the queue: what is not looked at, and the way back."""
        return self.packets - self.departed - self.dropped

    @property
    def remarks(self) -> tuple[str, ...]:
        """What somebody must know who believes the result, a line each."""
        passed = self.not_looked_at
        said = [
            (
                passed.total > 0,
                f"{passed.total} of {self.packets} packets were not looked at, because "
                f"{passed.why}; they passed the queue by",
            ),
            (
                self.fcs_packets > 0,
                f"an FCS was taken off {self.fcs_packets} packets: the file declares it",
            ),
            (
                self.trailer_packets > 0,
                f"a trailer was taken off {self.trailer_packets} packets: what is behind the end "
                "of IP's packet and of Ethernet's padding was not sent",
            ),
            (
                self.times_backwards > 0,
                f"{self.times_backwards} packets have times before an earlier one's, by up to "
                f"{self.furthest_back_ns / 1000:g} us; they come at that one's time (sort them "
                "with reordercap)",
            ),
            (
                self.longest_pause_ns > LONG_PAUSE_NS,
                f"packet {self.longest_pause_packet} comes {self.longest_pause_ns / 1e9:.6f} s "
                "after those before it; if a clock was set there, cut the capture in two with "
                "editcap",
            ),
        ]
        return tuple(line for is_so, line in said if is_so)

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
