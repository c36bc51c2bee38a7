"""What a target must offer for the suite to run on it.

A vector states packets in and what must come out; how a target is started,
programmed and read is its harness's. What a target cannot do it declares, and
the vectors that need it are skipped with that reason.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from numpy.typing import NDArray
from tests.model.classifier import FlowKey
from tests.support.replay import Bottleneck

VLAN_TYPE = b"\x81\0"
PORTS_END = 38


@dataclass(frozen=True)
class Packet:
    """A frame at the bottleneck's door.

    Attributes:
        time_ns: When; not falling from packet to packet.
        frame: Ethernet frame without FCS.
    """

    time_ns: int
    frame: bytes


@dataclass(frozen=True)
class Capabilities:
    """What a target can do, as data.

    Attributes:
        limit_units: Units in which its queue can be limited.
        limit_counts: Until when its packets can count against the limit.
        overhead: Whether it can serialise overhead bytes per packet.
        exact_times: Whether arrivals and departures are at the nanosecond given
            and computed; else vectors about times do not run.
        shortest_frame: Bytes of the shortest frame that can be put in.
        longest_frame: Bytes of the longest.
        shortest_tagged_frame: Bytes of the shortest one of a VLAN's EtherType: a kernel that
            takes tags off drops a frame whose tag is cut short.
        histogram_bin_ns: Width of its delay histogram's bins; 0 where it has none.
        histogram_bins: Their number; the last one takes everything beyond.
        peak_per_flow: Whether it keeps each flow's peak of queue bytes.
        presets: Whether its registers can be given values before the first packet.
    """

    limit_units: frozenset[str] = frozenset({"bytes"})
    limit_counts: frozenset[str] = frozenset({"system"})
    overhead: bool = False
    exact_times: bool = False
    shortest_frame: int = 60
    longest_frame: int = 1514
    shortest_tagged_frame: int = 0
    histogram_bin_ns: int = 0
    histogram_bins: int = 0
    peak_per_flow: bool = False
    presets: bool = False

    def can_put_in(self, frame: bytes) -> bool:
        """Whether a frame gets as far as the target."""
        tagged = frame[12:14] == VLAN_TYPE
        shortest = self.shortest_tagged_frame if tagged else self.shortest_frame
        return shortest <= len(frame) <= self.longest_frame


@dataclass(frozen=True)
class Count:
    """Frames that were forwarded unshaped for one reason."""

    packets: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Outcome:
    """What came out.

    Attributes:
        postcards: Shape (n,), dtype records.POSTCARD, in the order written; times
            count from the first packet in.
        out: Frames at the receivers' wire in their order; times likewise.
        flows: Per flow id its registers by name.
        unshaped: Frames that saw no queue, by "reverse", "unknown", "malformed".
        histogram: Queueing delays of departed packets per bin, trailing zeros cut.
    """

    postcards: NDArray[Any]
    out: list[Packet]
    flows: list[dict[str, int]]
    unshaped: dict[str, Count]
    histogram: list[int] = field(default_factory=list)

    @property
    def frames(self) -> list[bytes]:
        """The frames at the receivers' wire without their times."""
        return [packet.frame for packet in self.out]

    @property
    def departed(self) -> NDArray[Any]:
        """Postcards of packets that left."""
        return self.postcards[self.postcards["kind"] == 0]

    @property
    def dropped(self) -> NDArray[Any]:
        """Postcards of packets that were dropped."""
        return self.postcards[self.postcards["kind"] == 1]


class Target(Protocol):
    name: str
    capabilities: Capabilities

    def why_not(self) -> str:
        """Why it cannot be run here; empty where it can."""

    def run(
        self,
        folder: Path,
        packets: list[Packet],
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int] | None = None,
    ) -> Outcome:
        """Put packets through one bottleneck until its queue is empty.

        Args:
            folder: Where the run may write.
            packets: In the order of their times. One whose 5-tuple is a flow's
                turned round comes from the receivers' side, all others from the
                senders'.
            flows: Flow i of the table is flows[i], and all are on lane 0.
            bottleneck: Rate and queue.
            presets: Registers (of flow 0, or of the lane) -> their values at the start.
        """


def tuple_of(frame: bytes) -> FlowKey | None:
    """A frame's 5-tuple, whatever else is wrong with it."""
    if len(frame) < PORTS_END or frame[12:15] != b"\x08\0\x45":
        return None
    src, dst = (".".join(map(str, frame[at : at + 4])) for at in (26, 30))
    sport, dport = (int.from_bytes(frame[at : at + 2], "big") for at in (34, 36))
    return FlowKey(src, dst, sport, dport, frame[23])


def needs(target: Target, condition: bool, what: str) -> None:
    """Skip the vector where the target lacks what it is about."""
    if not condition:
        pytest.skip(f"{target.name}: {what}")
