"""The dpdk target: nashbed-dataplane is the bottleneck itself."""

from pathlib import Path
from typing import Any

from ..contract.messages.dataplane import (
    Done,
    Hello,
)
from ..contract.model import JsonObject
from ..contract.shared import CONSTANTS
from ..contract.target import (
    EVERY_LANE,
    Applied,
    Capabilities,
    Lane,
    LaneProgram,
)
from ..contract.testbed import BASE_MEMORY_BYTES, SMALL_PAGE_BYTES, DataPlane
from .base import DataPlaneHost
from .dataplane import DataPlaneTarget, RunningDataPlane, dataplane_config, launcher

MIN_REPLAY_PACKETS = 8192
MAX_REPLAY_PACKETS = 2**20


class DpdkTarget(DataPlaneTarget):
    """nashbed-dataplane on a machine."""

    def __init__(
        self, host: DataPlaneHost, settings: DataPlane, arrival_stamps: bool = False
    ) -> None:
        self._dataplane = RunningDataPlane(host, launcher(host))
        self._settings = settings
        self._stamps = arrival_stamps

    def capabilities(self) -> Capabilities:
        """Exact in bytes, packets and cells; the testbed says how fast the machine is."""
        return dpdk_capabilities(self._settings, self._stamps)

    def load(self, artefact: Path) -> Hello:
        """Start the data plane with a .spec and wait until its socket answers."""
        return self._dataplane.start({"spec": str(artefact), **dataplane_config(self._settings)})

    def program(self, lane: LaneProgram) -> Applied:
        """Program rate, limit, delay lines and flow table of a lane."""
        return self._dataplane.set_lane(lane)

    def _running(self, what: str) -> RunningDataPlane:
        return self._dataplane

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """Empty a lane and zero its registers."""
        self._dataplane.ask(Done, "reset", lane=lane, flows=[first_flow, flows])

    def close(self) -> None:
        """Ask the data plane to end; when it does not, end it."""
        self._dataplane.close()


def dpdk_capabilities(dataplane: DataPlane, arrival_stamps: bool = False) -> Capabilities:
    """What the dpdk target can do.

    Args:
        arrival_stamps: Whether its ports stamp arrivals.
    """
    return software_capabilities(
        target="dpdk",
        lanes=dataplane.lanes,
        flows=dataplane.flow_capacity,
        memory_bytes=dataplane.memory.bytes // 2,
        arrival_stamps=arrival_stamps,
        loop_polls=dataplane.loop == "poll",
        verified_on="software: kernel TCP through virtual ports; emulated PCI NICs",
    )


def software_capabilities(memory_bytes: int, **others: Any) -> Capabilities:
    """What our data plane can do wherever it runs.

    Args:
        memory_bytes: The largest buffer that there is memory for.
        others: What depends on where it runs.
    """
    return Capabilities(
        lane=EVERY_LANE,
        max_rate_bps=CONSTANTS.rate_bps_max,
        max_buffer_bytes=min(CONSTANTS.limit_max, memory_bytes),
        traffic_manager="our C block, byte-exact",
        limit_detail="bytes, packets or cells",
        **others,
    )


def replay_config(spec: Path, bottleneck: Lane) -> JsonObject:
    """The data plane's configuration file for a replay: no ports, no socket.

    It has buffers for a queue full of the smallest packets, within reason.
    """
    limit = bottleneck.limit
    smallest = CONSTANTS.frame_bytes_min
    packets = limit.value if limit.unit == "packets" else limit.in_bytes // smallest
    buffers = min(MAX_REPLAY_PACKETS, max(MIN_REPLAY_PACKETS, 2 * packets))
    return {
        "spec": str(spec),
        "huge_pages": False,
        "queue_packets": buffers,
        "memory_mb": (BASE_MEMORY_BYTES + buffers * SMALL_PAGE_BYTES) // 2**20,
        "bottleneck": bottleneck.told(),
    }
