"""The adapter: a Tofino switch as a Switch."""

import hashlib
import threading
import time
from pathlib import Path

from ...contract.errors import TargetError
from ...contract.messages.dataplane import FlowRegisters, QueueState, SwitchHello
from ...contract.messages.message import read_message
from ...contract.model import JsonObject
from ...contract.target import Applied, Capabilities, FlowEntry, LaneProgram, TelemetryPlan
from ...contract.testbed import SwitchPort, SwitchTofino
from ..base import Switch, SwitchRegisters
from . import capabilities, programming, registers
from .capabilities import CHIPS, Shaper, full_packet_cells, pipe_of
from .client import BfRtClient, MissingEntryError
from .info import Info, Query
from .programming import QueueAddress
from .queues import applied_queues, queues_for, read_back
from .queues import lane as queues_of_lane
from .registers import whole
from .times import READINGS, ClockReading, add_serialisation, epoch_ns, switch_ns
from .undo import UndoLog

PORT_UP_S = 30.0
POLL_S = 0.2


class TofinoSwitch(Switch):
    """A Tofino 1 or 2, driven over BfRt gRPC.

    Everything that is set on it is taken back by `close`, in the reverse order: the switch
    may have other users afterwards.

    Args:
        settings: The testbed's `switch` section.
        lanes: Lanes that run side by side: each has its part of the buffer.
        client: The connection; made from the settings by default.
    """

    def __init__(
        self, settings: SwitchTofino, lanes: int = 1, client: BfRtClient | None = None
    ) -> None:
        self._settings = settings
        self._lanes = lanes
        self._chip = CHIPS[settings.chip]
        self._client = client or BfRtClient(settings.grpc, settings.device, settings.p4_name)
        self._undo: UndoLog | None = None
        self._queues: dict[int, tuple[QueueAddress, ...]] = {}
        self._cells: dict[int, int] = {}
        self._flows: dict[int, tuple[FlowEntry, ...]] = {}
        self._programmed: dict[int, Applied] = {}
        self._dropped_before: dict[int, int] = {}
        self._lock = threading.Lock()

    def capabilities(self) -> Capabilities:
        """What the switch can do."""
        return capabilities.switch_capabilities(self._settings, self._lanes)

    def load(self, artefact: Path) -> SwitchHello:
        """Connect, check program and chip, bring the ports up, set up what lanes share.

        Args:
            artefact: The bf-rt.json that p4c made of our sources: the switch's must be it.
        """
        self._client.open()
        self._undo = UndoLog(self._client)
        self._check_program(artefact)
        self._check_chip()
        for port in self._ports():
            self._bring_up(port)
        deflected = self._queue(self._settings.ports.telemetry.port, programming.DEFLECTED_QUEUE)
        self._undo.apply(programming.session(self._settings, deflected))
        return SwitchHello(
            epoch_ns=self._epoch_ns(),
            artefact_digest=hashlib.sha256(artefact.read_bytes()).hexdigest(),
            program=self._settings.p4_name,
            chip=self._settings.chip,
        )

    def program(self, lane: LaneProgram) -> Applied:
        """Set a lane's queue, or queues, and flows; what is applied is read back."""
        several = lane.bottleneck.queues is not None
        with self._lock:
            applied = self._set_queues(lane) if several else self._set_queue(lane)
            self._programmed[lane.lane] = applied
            self._flows[lane.lane] = lane.flows
            entries = [programming.flow_entry(lane.lane, flow) for flow in lane.flows]
            self._loaded().apply(entries)
        return applied

    def _set_queue(self, lane: LaneProgram) -> Applied:
        shaper = capabilities.shaper_for(self._settings, self._chip, lane.bottleneck)
        cells = capabilities.cells_for(self._chip, lane.bottleneck)
        undo = self._loaded()
        self._share_buffer(lane.lane, cells)
        port = self._settings.ports.receivers.port
        queue = self._queue(port, programming.lane_queue(lane.lane))
        self._queues[lane.lane] = (queue,)
        undo.apply(programming.lane(self._settings, lane.lane, queue, shaper, cells))
        return self._applied(queue, shaper)

    def _set_queues(self, lane: LaneProgram) -> Applied:
        """Several queues, which have the port's shaper and a pool to themselves."""
        settings, chip = self._settings, self._chip
        if self._lanes > 1 or lane.lane != 0:
            raise TargetError(
                "switch: several queues share the port's shaper, so one lane has it alone; set "
                "capacity.lanes: 1"
            )
        queues = queues_for(settings, chip, lane.bottleneck)
        undo = self._loaded()
        self._share_buffer(lane.lane, queues.cells)
        first = programming.lane_queue(lane.lane)
        numbers = range(first, first + len(queues.queues))
        places = tuple(self._queue(settings.ports.receivers.port, number) for number in numbers)
        self._queues[lane.lane] = places
        undo.apply(queues_of_lane(settings, chip, lane.lane, places, queues))
        answers = self._client.read(read_back(settings, chip, places))
        return applied_queues(settings, chip, queues, answers)

    def correct(self, lane: int, plan: TelemetryPlan) -> None:
        """Add each packet's serialisation to its departure; bins keep the time before it."""
        if plan.mode != "bins":
            add_serialisation(plan.path, self._programmed[lane])

    def read_registers(self, lane: int, first_flow: int, flows: int) -> SwitchRegisters:
        """Read a lane's counts from the chip."""
        flow_registers = self._flow_registers(range(first_flow, first_flow + flows))
        counted = self._queue_counters(lane)
        waiting = -(-whole(counted, "usage_cells") // full_packet_cells(self._chip))
        queue: dict[str, object] = {"watermark_cells": whole(counted, "watermark_cells")}
        if waiting == 0:  # while the queue drains, the rest is asked for again and again
            queue |= self._histogram(lane)
        return SwitchRegisters(
            flows=flow_registers,
            queue_packets=waiting,
            queue=read_message(QueueState, queue, "switch: queue"),
            unshaped=self._unshaped(),
            losses=self._losses(lane, whole(counted, "drop_count_packets"), flow_registers),
        )

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Remove the lane's flow entries and zero its registers."""
        with self._lock:
            entries = self._flows.pop(lane, ())
            gone = [programming.flow_entry(lane, flow) for flow in entries]
            self._loaded().take_back(gone)
            self._cells.pop(lane, None)
        indices = range(first_flow, first_flow + flows)
        changes = [zero for count in registers.FLOW_COUNTS for zero in count.zeros(indices)]
        changes += [
            registers.zero_counter(registers.HISTOGRAM, index)
            for index in registers.histogram_indices(lane)
        ]
        self._client.write(changes)
        if lane in self._queues:
            counted = self._queue_counters(lane)
            self._dropped_before[lane] = whole(counted, "drop_count_packets")

    def close(self) -> None:
        """Leave the switch as it was found."""
        undo, self._undo = self._undo, None
        try:
            if undo is not None:
                undo.undo()
        finally:
            self._client.close()

    def _loaded(self) -> UndoLog:
        if self._undo is None:
            raise TargetError("switch: it is not loaded")
        return self._undo

    def _ports(self) -> tuple[SwitchPort, ...]:
        ports = self._settings.ports
        return ports.senders, ports.receivers, ports.telemetry

    def _check_program(self, artefact: Path) -> None:
        """The tables that we know must be the switch's, to the number."""
        ours = Info(artefact.read_bytes())
        if not ours.same_tables(self._client.info):
            raise TargetError(
                f"switch at {self._settings.grpc}: program {self._settings.p4_name!r} is another "
                f"build than {artefact}; compile p4src/tofino and load that"
            )

    def _check_chip(self) -> None:
        [buffer] = self._client.read([Query(self._chip.table("tm.cfg"), from_hardware=False)])
        cell, total = whole(buffer, "cell_size_bytes"), whole(buffer, "total_cells")
        if cell != self._chip.cell_bytes or total < self._chip.usable_cells:
            raise TargetError(
                f"switch at {self._settings.grpc}: its buffer has {total} cells of {cell} B, "
                f"{self._chip.name} has {self._chip.usable_cells} or more of "
                f"{self._chip.cell_bytes} B; see switch.chip"
            )

    def _bring_up(self, port: SwitchPort) -> None:
        """Add a port, or find it as it should be; wait for its link."""
        query = Query("$PORT", {"$DEV_PORT": port.port}, from_hardware=False)
        try:
            [entry] = self._client.read([query])
        except MissingEntryError:
            self._loaded().apply([programming.add_port(port, self._chip)])
        else:
            self._check_port(port, entry)
        deadline = time.monotonic() + PORT_UP_S
        while not self._client.read([query])[0].get("$PORT_UP"):
            if time.monotonic() > deadline:
                raise TargetError(
                    f"switch at {self._settings.grpc}: port {port.port} has no link within "
                    f"{PORT_UP_S:g} s; check cable, speed {port.speed} and FEC {port.fec}"
                )
            time.sleep(POLL_S)

    def _check_port(self, port: SwitchPort, entry: JsonObject) -> None:
        speed = self._chip.speeds[port.speed.bps]
        if entry.get("$SPEED") != speed:
            raise TargetError(
                f"switch at {self._settings.grpc}: port {port.port} is up with "
                f"{entry.get('$SPEED')}, the testbed says {speed}; remove the port or change one"
            )
        if entry.get("$PORT_ENABLE") is False:
            raise TargetError(
                f"switch at {self._settings.grpc}: port {port.port} is there but disabled; enable "
                "or remove it"
            )

    def _queue(self, port: int, queue: int) -> QueueAddress:
        """Where the traffic manager has a queue of a port, as the switch reports."""
        query = Query(self._chip.table("tm.port.cfg"), {"dev_port": port}, from_hardware=False)
        [entry] = self._client.read([query])
        queues = entry.get("egress_qid_queues")
        if not isinstance(queues, list) or queue >= len(queues):
            raise TargetError(f"switch at {self._settings.grpc}: port {port} has no queue {queue}")
        return QueueAddress(pipe_of(port), whole(entry, "pg_id"), queues[queue])

    def _epoch_ns(self) -> int:
        readings = []
        for _ in range(READINGS):
            [entry] = self._client.read([Query(registers.CLOCK, {"$REGISTER_INDEX": 0})])
            readings.append(ClockReading(time.monotonic_ns(), switch_ns(entry, registers.CLOCK)))
        epoch = epoch_ns(readings)
        if epoch is None:
            raise TargetError(
                f"switch at {self._settings.grpc}: its clock stands still: packets of the "
                f"generator do not arrive ({self._chip.table('pktgen.app_cfg')})"
            )
        return epoch

    def _share_buffer(self, lane: int, cells: int) -> None:
        """Static limits must fit in the buffer together, or they are none."""
        others = sum(c for number, c in self._cells.items() if number != lane)
        if others + cells > self._chip.usable_cells:
            raise TargetError(
                f"switch: {cells} cells for lane {lane} and {others} for the others are more than "
                f"{self._chip.usable_cells}; let fewer lanes run side by side (capacity.lanes)"
            )
        self._cells[lane] = cells

    def _applied(self, queue: QueueAddress, shaper: Shaper) -> Applied:
        """Read the queue back: what the chip has is what counts."""
        tables = ("tm.queue.sched_shaping", "tm.queue.buffer", "tm.queue.sched_cfg")
        rate, limit, enabled = self._client.read(
            [Query(self._chip.table(name), queue.key, queue.pipe) for name in tables]
        )
        if enabled.get("max_rate_enable") is not True or limit.get("tail_drop_enable") is not True:
            raise TargetError(f"switch at {self._settings.grpc}: shaping or tail drop is off")
        # Whatever a queue's mode is, the driver reads it as shared_pool; then this tells.
        if limit.get("pool_max_cells"):
            raise TargetError(
                f"switch at {self._settings.grpc}: the queue shares a pool, so its limit is none"
            )
        kbits = whole(rate, "max_rate")
        cells = whole(limit, "guaranteed_cells")
        applied = capabilities.applied(self._settings, self._chip, shaper, cells)
        if abs(kbits - shaper.rate_bps / 1000) <= 1:
            return applied
        return applied.model_copy(
            update={
                "rate_bps": kbits * 1000,
                "detail": f"{applied.detail}; read back {kbits} kbit/s",
            }
        )

    def _flow_registers(self, flows: range) -> FlowRegisters:
        values: dict[str, list[int]] = {}
        for count in registers.FLOW_COUNTS:
            values |= count.values(self._client.read(count.queries(flows)))
        values["in_queue_bytes"] = registers.in_queue_bytes(values)
        # It knows no peak, and P4 does not count what its traffic manager marks.
        unknown = ("peak_queue_bytes", "marked_packets", "marked_bytes")
        values |= {name: [0] * len(flows) for name in unknown}
        return read_message(FlowRegisters, values, "switch: registers")

    def _histogram(self, lane: int) -> dict[str, object]:
        indices = registers.histogram_indices(lane)
        queries = [registers.counter_query(registers.HISTOGRAM, index) for index in indices]
        return {
            "histogram_bin_ns": registers.HISTOGRAM_BIN_NS,
            "histogram": [registers.packets(entry) for entry in self._client.read(queries)],
        }

    def _queue_counters(self, lane: int) -> JsonObject:
        """What the traffic manager counted of a lane, summed over its queues."""
        queues = self._queues.get(lane)
        if queues is None:
            raise TargetError(f"switch: lane {lane} is not programmed")
        table = self._chip.table("tm.counter.queue")
        counted = self._client.read([Query(table, queue.key, queue.pipe) for queue in queues])
        names = ("drop_count_packets", "usage_cells", "watermark_cells")
        return {name: sum(whole(each, name) for each in counted) for name in names}

    def _unshaped(self) -> dict[str, int]:
        queries = [
            registers.counter_query(registers.UNSHAPED, index)
            for index in range(1, 1 + len(registers.UNSHAPED_REASONS))
        ]
        counted = [registers.packets(entry) for entry in self._client.read(queries)]
        reasons = registers.UNSHAPED_REASONS
        return {f"{reason}_packets": n for reason, n in zip(reasons, counted, strict=True)}

    def _losses(self, lane: int, dropped: int, flows: FlowRegisters) -> dict[str, int]:
        """Drops that ingress made, and drops that deflection did not report."""
        port = self._settings.ports.senders.port
        query = Query(self._chip.table("tm.counter.ig_port"), {"dev_port": port})
        [ingress] = self._client.read([query])
        since = dropped - self._dropped_before.get(lane, 0)
        return {
            "ingress_dropped": whole(ingress, "drop_count_packets"),
            f"lane_{lane}_unreported_drops": max(0, since - sum(flows.dropped_packets)),
        }
