"""The bmv2 target: simple_switch in real time, packets by PTF.

Real time has no two packets at one moment; what a vector says by times is had by order:

- A burst meets a queue that nothing leaves: the first packet is held for a moment, and all
  others wait behind it (Trial.hold).
- A packet that comes after others have left is sent when they are seen to have left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import POSTCARD
from nashbed.controlplane.contract.target import FlowEntry, Lane, LaneProgram, Limit
from nashbed.controlplane.targets.bmv2 import Bmv2Switch
from nashbed.controlplane.targets.bmv2 import program as p4
from numpy.typing import NDArray
from tests.conformance.target import Capabilities, Count, Outcome, Packet, tuple_of
from tests.model.classifier import FlowKey, Sound, classify
from tests.model.droptail import Arrival, droptail
from tests.support.bmv2 import (
    ARTEFACT,
    PROGRAM,
    RECEIVERS,
    SENDERS,
    TELEMETRY,
    SwitchBed,
    Wire,
    switch_bed,
    why_not,
)
from tests.support.replay import Bottleneck, time_of

PATIENCE_S = 30.0
HOLD_PPS = 2
CHUNK = 256
"""Frames sent before they are seen to have arrived: simple_switch's capture rings are short."""
ETHERNET_BYTES = 14
POSTCARD_TYPE = b"\x88\xb5"
FENCE = bytes.fromhex("02000000000102000000000288b6") + b"fence".ljust(46, b"\0")


class Bmv2:
    """A simple_switch of its own for each vector."""

    name = "bmv2"
    capabilities = Capabilities(
        overhead=True,
        shortest_frame=15,
        longest_frame=2048,
        shortest_tagged_frame=20,
        histogram_bin_ns=p4.HISTOGRAM_BIN_NS,
        histogram_bins=4096,
        peak_per_flow=True,
        presets=True,
    )

    def why_not(self) -> str:
        """Empty where simple_switch is, and we may make namespaces."""
        return why_not() or ("" if os.geteuid() == 0 else "needs root: network namespaces")

    def run(
        self,
        folder: Path,
        packets: list[Packet],
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int] | None = None,
    ) -> Outcome:
        with switch_bed(folder) as bed, Trial(bed, flows, bottleneck, presets or {}) as trial:
            trial.play(packets)
            return trial.outcome()


