"""simple_switch as a Switch, and the target that it makes with the hosts."""

import hashlib
import json
import socket
import time
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...contract.errors import InternalError, TargetError
from ...contract.messages.dataplane import FlowRegisters, QueueState, SwitchHello
from ...contract.messages.message import read_message
from ...contract.records import CLOCK_WRAP_NS, KIND_DEPARTED, POSTCARD, join_u48
from ...contract.target import Applied, Capabilities, FlowEntry, LaneProgram, TelemetryPlan
from ...contract.testbed import SwitchBmv2, Testbed
from ...machine.process.clock import poll
from ..base import Switch, SwitchHost, SwitchRegisters, Target, TargetHost, TargetProcess
from ..with_hosts import SwitchWithHosts
from . import program as p4
from .conversion import bmv2_capabilities, bmv2_resolve, pace_of
from .runtime import Runtime, ThriftRuntime, load_bindings

READY_TIMEOUT_S = 30.0
DRAIN_TIMEOUT_S = 60.0
DRAIN_INTERVAL_S = 0.02
DEPTH_PACKETS = 2**30
"""Beyond reach: what is dropped, P4 drops."""
CLOCK_READINGS = 20
Answer = TypeVar("Answer")
Connect = Callable[[socket.socket], Runtime]


class Bmv2Switch(Switch):
    """simple_switch on a machine, with one lane.

    Args:
        program: simple_switch: a name on PATH or a path.
        connect: Makes the client from a connection; None: bmv2's own.
    """

    def __init__(self, host: SwitchHost, program: str, connect: Connect | None = None) -> None:
        self._host = host
        self._connect = connect or (lambda made: ThriftRuntime(made, load_bindings(program)))
        self._process: TargetProcess | None = None
        self._runtime: Runtime | None = None
        self._slot_ns = 0

    def capabilities(self) -> Capabilities:
        """One lane; exact in bytes."""
        return bmv2_capabilities()

    def load(self, artefact: Path) -> SwitchHello:
        """Start simple_switch with a compiled program, and wait until it answers."""
        digest = sources_digest(artefact)
        process = self._process = self._host.start_switch(artefact, p4.SWITCH_OPTIONS)
        late = partial(process.failure, "does not serve its queues")
        self._runtime = poll(self._serving, READY_TIMEOUT_S, late)
        if self._ask(lambda runtime: runtime.program_md5()) != md5_of(artefact):
            raise TargetError(f"simple_switch runs another program than {artefact}")
        self._ask(lambda runtime: runtime.set_depths(DEPTH_PACKETS))
        self._ask(lambda runtime: runtime.add_clone_session(p4.MIRROR_SESSION, p4.PORT_TELEMETRY))
        return SwitchHello(epoch_ns=self._epoch_ns(), artefact_digest=digest)

    def program(self, lane: LaneProgram) -> Applied:
        """Rate, limit and flow table."""
        _require_lane(lane.lane)
        applied = bmv2_resolve(lane.bottleneck)
        pace = pace_of(lane.bottleneck.rate_bps, lane.bottleneck.overhead_bytes)

        def fill(runtime: Runtime) -> None:
            runtime.set_rate(p4.PORT_RECEIVERS, p4.QUEUE_SHAPED, pace.pps)
            runtime.write_register(p4.SLOT_NS, lane.lane, pace.slot_ns)
            runtime.write_register(p4.LIMIT_BYTES, lane.lane, applied.limit.value)
            for entry in lane.flows:
                data = (_wire(lane.lane, 2), _wire(entry.flow, 4))
                runtime.add_entry(p4.FLOW_TABLE, entry_key(entry), p4.TO_QUEUE, data)

        self._ask(fill)
        self._slot_ns = pace.slot_ns
        return applied

    def correct(self, lane: int, plan: TelemetryPlan) -> None:
        """Cut short the time on the link of packets that the next one pushed off it."""
        _require_lane(lane)
        if plan.mode == "all":
            settle_departures(plan.path, self._slot_ns)

    def read_registers(self, lane: int, first_flow: int, flows: int) -> SwitchRegisters:
        """The lane's registers; the lane is the switch's only one."""
        _require_lane(lane)
        own = slice(first_flow, first_flow + flows)
        values = {name: self._register(p4_name)[own] for name, p4_name in p4.FLOW_REGISTERS.items()}
        values |= dict.fromkeys(p4.UNCOUNTED, [0] * flows)
        registers = read_message(FlowRegisters, values, "simple_switch: registers")
        counts = without_trailing_zeros(self._register(p4.HISTOGRAM))
        return SwitchRegisters(
            flows=registers,
            queue_packets=held_packets(registers),
            queue=QueueState(histogram_bin_ns=p4.HISTOGRAM_BIN_NS, histogram=tuple(counts)),
            unshaped=self._unshaped(),
        )

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Wait until the queue is empty (simple_switch cannot empty it), then forget all."""
        _require_lane(lane)
        self._drain(first_flow, flows)

        def forget(runtime: Runtime) -> None:
            runtime.clear_table(p4.FLOW_TABLE)
            for name in (*p4.FLOW_REGISTERS.values(), *p4.LANE_STATE, p4.HISTOGRAM):
                runtime.reset_register(name)

        self._ask(forget)

    def close(self) -> None:
        """End simple_switch."""
        process, runtime = self._process, self._runtime
        self._process = self._runtime = None
        try:
            if runtime is not None:
                runtime.close()
        finally:
            if process is not None:
                process.stop()

    def _drain(self, first_flow: int, flows: int) -> None:
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        while held := self.read_registers(0, first_flow, flows).queue_packets:
            if time.monotonic() > deadline:
                raise TargetError(
                    f"simple_switch: {held} packets are still in its queue after "
                    f"{DRAIN_TIMEOUT_S:g} s"
                )
            time.sleep(DRAIN_INTERVAL_S)

    def _unshaped(self) -> dict[str, int]:
        packets, total = self._register(p4.UNSHAPED_PACKETS), self._register(p4.UNSHAPED_BYTES)
        counts = {}
        for index, reason in enumerate(p4.UNSHAPED_REASONS, start=1):
            counts[f"{reason}_packets"] = packets[index]
            counts[f"{reason}_bytes"] = total[index]
        return counts

    def _epoch_ns(self) -> int:
        """Its clock's 0 on CLOCK_MONOTONIC, by the reading that took least time."""
        readings = []
        for _ in range(CLOCK_READINGS):
            before = time.monotonic_ns()
            elapsed_us = self._ask(lambda runtime: runtime.elapsed_us())
            after = time.monotonic_ns()
            readings.append((after - before, (before + after) // 2 - elapsed_us * 1000))
        return min(readings)[1]

    def _register(self, name: str) -> list[int]:
        return self._ask(lambda runtime: runtime.read_register(name))

    def _serving(self) -> Runtime | None:
        """A client, once simple_switch's own service is there.

        It comes after bmv2's, which opens the port: a call in between is refused, and the
        connection with it.
        """
        runtime = self._connect(self._host.connect_switch(READY_TIMEOUT_S))
        try:
            runtime.elapsed_us()
        except TargetError:
            runtime.close()
            return None
        return runtime

    def _ask(self, question: Callable[[Runtime], Answer]) -> Answer:
        if self._runtime is None or self._process is None:
            raise TargetError("simple_switch is not loaded")
        try:
            return question(self._runtime)
        except TargetError as error:
            if self._process.poll() is not None:
                raise self._process.failure(f"ended: {error.message}") from error
            raise


def bmv2_target(host: TargetHost, testbed: Testbed) -> Target:
    """The target on a machine; it comes up with `load`."""
    if not isinstance(testbed.switch, SwitchBmv2):
        raise InternalError(f"testbed {testbed.name!r}: its switch is not a bmv2")
    switch = Bmv2Switch(host, testbed.switch.program)
    return SwitchWithHosts(switch, host, testbed.dataplane, testbed.stamps_arrivals)


def entry_key(entry: FlowEntry) -> tuple[bytes, ...]:
    """The flow table's key: addresses, ports, protocol, as they are on the wire."""
    addresses = (IPv4Address(entry.src).packed, IPv4Address(entry.dst).packed)
    return (*addresses, _wire(entry.sport, 2), _wire(entry.dport, 2), _wire(entry.proto, 1))


def held_packets(registers: FlowRegisters) -> int:
    """Packets that arrived and neither departed nor were dropped."""
    gone = sum(registers.departed_packets) + sum(registers.dropped_packets)
    return sum(registers.arrived_packets) - gone


def without_trailing_zeros(counts: list[int]) -> list[int]:
    """The counts up to the last that is not 0."""
    last = max((index for index, count in enumerate(counts) if count), default=-1)
    return counts[: last + 1]


def sources_digest(artefact: Path) -> str:
    """The digest of the P4 sources that a compiled program is stamped with.

    Raises:
        TargetError: The file is not what p4src/build.py makes.
    """
    try:
        stamp = json.loads(artefact.read_text(encoding="utf-8"))["stamp"]
        return str(stamp.split("sha256:")[1].split()[0])
    except (OSError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise TargetError(f"{artefact}: is not a program that p4src/build.py compiled") from error


def md5_of(artefact: Path) -> bytes:
    """As simple_switch reports it of the program that it runs."""
    return hashlib.md5(artefact.read_bytes(), usedforsecurity=False).digest()


def _wire(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def _require_lane(lane: int) -> None:
    if lane != 0:
        raise TargetError(f"lane {lane}: simple_switch has one bottleneck, lane 0")


def settle_departures(path: Path, slot_ns: int) -> int:
    """Correct departures that the next packet cut short, in a file of one lane's raw postcards.

    simple_switch's threads are late by turns: a packet let go late, and the next on time, are less
    than a slot apart. P4 then has the first off the link when the second is let go, but its
    postcard was written before. Only the next postcard shows it.

    Args:
        path: The file; a record that is cut off at its end is left for its reader to refuse.
        slot_ns: A packet's time on the link.

    Returns:
        How many were corrected.
    """
    count = path.stat().st_size // POSTCARD.itemsize
    if count == 0:
        return 0
    cards = np.memmap(path, dtype=POSTCARD, mode="r+", shape=(count,))
    departed = np.flatnonzero(cards["kind"] == KIND_DEPARTED)
    ends = join_u48(cards["dequeue_high"][departed], cards["dequeue_low"][departed])
    short = (ends[:-1] + slot_ns - ends[1:]) % CLOCK_WRAP_NS
    cut = np.flatnonzero((short > 0) & (short <= slot_ns))
    settled = (ends[cut] - short[cut]) % CLOCK_WRAP_NS
    cards["dequeue_high"][departed[cut]] = settled >> 32
    cards["dequeue_low"][departed[cut]] = settled & 0xFFFFFFFF
    cards.flush()
    return len(cut)
