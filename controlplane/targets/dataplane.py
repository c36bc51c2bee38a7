"""A running data plane and its control socket: what all of its roles and places share."""

import json
import struct
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from ..contract.disciplines import Discipline
from ..contract.errors import TargetError
from ..contract.limit import Admission, QueuedLine
from ..contract.messages.dataplane import (
    BottleneckCounters,
    Counters,
    DisturbanceTotals,
    Done,
    Hello,
    Programmed,
    ReturnQueueTotals,
    SharedCounters,
    TelemetryStopped,
    TelemetryTotals,
)
from ..contract.messages.message import Message, read_message
from ..contract.model import JsonObject
from ..contract.queues import Queues
from ..contract.shared import CONSTANTS
from ..contract.target import Applied, FlowEntry, LaneProgram, TelemetryPlan
from ..contract.testbed import DataPlane
from ..machine.process.clock import poll
from ..machine.process.control_client import ControlClient
from .base import DataPlaneHost, DataPlaneSite, Target, TargetProcess, TelemetryStream

READY_TIMEOUT_S = 60.0
WRITTEN_TIMEOUT_S = 120.0
"""How long a disk may take for what of a lane's postcards is in memory: 30 MB at most."""

Answer = TypeVar("Answer", bound=Message)
Launch = Callable[[Path], TargetProcess]
"""Starts a data plane with a configuration file; its control socket answers on return."""


def launcher(host: DataPlaneHost) -> Launch:
    """Starts nashbed-dataplane on a machine."""

    def launch(config: Path) -> TargetProcess:
        process = host.start_dataplane(config)
        try:
            process.wait_event("ready", READY_TIMEOUT_S)
        except BaseException:
            process.stop()
            raise
        return process

    return launch


