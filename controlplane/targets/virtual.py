"""The virtual target: our data plane inside a guest, a machine whose time is computed.

Every programming boots a guest of its own, so that a trial depends on nothing before it: on what
it is asked to be, its seed and its kernel alone.
"""

from functools import partial
from pathlib import Path
from typing import TypeGuard

from ..contract.errors import InternalError, TargetError
from ..contract.messages.dataplane import Hello
from ..contract.shared import CONSTANTS
from ..contract.strategy import ModuleParameters
from ..contract.target import Applied, Capabilities, LaneProgram, TimeBounds
from ..contract.testbed import (
    BASE_MEMORY_BYTES,
    MAX_LANES,
    MIB,
    SMALL_PAGE_BYTES,
    DataPlane,
)
from ..contract.units import Size, bytes_in_flight
from ..plan.estimates import guest_packets
from .base import DataPlaneSite, GuestHost, TargetHost
from .dataplane import DataPlaneTarget, RunningDataPlane, dataplane_config
from .dpdk import software_capabilities

TCP = 6
MAX_BUFFER_BYTES = 512 * MIB
"""A full queue of this takes 5.8 GB of packet buffers, for each trial that runs."""
PROBE_PACKETS = 65536
"""Packet buffers for what a calibration has in delay lines."""
MOST_PROBE_PACKETS = 196_608
"""Those of a calibration at most, as of the shipped testbed in real time: its loads are short, and
each buffer is touched when a guest boots."""
DELAY_NS = 4 * 256
"""A probe's round trip has the base RTT and two to four readings of the clock, 256 ns each."""
RATE_PERCENT = 1e-6
SAMPLING_NS = 1_000_000
"""What a sampling tick may be late on average. Only readings of the clock delay it, 256 ns each:
its own, and those of the sink where it reads its flows at the same instant (measured with 50
flows: 12 to 35 us)."""


class VirtualTarget(DataPlaneTarget):
    """The data plane in guests of a machine, one guest at a time."""

    def __init__(self, host: GuestHost) -> None:
        self._host = host
        self._artefact: Path | None = None
        self._guest: RunningDataPlane | None = None

    def capabilities(self) -> Capabilities:
        """Exact in everything; lanes are machines of their own."""
        return virtual_capabilities()

    def load(self, artefact: Path) -> Hello:
        """Boot a guest with a .spec, ask what it runs, and end it."""
        self._artefact = artefact
        try:
            return self._boot(smallest_dataplane(), seed=0, kernel="", module_parameters={})
        finally:
            self.close()

    def program(self, lane: LaneProgram) -> Applied:
        """Boot a guest by the lane's seed and kernel, and program its bottleneck."""
        self.close()
        self._boot(guest_dataplane(lane), lane.seed, lane.kernel, lane.module_parameters)
        return self._running("program").set_lane(lane)

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """End the guest: the next programming boots another one."""
        self.close()

    def close(self) -> None:
        """End the guest, if there is one."""
        guest, self._guest = self._guest, None
        if guest is not None:
            guest.close()

    def _boot(
        self, dataplane: DataPlane, seed: int, kernel: str, module_parameters: ModuleParameters
    ) -> Hello:
        if self._artefact is None:
            raise TargetError("guest: the target is not loaded")
        boot = partial(
            self._host.boot, seed=seed, kernel=kernel, module_parameters=module_parameters
        )
        self._guest = RunningDataPlane(self._host, boot)
        return self._guest.start({"spec": str(self._artefact), **dataplane_config(dataplane)})

    def _running(self, what: str) -> RunningDataPlane:
        if self._guest is None:
            raise TargetError(f"guest: {what}: no lane is programmed")
        return self._guest


def virtual_target(host: TargetHost) -> VirtualTarget:
    """The target on a machine that boots guests."""
    if not _boots_guests(host):
        raise InternalError(f"{type(host).__name__} boots no guests; target virtual needs one")
    return VirtualTarget(host)


def _boots_guests(host: DataPlaneSite) -> TypeGuard[GuestHost]:
    """Whether a machine boots guests; asks its class, for it need not be open yet."""
    return callable(getattr(type(host), "boot", None))


def virtual_capabilities() -> Capabilities:
    """What the virtual target can do; rates are limited by patience alone."""
    return software_capabilities(
        target="virtual",
        lanes=MAX_LANES,
        flows=CONSTANTS.flow_capacity_max,
        memory_bytes=MAX_BUFFER_BYTES,
        isolated=True,
        repeatable=True,
        virtual_time=True,
        time_bounds=TimeBounds(
            departure_ns=0,
            loop_gap_ns=0,
            sampling_ns=SAMPLING_NS,
            delay_ns=DELAY_NS,
            rate_percent=RATE_PERCENT,
        ),
        verified_on="software: kernel TCP in User-Mode Linux, in virtual time",
    )


def guest_dataplane(lane: LaneProgram) -> DataPlane:
    """The data plane of a guest: as much memory as the lane can fill, and no more."""
    protocols = {flow.proto for flow in lane.flows}
    full_sized = tcp_packets(lane) if TCP in protocols else 0
    small = probe_packets(lane) if protocols != {TCP} else 0
    packets = max(full_sized, small)
    return _sized(packets, lane.first_flow + len(lane.flows))


def tcp_packets(lane: LaneProgram) -> int:
    """Packet buffers for what queue and delay lines can hold, in full-sized packets."""
    longest_ns = max(each.forward_ns + each.reverse_ns for each in lane.delays)
    asked = lane.bottleneck
    held_bytes = max(asked.limit.in_bytes, *(state.limit_bytes for state in asked.changes), 0)
    if asked.back is not None:
        held_bytes += asked.back.limit.in_bytes
    return guest_packets(held_bytes + bytes_in_flight(asked.most_rate_bps, longest_ns))


def probe_packets(lane: LaneProgram) -> int:
    """A queue of the smallest packets; those in the delay lines go by the load, not by the rate."""
    limit = lane.bottleneck.limit
    smallest = CONSTANTS.frame_bytes_min
    queued = limit.value if limit.unit == "packets" else limit.in_bytes // smallest
    return min(MOST_PROBE_PACKETS, queued + PROBE_PACKETS)


def smallest_dataplane() -> DataPlane:
    """The data plane of a guest that carries no packet."""
    return _sized(CONSTANTS.queue_packets_min, flows=1)


def _sized(packets: int, flows: int) -> DataPlane:
    """Cores are no matter of a guest, which has one processor, and no huge pages."""
    packets = min(packets, CONSTANTS.queue_packets_max)
    memory_bytes = BASE_MEMORY_BYTES + packets * SMALL_PAGE_BYTES
    return DataPlane(
        cores=(0,),
        service_core=0,
        shield=False,
        huge_pages=False,
        memory=Size(-(-memory_bytes // MIB) * MIB),
        lanes=1,
        flow_capacity=flows,
        queue_packets=packets,
    )
