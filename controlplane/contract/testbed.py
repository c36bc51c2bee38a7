"""A testbed file: which machine, ports, cores and target. A scenario never says this."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .model import Model
from .scenario import Name
from .units import Rate, Size

MAX_LANES = 64
PACKET_BUFFER_BYTES = 2500
"""A packet buffer of DPDK with its headers."""
BASE_MEMORY_BYTES = 560 * 10**6
"""The data plane's tables, registers and rings of packets on their way."""
InterfaceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]
Core = Annotated[int, Field(strict=True, ge=0, le=1023)]


class VirtualPort(Model):
    """A port towards hosts on this machine, made for the run.

    Attributes:
        driver: af_xdp and af_packet work on a veth pair, tap makes its own interface.
    """

    driver: Literal["af_xdp", "af_packet", "tap"]


class PciPort(Model):
    """A NIC given to DPDK, cabled to another NIC of this machine.

    Attributes:
        driver: Always `pci`.
        address: PCI address of the NIC that DPDK takes (bound to vfio-pci).
        host_iface: The kernel's interface at the other end of the cable; it is moved into
            the hosts' namespace for the run.
    """

    driver: Literal["pci"]
    address: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")]
    host_iface: InterfaceName


Port = Annotated[VirtualPort | PciPort, Field(discriminator="driver")]


class Ports(Model):
    """The data plane's two ports."""

    senders: Port
    receivers: Port


class DataPlane(Model):
    """How the data plane runs.

    Attributes:
        core: The core of the packet loop.
        service_core: The core of everything else of the data plane.
        shield: Keep every other task of the machine off `core` while a run lasts.
        loop: `poll` keeps its core busy; `sleep` waits for the next event.
        huge_pages: False runs without huge pages (slower, no set-up).
        memory: Memory for packets, tables and rings.
        lanes: Lanes that are laid out.
        flow_capacity: Entries of the flow table, over all lanes.
        queue_packets: Packets that all queues and delay lines hold together.
    """

    core: Core = 1
    service_core: Core = 0
    shield: bool = True
    loop: Literal["poll", "sleep"] = "poll"
    huge_pages: bool = True
    memory: Size = Size(2**30)
    lanes: Annotated[int, Field(strict=True, ge=1, le=MAX_LANES)] = MAX_LANES
    flow_capacity: Annotated[int, Field(strict=True, ge=1, le=65536)] = 65536
    queue_packets: Annotated[int, Field(strict=True, ge=1024, le=2**24)] = 131072

    @model_validator(mode="after")
    def _check(self) -> DataPlane:
        if self.memory.bytes > 2**40 or self.memory.bytes % 2**20:
            raise ValueError(f"memory: {self.memory} must be whole MiB, up to 1024GiB")
        if self.memory.bytes < self.least_memory_bytes:
            raise ValueError(
                f"memory: {self.memory} does not hold queue_packets: {self.queue_packets}; write "
                f"at least {-(-self.least_memory_bytes // 2**20)}MiB"
            )
        return self

    @property
    def least_memory_bytes(self) -> int:
        """What packets and tables need; measured, rounded up."""
        return BASE_MEMORY_BYTES + self.queue_packets * PACKET_BUFFER_BYTES


class Capacity(Model):
    """What this testbed carries at once without spoiling measurements.

    Attributes:
        rate: Sum of the lanes' rates.
        lanes: Trials side by side.
    """

    rate: Rate
    lanes: Annotated[int, Field(strict=True, ge=1, le=MAX_LANES)]


class Testbed(Model):
    """A whole testbed file.

    Attributes:
        name: Short name.
        description: Free text.
        target: Which target adapter drives it.
        dataplane: How the data plane runs.
        ports: The two ports.
        capacity: What it carries at once.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    name: Name
    description: str = ""
    target: Literal["dpdk"] = "dpdk"
    dataplane: DataPlane = DataPlane()
    ports: Ports
    capacity: Capacity

    @model_validator(mode="after")
    def _check(self) -> Testbed:
        if self.capacity.lanes > self.dataplane.lanes:
            raise ValueError(
                f"capacity.lanes: {self.capacity.lanes} is more than the data plane's "
                f"{self.dataplane.lanes} lanes (dataplane.lanes)"
            )
        return self