class RunningDataPlane:
    """A data plane from its start to its end."""

    def __init__(self, site: DataPlaneSite, launch: Launch) -> None:
        self._site = site
        self._launch = launch
        self._process: TargetProcess | None = None
        self._client: ControlClient | None = None
        self._epoch_ns = 0

    def start(self, content: JsonObject) -> Hello:
        """Start it with a configuration, wait until its socket answers; returns its hello.

        Args:
            content: Its configuration but for the control socket.
        """
        socket_path = self._site.scratch / "control.sock"
        config = self._site.scratch / "dataplane.json"
        content = content | {"control_socket": str(socket_path), "ports": self._site.ports()}
        config.write_text(json.dumps(content, indent=1) + "\n")
        self._process = self._launch(config)
        try:
            self._client = ControlClient(socket_path)
        except TargetError as error:
            raise self._process.failure(f"failed: {error.message}") from error
        hello = self.ask(Hello, "hello")
        self._epoch_ns = hello.epoch_ns
        return hello

    def set_lane(self, lane: LaneProgram) -> Applied:
        """Program rate, limit, delay lines and flow table of a lane, where it is the bottleneck."""
        asked, queues = lane.bottleneck, lane.bottleneck.queues
        program = asked.told(lane.seed, str(self._write_trace(lane)))
        applied = self.ask(Programmed, "program", lane=lane.lane, **program).applied
        keys = Admission.model_fields
        if any(getattr(asked, key) not in (None, getattr(applied, key)) for key in keys) or (
            asked.is_scheduled == (applied.schedule is None)
        ):
            raise TargetError("data plane: program: it has not applied all of the lane")
        self._set_return(lane)
        self.set_delays(lane)
        for first in range(0, len(lane.flows), CONSTANTS.flow_entries_per_call):
            part = lane.flows[first : first + CONSTANTS.flow_entries_per_call]
            entries = [_entry(entry, queues is not None) for entry in part]
            self.ask(Done, "flows", lane=lane.lane, entries=entries)
        plain = (*QueuedLine.model_fields, *Admission.model_fields)
        return asked.applied(
            **{name: getattr(applied, name) for name in plain},
            discipline=_named(asked.discipline, applied.discipline),
            queues=_named_queues(queues, applied.queues),
        )

    def _set_return(self, lane: LaneProgram) -> None:
        """Program the bottleneck of a lane's way back, where it has one."""
        back = lane.bottleneck.back
        if back is not None:
            self.ask(Programmed, "return", lane=lane.lane, **back.model_dump())

    def _write_trace(self, lane: LaneProgram) -> Path:
        """Where the data plane finds the times of a trace's opportunities."""
        path, trace = self._site.scratch / f"trace-{lane.lane}.bin", lane.bottleneck.trace
        if trace is not None and trace.form == "opportunities":
            times_ns = trace.times_ns
            path.write_bytes(struct.pack(f"<{len(times_ns)}Q", *times_ns))
        return path

    def set_delays(self, lane: LaneProgram) -> None:
        """Program a lane's delay lines."""
        for group, delay in enumerate(lane.delays):
            place = {"lane": lane.lane, "group": group}
            self.ask(Done, "delay", **place, **delay.as_message())
            for way, impairment in (("forward", delay.forward), ("return", delay.back)):
                if told := impairment.as_message():
                    self.ask(Done, "impair", **place, way=way, **told)

    def begin(self, lane: int, t0_ns: int) -> None:
        """Let what a lane's bottleneck and delay lines schedule begin.

        Args:
            t0_ns: When (the hosts' CLOCK_MONOTONIC).
        """
        self.ask(Done, "begin", lane=lane, t0_ns=t0_ns - self._epoch_ns)

    def start_telemetry(
        self, lane: int, plan: TelemetryPlan, start_ns: int | None = None
    ) -> TelemetryStream:
        """Have a lane's postcards written to a file.

        Args:
            start_ns: A time on the postcards' clock before which no packet arrives; None: now,
                where that clock is the data plane's own.
        """
        more = {} if start_ns is None else {"start_ns": start_ns}
        if plan.overtaken_ns:
            more["overtaken_ns"] = plan.overtaken_ns
        self.ask(
            Done,
            "telemetry",
            lane=lane,
            mode=plan.mode,
            bin_ns=plan.bin_ns,
            path=str(plan.path),
            flows=[plan.first_flow, plan.flows],
            **more,
        )
        return _Stream(self, lane)

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """A lane's registers and the shared counters, where it is the bottleneck."""
        own = self.ask(BottleneckCounters, "counters", lane=lane, flows=[first_flow, flows])
        own.flows.require(flows, "data plane: counters")
        return Counters(flows=own.flows, lane=own.lane, shared=self.ask(SharedCounters, "stats"))

    def write_disturbances(self, lane: int, folder: Path) -> DisturbanceTotals:
        """Have what held a lane's frames up since its reset written to files, and forgotten."""
        return self.ask(
            DisturbanceTotals,
            "disturbances",
            lane=lane,
            path=str(folder / CONSTANTS.disturbances_file),
            pauses_path=str(folder / CONSTANTS.pauses_file),
        )

    def write_return_queue(self, lane: int, folder: Path) -> ReturnQueueTotals:
        """Have what became of the queue of a lane's way back written to a file, and forgotten."""
        path = str(folder / CONSTANTS.return_queue_file)
        return self.ask(ReturnQueueTotals, "return_queue", lane=lane, path=path)

    def close(self) -> None:
        """Ask it to end; when it does not, end it. Safe to call twice."""
        process, client = self._process, self._client
        self._process = self._client = None
        try:
            if client is not None and process is not None and not client.is_broken:
                _shut_down(client, process)
        finally:
            if client is not None:
                client.close()
            if process is not None:
                process.stop()

    def ask(self, answer: type[Answer], op: str, **arguments: Any) -> Answer:
        """A request and its answer.

        Raises:
            TargetError: It refused, gave another answer, or has died; that with its last words.
        """
        if self._client is None or self._process is None:
            raise TargetError(f"data plane: {op}: it is not loaded")
        with _dying_words(self._client, self._process):
            return read_message(answer, self._client.call(op, **arguments), f"data plane: {op}")


