"""The dpdk target in virtual time: `nashbed-replay`."""

from dataclasses import dataclass
from pathlib import Path

from tests.conformance.target import Capabilities, Count, Outcome, Packet
from tests.model.classifier import ETHERNET, FlowKey, Sound, classify, number
from tests.support.capture import raw_capture, read_capture
from tests.support.replay import NATIVE, REPLAY, Bottleneck, replay

LOOKED_BEHIND = frozenset({0x8100, 0x88A8, 0x9100, 0x86DD})
"""EtherTypes of VLAN tags and IPv6, which a replay looks into and P4 does not."""

SHORTEST = 60
"""Ethernet pads frames to it."""

KEY_NAMES = ("src", "dst", "sport", "dport", "proto")


@dataclass(frozen=True)
class ReplayCapabilities(Capabilities):
    """The vectors are about P4; `tests/dataplane/test_captures.py` has what a replay adds to it."""

    def can_put_in(self, frame: bytes) -> bool:
        """Whether a replay takes the frame for what P4 takes it for, to its last byte."""
        if not super().can_put_in(frame):
            return False
        if isinstance(classify(frame), Sound):
            return len(frame) <= max(SHORTEST, ETHERNET + number(frame, 16, 2))
        kind = number(frame, 12, 2)
        has_options = kind == 0x0800 and frame[14:15] > b"\x45" and frame[14:15] < b"\x50"
        return kind not in LOOKED_BEHIND and not has_options


class Dpdk:
    """Replays a capture. It finds the flows by itself, in the order of their first packets."""

    def __init__(self, pipeline: str) -> None:
        self.name = f"dpdk-{pipeline}"
        self.pipeline = pipeline

    capabilities = ReplayCapabilities(
        limit_units=frozenset({"bytes", "packets", "cells"}),
        limit_counts=frozenset({"system", "queue"}),
        overhead=True,
        exact_times=True,
        shortest_frame=0,
        longest_frame=2048,
        histogram_bin_ns=1 << 20,
        histogram_bins=4096,
        peak_per_flow=True,
    )

    def why_not(self) -> str:
        """Empty where the replay is built."""
        if not REPLAY.exists():
            return f"{REPLAY} is not built: make build"
        if self.pipeline == "native" and not NATIVE.exists():
            return f"{NATIVE} is not built: make setup says why"
        return ""

    def run(
        self,
        folder: Path,
        packets: list[Packet],
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int] | None = None,
    ) -> Outcome:
        assert not presets, "a replay starts with empty registers"
        capture = raw_capture([(packet.time_ns, packet.frame) for packet in packets])
        replayed = replay(folder, capture, bottleneck, self.pipeline)
        found = [FlowKey(*(each[name] for name in KEY_NAMES)) for each in replayed.summary["flows"]]
        assert found == flows, "flows are numbered in the order of their first packets"
        start = packets[0].time_ns if packets else 0
        return Outcome(
            postcards=replayed.postcards,
            out=[Packet(time - start, frame) for time, frame in read_capture(replayed.departures)],
            flows=replayed.summary["flows"],
            unshaped={
                reason: Count(
                    replayed.summary[f"{reason}_packets"], replayed.summary[f"{reason}_bytes"]
                )
                for reason in ("reverse", "unknown", "malformed")
            },
            histogram=replayed.summary["histogram"],
        )
