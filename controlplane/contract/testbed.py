"""A testbed file: which machine, ports, cores and target. A scenario never says this."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .model import Model
from .scenario import Name
from .units import Rate, Size

MAX_LANES = 64
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
        memory: Packet memory.
        lanes: Lanes that are laid out.
        flow_capacity: Entries of the flow table, over all lanes.
        queue_packets: Packets that all queues and delay lines hold together.
    """

    core: Core = 1
    service_core: Core = 0
    shield: bool = True
    loop: Literal["poll", "sleep"] = "poll"
    huge_pages: bool = True
    memory: Size = Size(512 * 2**20)
    lanes: Annotated[int, Field(strict=True, ge=1, le=MAX_LANES)] = MAX_LANES
    flow_capacity: Annotated[int, Field(strict=True, ge=1, le=65536)] = 65536
    queue_packets: Annotated[int, Field(strict=True, ge=1024, le=2**24)] = 262144

    @model_validator(mode="after")
    def _check(self) -> DataPlane:
        if not 64 * 2**20 <= self.memory.bytes <= 2**40 or self.memory.bytes % 2**20:
            raise ValueError(f"memory: {self.memory} must be whole MiB, from 64MiB to 1024GiB")
        return self


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