class Trial:
    """One vector on one new simple_switch."""

    def __init__(
        self,
        bed: SwitchBed,
        flows: list[FlowKey],
        bottleneck: Bottleneck,
        presets: dict[str, int],
    ) -> None:
        self._flows = frozenset(flows)
        self._backwards = frozenset(key.reversed() for key in flows)
        self._bottleneck = bottleneck
        self._switch = Bmv2Switch(bed, PROGRAM)
        self._switch.load(ARTEFACT)
        applied = self._switch.program(lane_program(flows, bottleneck))
        self._pps = round(applied.rate_bps / (8 * (applied.slot_bytes + applied.overhead_bytes)))
        self._runtime = bed.runtime()
        for name, value in presets.items():
            register = p4.FLOW_REGISTERS.get(name, f"BottleneckEgress.{name}")
            self._runtime.write_register(register, 0, value)
        self._wire = Wire(bed.namespace)
        self._sent = 0
        self._fences = 0

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()
        self._runtime.close()
        self._switch.close()

    def play(self, packets: list[Packet]) -> None:
        """Put the packets in, and wait until all of them are out again."""
        shaped = [is_of(packet.frame, self._flows) for packet in packets]
        left = left_before(packets, shaped, self._bottleneck)
        first = shaped.index(True) if True in shaped else -1
        if first >= 0 and any(shaped[first + 1 :]) and not left[first + 1]:
            self.hold(packets[: first + 1])
            packets, left = packets[first + 1 :], left[first + 1 :]
        for packet, gone in zip(packets, left, strict=True):
            if gone:
                self._wait(lambda gone=gone: self._departed() >= gone, "the queue does not empty")
            self._send(packet.frame)
            if self._sent % CHUNK == 0:
                self._wait(self._all_in, "frames did not reach the switch")
        self._wait(self._all_in, "frames did not reach the switch")
        self._wait(self._all_out, "frames did not leave the switch")

    def hold(self, packets: list[Packet]) -> None:
        """Send the first packets, and have the last of them leave only after a moment.

        A queue's first packet may leave a slot after the queue was made, and a slot is long
        meanwhile. When simple_switch is seen to be done with the packet, slots are short again.
        """
        self._runtime.set_rate(p4.PORT_RECEIVERS, p4.QUEUE_SHAPED, HOLD_PPS)
        for packet in packets:
            self._send(packet.frame)
        self._wait(self._all_in, "frames did not reach the switch")
        # One thread does ingress: when a later frame is through, so is this one.
        self._wire.send(RECEIVERS, FENCE)
        self._fences += 1
        self._wait(lambda: self._frames(SENDERS)[-1:] == [FENCE], "the fence did not come back")
        self._runtime.set_rate(p4.PORT_RECEIVERS, p4.QUEUE_SHAPED, self._pps)

    def outcome(self) -> Outcome:
        """What came out."""
        count = len(self._flows)
        registers = self._switch.read_registers(0, 0, count)
        unshaped = {
            reason: Count(
                registers.unshaped[f"{reason}_packets"], registers.unshaped[f"{reason}_bytes"]
            )
            for reason in p4.UNSHAPED_REASONS
        }
        fences = self._fences
        reverse = unshaped["reverse"]
        unshaped["reverse"] = Count(reverse.packets - fences, reverse.bytes - fences * len(FENCE))
        return Outcome(
            postcards=from_the_first(self._postcards()),
            out=[Packet(0, frame) for frame in self._frames(RECEIVERS)],
            flows=[
                {name: values[flow] for name, values in registers.flows} for flow in range(count)
            ],
            unshaped=unshaped,
            histogram=list(registers.queue.histogram or ()),
        )

    def _send(self, frame: bytes) -> None:
        self._wire.send(RECEIVERS if tuple_of(frame) in self._backwards else SENDERS, frame)
        self._sent += 1

    def _frames(self, port: int) -> list[bytes]:
        self._wire.collect()
        return [frame for _, frame in self._wire.received[port]]

    def _postcards(self) -> NDArray[Any]:
        frames = self._frames(TELEMETRY)
        assert {len(frame) for frame in frames} <= {60}
        return postcards_in(frames)

    def _departed(self) -> int:
        return int(np.count_nonzero(self._postcards()["kind"] == 0))

    def _all_in(self) -> bool:
        arrived = sum(self._runtime.read_register(p4.FLOW_REGISTERS["arrived_packets"]))
        unshaped = sum(self._runtime.read_register(p4.UNSHAPED_PACKETS))
        return arrived + unshaped == self._sent + self._fences

    def _all_out(self) -> bool:
        cards = self._postcards()
        arrived = sum(self._runtime.read_register(p4.FLOW_REGISTERS["arrived_packets"]))
        dropped = np.count_nonzero(cards["kind"] == 1)
        frames = len(self._frames(RECEIVERS)) + len(self._frames(SENDERS))
        return len(cards) == arrived and frames + dropped == self._sent + self._fences

    def _wait(self, condition: Callable[[], bool], problem: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            found = [len(frames) for frames in self._wire.received]
            assert time.monotonic() < deadline, f"{problem}: {self._sent} sent, received {found}"
            time.sleep(0.001)


def postcards_in(frames: list[bytes]) -> NDArray[Any]:
    """The postcards that a switch outside our data plane has sent, each in a frame."""
    assert all(frame[12:14] == POSTCARD_TYPE for frame in frames)
    size = POSTCARD.itemsize
    raw = b"".join(frame[ETHERNET_BYTES : ETHERNET_BYTES + size] for frame in frames)
    return np.frombuffer(raw, dtype=POSTCARD)


def lane_program(flows: list[FlowKey], bottleneck: Bottleneck) -> LaneProgram:
    """The vector's bottleneck and flow table."""
    return LaneProgram(
        lane=0,
        bottleneck=Lane(
            rate_bps=bottleneck.rate_bps,
            limit=Limit(unit="bytes", value=bottleneck.limit),
            overhead_bytes=bottleneck.overhead,
        ),
        delays=(),
        flows=tuple(
            FlowEntry(i, key.src, key.dst, key.sport, key.dport, key.proto)
            for i, key in enumerate(flows)
        ),
    )


def is_of(frame: bytes, flows: frozenset[FlowKey]) -> bool:
    """Whether a frame is of one of some flows."""
    verdict = classify(frame)
    return isinstance(verdict, Sound) and verdict.key in flows


def left_before(packets: list[Packet], shaped: list[bool], bottleneck: Bottleneck) -> list[int]:
    """How many shaped packets have left the queue, by the plain model, when each packet comes."""
    arrivals = [
        Arrival(packet.time_ns, len(packet.frame))
        for packet, mine in zip(packets, shaped, strict=True)
        if mine
    ]
    fates = droptail(arrivals, bottleneck.rate_bps, bottleneck.limit, overhead=bottleneck.overhead)
    departures = np.array([fate.departure_ns for fate in fates if not fate.dropped], np.int64)
    times = np.array([packet.time_ns for packet in packets], np.int64)
    return list(np.searchsorted(departures, times, side="right"))


def from_the_first(cards: NDArray[Any]) -> NDArray[Any]:
    """Postcards with times that count from the first arrival."""
    shifted = cards.copy()
    if len(cards) == 0:
        return shifted
    first = time_of(cards, "enqueue").min()
    for field in ("enqueue", "dequeue"):
        times = time_of(cards, field) - first
        shifted[f"{field}_high"] = times >> 32
        shifted[f"{field}_low"] = times & 0xFFFFFFFF
    return shifted
