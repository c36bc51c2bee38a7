"""The dpdk target: an adapter for nashbed-dataplane and its control socket."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from ..contract.errors import TargetError
from ..contract.target import Applied, BottleneckProgram, Capabilities
from ..contract.testbed import BASE_MEMORY_BYTES, PACKET_BUFFER_BYTES, DataPlane
from . import answers
from .answers import limit_bytes
from .base import (
    Counters,
    LaneProgram,
    Target,
    TelemetryPlan,
    TelemetryStream,
    TelemetryTotals,
)
from .client import ControlClient

READY_TIMEOUT_S = 60.0
ENTRIES_PER_CALL = 512
MAX_LIMIT = 2**32 - 1
MAX_RATE_BPS = 100 * 10**9
SMALLEST_PACKET = 60
MIN_REPLAY_PACKETS = 8192
MAX_REPLAY_PACKETS = 2**20


class DataPlaneProcess(Protocol):
    """The running data plane, as much of it as the adapter needs."""

    def wait_event(self, event: str, timeout_s: float) -> dict[str, Any]:
        """Wait for a JSON line on its standard output."""

    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end."""

    def stop(self) -> None:
        """End it."""

    def failure(self, problem: str) -> Exception:
        """An error that quotes its last words."""


class DataPlaneHost(Protocol):
    """The machine that the data plane runs on, as much of it as the adapter needs."""

    @property
    def scratch(self) -> Path:
        """Where its configuration file and control socket go."""

    def ports(self) -> dict[str, dict[str, Any]]:
        """Its ports, as its configuration file has them."""

    def start_dataplane(self, config: Path) -> DataPlaneProcess:
        """Start it with a configuration file."""


class DpdkTarget(Target):
    """nashbed-dataplane on a machine.

    Args:
        host: The machine.
        dataplane: How it is to run.
    """

    def __init__(self, host: DataPlaneHost, dataplane: DataPlane) -> None:
        self._host = host
        self._dataplane = dataplane
        self._process: DataPlaneProcess | None = None
        self._client: ControlClient | None = None

    def capabilities(self) -> Capabilities:
        """Exact in bytes, packets and cells; the machine's speed is the testbed's matter."""
        return dpdk_capabilities(self._dataplane)

    def load(self, artefact: Path) -> dict[str, Any]:
        """Start the data plane with a .spec and wait until its socket answers."""
        socket_path = self._host.scratch / "control.sock"
        config = self._host.scratch / "dataplane.json"
        content = dataplane_config(self._dataplane, self._host.ports(), artefact, socket_path)
        config.write_text(json.dumps(content, indent=1) + "\n")
        self._process = self._host.start_dataplane(config)
        self._process.wait_event("ready", READY_TIMEOUT_S)
        self._client = ControlClient(socket_path)
        hello = self._call("hello")
        for key in ("pid", "epoch_ns", "lanes", "flow_capacity", "postcard_bytes"):
            answers.whole(hello, key)
        return {key: value for key, value in hello.items() if key != "ok"}

    def program(self, lane: LaneProgram) -> Applied:
        """Program rate, limit, delay lines and flow table of a lane."""
        answer = self._call("program", lane=lane.lane, **lane.bottleneck.model_dump())
        applied = answers.mapping(answer, "applied")
        for group, delay in enumerate(lane.delays):
            self._call("delay", lane=lane.lane, group=group, **asdict(delay))
        for first in range(0, len(lane.flows), ENTRIES_PER_CALL):
            entries = [asdict(entry) for entry in lane.flows[first : first + ENTRIES_PER_CALL]]
            self._call("flows", lane=lane.lane, entries=entries)
        limit = answers.limit(applied)
        return Applied(
            rate_bps=answers.whole(applied, "rate_bps"),
            limit=limit,
            buffer_bytes=limit_bytes(limit),
            overhead_bytes=answers.whole(applied, "overhead_bytes"),
        )

    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> TelemetryStream:
        """Have a lane's postcards written to a file."""
        self._call(
            "telemetry",
            lane=lane,
            mode=plan.mode,
            n=plan.n,
            bin_ns=plan.bin_ns,
            path=str(plan.path),
            flows=[plan.first_flow, plan.flows],
        )
        return _Stream(self, lane)

    def stop_telemetry(self, lane: int) -> TelemetryTotals:
        """Stop a lane's postcards; see TelemetryStream."""
        return answers.totals(self._call("telemetry_stop", lane=lane))

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """Read a lane's registers and the shared counters."""
        own = self._call("counters", lane=lane, flows=[first_flow, flows])
        shared = self._call("stats")
        return Counters(
            flows=answers.flow_registers(own, flows),
            lane=answers.lane_registers(own),
            shared={key: value for key, value in shared.items() if key != "ok"},
        )

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Empty a lane and zero its registers."""
        self._call("reset", lane=lane, flows=[first_flow, flows])

    def close(self) -> None:
        """Ask the data plane to end; when it does not, end it."""
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

    def _call(self, op: str, **arguments: Any) -> dict[str, Any]:
        if self._client is None or self._process is None:
            raise TargetError(f"data plane: {op}: it is not loaded")
        try:
            return self._client.call(op, **arguments)
        except TargetError as error:
            if self._client.is_broken:
                raise self._process.failure(f"failed: {error.message}") from error
            raise


class _Stream(TelemetryStream):
    def __init__(self, target: DpdkTarget, lane: int) -> None:
        self._target = target
        self._lane = lane

    def stop(self) -> TelemetryTotals:
        return self._target.stop_telemetry(self._lane)


def dpdk_capabilities(dataplane: DataPlane) -> Capabilities:
    """What the dpdk target can do with these data-plane settings."""
    return Capabilities(
        target="dpdk",
        lanes=dataplane.lanes,
        flows=dataplane.flow_capacity,
        limit_units=("bytes", "packets", "cells"),
        max_rate_bps=MAX_RATE_BPS,
        max_buffer_bytes=min(MAX_LIMIT, dataplane.memory.bytes // 2),
        postcards=("all", "sample", "bins"),
    )


def dataplane_config(
    dataplane: DataPlane, ports: dict[str, dict[str, Any]], spec: Path, control_socket: Path
) -> dict[str, Any]:
    """The data plane's configuration file."""
    return {
        "spec": str(spec),
        "control_socket": str(control_socket),
        "core": dataplane.core,
        "service_core": dataplane.service_core,
        "loop": dataplane.loop,
        "huge_pages": dataplane.huge_pages,
        "memory_mb": dataplane.memory.bytes // 2**20,
        "lanes": dataplane.lanes,
        "flow_capacity": dataplane.flow_capacity,
        "queue_packets": dataplane.queue_packets,
        "ports": ports,
    }


def replay_config(spec: Path, bottleneck: BottleneckProgram) -> dict[str, Any]:
    """The data plane's configuration file for a replay: no ports, no socket.

    Room for a queue full of the smallest packets, as far as that is reasonable.
    """
    limit = bottleneck.limit
    packets = limit.value if limit.unit == "packets" else limit_bytes(limit) // SMALLEST_PACKET
    room = min(MAX_REPLAY_PACKETS, max(MIN_REPLAY_PACKETS, 2 * packets))
    return {
        "spec": str(spec),
        "huge_pages": False,
        "queue_packets": room,
        "memory_mb": (BASE_MEMORY_BYTES + room * PACKET_BUFFER_BYTES) // 2**20,
        "bottleneck": bottleneck.model_dump(),
    }