class DataPlaneTarget(Target):
    """A target whose bottleneck is our data plane, which one at a time is running."""

    @abstractmethod
    def _running(self, what: str) -> RunningDataPlane:
        """The running one; raises TargetError where there is none to do `what`."""

    def begin(self, lane: int, t0_ns: int) -> None:
        """Let what the lane's program schedules begin."""
        self._running("begin").begin(lane, t0_ns)

    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> TelemetryStream:
        """Have the lane's postcards written to a file."""
        return self._running("telemetry").start_telemetry(lane, plan)

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """Read the lane's registers and the shared counters."""
        return self._running("counters").read_counters(lane, first_flow, flows)

    def write_disturbances(self, lane: int, folder: Path) -> DisturbanceTotals:
        """Have what held the lane's frames up written to files: nothing, in virtual time."""
        return self._running("disturbances").write_disturbances(lane, folder)

    def write_return_queue(self, lane: int, folder: Path) -> ReturnQueueTotals:
        """Have what became of the queue of the lane's way back written to a file."""
        return self._running("return_queue").write_return_queue(lane, folder)


def _named(asked: Discipline | None, applied: Discipline | None) -> Discipline | None:
    """What was applied, by the name that was asked for: a user's own may call itself otherwise."""
    return asked and applied and applied.named(asked.name)


def _named_queues(asked: Queues | None, applied: Queues | None) -> Queues | None:
    """The queues as applied, with the names that a data plane is not told."""
    if asked is None or applied is None:
        return None
    queues = tuple(
        told.model_copy(
            update={
                "name": queue.name,
                "takes": queue.takes,
                "discipline": _named(queue.discipline, told.discipline),
            }
        )
        for queue, told in zip(asked.queues, applied.queues, strict=True)
    )
    memory = applied.memory.named(asked.memory.name)
    return asked.model_copy(
        update={"scheduler": applied.scheduler, "memory": memory, "queues": queues}
    )


def _entry(entry: FlowEntry, several: bool) -> JsonObject:
    """A flow's entry; where there is one queue, none is said."""
    told = asdict(entry)
    if not several:
        del told["queue"]
    return told


@contextmanager
def _dying_words(client: ControlClient, process: TargetProcess) -> Iterator[None]:
    """Where the data plane died and answers no more, raise its own failure instead."""
    try:
        yield
    except TargetError as error:
        if client.is_broken:
            raise process.failure(f"failed: {error.message}") from error
        raise


def _shut_down(client: ControlClient, process: TargetProcess) -> None:
    with _dying_words(client, process):
        client.call("shutdown")
    process.wait_exit(10.0)


class _Stream(TelemetryStream):
    def __init__(self, dataplane: RunningDataPlane, lane: int) -> None:
        self._dataplane = dataplane
        self._lane = lane

    def stop(self) -> TelemetryTotals:
        """Ask until all is in the file: one answer would hold up the requests of other lanes."""
        return poll(
            lambda: self._dataplane.ask(TelemetryStopped, "telemetry_stop", lane=self._lane).totals,
            WRITTEN_TIMEOUT_S,
            lambda: TargetError(
                f"data plane: the disk has not taken the postcards of lane {self._lane} within "
                f"{WRITTEN_TIMEOUT_S:g} s; use another --out, or keep fewer (telemetry.postcards)",
                repeatable=True,
            ),
        )


def dataplane_config(dataplane: DataPlane) -> JsonObject:
    """What a testbed says of the data plane, as its configuration file has it."""
    return {
        "cores": list(dataplane.cores),
        "service_core": dataplane.service_core,
        "loop": dataplane.loop,
        "huge_pages": dataplane.huge_pages,
        "memory_mb": dataplane.memory.bytes // 2**20,
        "lanes": dataplane.lanes,
        "flow_capacity": dataplane.flow_capacity,
        "queue_packets": dataplane.queue_packets,
    }
