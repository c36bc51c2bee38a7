# SPDX-License-Identifier: Apache-2.0
"""The dpdk target in virtual time: `nashbed-replay`."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.target import Capabilities, Count, Outcome, Packet
from tests.model.classifier import FlowKey
from tests.support.capture import raw_capture, read_capture
from tests.support.replay import NATIVE, REPLAY, Bottleneck, replay

KEY_NAMES = ("src", "dst", "sport", "dport", "proto")


class Dpdk:
    """Replays a capture. It finds the flows by itself, in the order of their first packets."""

    def __init__(self, pipeline: str) -> None:
        self.name = f"dpdk-{pipeline}"
        self.pipeline = pipeline

    capabilities = Capabilities(
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
        """See Target.run."""
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
