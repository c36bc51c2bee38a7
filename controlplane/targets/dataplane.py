"""A running nashbed-dataplane and its control socket: what both of its roles share."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TypeVar

from ..contract.errors import TargetError
from ..contract.lane import LaneProgram, TelemetryPlan
from ..contract.messages import Done, Hello, Message, TelemetryTotals, read_message
from ..contract.testbed import DataPlane
from .base import TelemetryStream
from .client import ControlClient
from .host import DataPlaneHost, TargetProcess

READY_TIMEOUT_S = 60.0

Answer = TypeVar("Answer", bound=Message)


class RunningDataPlane:
    """nashbed-dataplane on a machine, from its start to its end.

    Args:
        host: The machine.
    """

    def __init__(self, host: DataPlaneHost) -> None:
        self._host = host
        self._process: TargetProcess | None = None
        self._client: ControlClient | None = None

    def start(self, content: dict[str, Any]) -> Hello:
        """Start it with a configuration, wait until its socket answers; returns its hello.

        Args:
            content: Its configuration but for the control socket.
        """
        socket_path = self._host.scratch / "control.sock"
        config = self._host.scratch / "dataplane.json"
        content = content | {"control_socket": str(socket_path), "ports": self._host.ports()}
        config.write_text(json.dumps(content, indent=1) + "\n")
        self._process = self._host.start_dataplane(config)
        self._process.wait_event("ready", READY_TIMEOUT_S)
        self._client = ControlClient(socket_path)
        return self.ask(Hello, "hello")

    def set_delays(self, lane: LaneProgram) -> None:
        """Program a lane's delay lines."""
        for group, delay in enumerate(lane.delays):
            self.ask(Done, "delay", lane=lane.lane, group=group, **asdict(delay))

    def start_telemetry(
        self, lane: int, plan: TelemetryPlan, start_ns: int | None = None
    ) -> TelemetryStream:
        """Have a lane's postcards written to a file.

        Args:
            lane: The lane.
            plan: How they are recorded.
            start_ns: A time on the postcards' clock before which no packet arrives; None: now,
                where that clock is the data plane's own.
        """
        start = {} if start_ns is None else {"start_ns": start_ns}
        self.ask(
            Done,
            "telemetry",
            lane=lane,
            mode=plan.mode,
            n=plan.n,
            bin_ns=plan.bin_ns,
            path=str(plan.path),
            flows=[plan.first_flow, plan.flows],
            **start,
        )
        return _Stream(self, lane)

    def close(self) -> None:
        """Ask it to end; when it does not, end it. Safe to call twice."""
        process, client = self._process, self._client
        self._process = self._client = None
        try:
            if client is not None and process is not None and not client.is_broken:
                client.call("shutdown")
                process.wait_exit(10.0)
        finally:
            if client is not None:
                client.close()
            if process is not None:
                process.stop()

    def ask(self, answer: type[Answer], op: str, **arguments: Any) -> Answer:
        """A request and its answer.

        Args:
            answer: What is answered.
            op: The operation.
            arguments: Its arguments.

        Raises:
            TargetError: It refused, gave another answer, or has died; that with its last words.
        """
        if self._client is None or self._process is None:
            raise TargetError(f"data plane: {op}: it is not loaded")
        try:
            return read_message(answer, self._client.call(op, **arguments), f"data plane: {op}")
        except TargetError as error:
            if self._client.is_broken:
                raise self._process.failure(f"failed: {error.message}") from error
            raise


class _Stream(TelemetryStream):
    def __init__(self, dataplane: RunningDataPlane, lane: int) -> None:
        self._dataplane = dataplane
        self._lane = lane

    def stop(self) -> TelemetryTotals:
        return self._dataplane.ask(TelemetryTotals, "telemetry_stop", lane=self._lane)


def dataplane_config(dataplane: DataPlane) -> dict[str, Any]:
    """What a testbed says of the data plane, as its configuration file has it."""
    return {
        "core": dataplane.core,
        "service_core": dataplane.service_core,
        "loop": dataplane.loop,
        "huge_pages": dataplane.huge_pages,
        "memory_mb": dataplane.memory.bytes // 2**20,
        "lanes": dataplane.lanes,
        "flow_capacity": dataplane.flow_capacity,
        "queue_packets": dataplane.queue_packets,
    }
