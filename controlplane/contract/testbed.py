"""A testbed file: machine, ports, cores, target and its switch; a scenario names none of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from .model import ContractModel, Name
from .plugins import plugin_names
from .selection import KernelRelease
from .shared import CONSTANTS
from .units import Rate, Size

ChipName = Literal["tofino1", "tofino2"]
DevicePort = Annotated[int, Field(strict=True, ge=0, le=511)]
LEAST_BURST_BYTES = 4096
MAX_LANES = CONSTANTS.lanes_max
MAX_AT_ONCE = 65536
"""Trials at once, where each lane is a machine of its own: on a cluster."""
PACKET_BUFFER_BYTES = 2500
"""A packet buffer of DPDK with its headers."""
SMALL_PAGE_BYTES = 4096
"""What a packet buffer takes without huge pages: none lies across the end of a page."""
BASE_MEMORY_BYTES = 560 * 10**6
"""The data plane's tables, registers and rings of packets on their way."""
LOOP_MEMORY_BYTES = 500 * 10**6
"""The same of each further packet loop, at most: its tables may have every flow."""
MIB = 2**20
LEAST_GUEST_MEMORY_BYTES = 64 * MIB
"""Below this a guest's kernel has no memory left for sockets."""
InterfaceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]
Core = Annotated[int, Field(strict=True, ge=0, le=CONSTANTS.core_max)]
Cores = Annotated[tuple[Core, ...], Field(min_length=1, max_length=CONSTANTS.loops_max)]
VIRTUAL = "virtual"
TARGET_NAMES = ("dpdk", VIRTUAL, "bmv2", "tofino")


def _known_target(name: str) -> str:
    """Refuse a target that neither we nor a plugin has."""
    if name not in TARGET_NAMES and name not in plugin_names("targets"):
        known = [f"'{each}'" for each in (*TARGET_NAMES, *plugin_names("targets"))]
        raise ValueError(f"{name!r} is unknown; write {', '.join(known[:-1])} or {known[-1]}")
    return name


TargetName = Annotated[
    str,
    AfterValidator(_known_target),
    WithJsonSchema({"anyOf": [{"enum": list(TARGET_NAMES)}, {"type": "string"}]}),
]


class SwitchBmv2(ContractModel):
    """How simple_switch runs; each run starts it on this machine.

    Attributes:
        program: simple_switch: a name on PATH, or an absolute path.
        thrift_port: TCP port of its Thrift server, in a network namespace of the run's own.
        log_level: Its log level; anything but `off` makes it slower.
    """

    program: Annotated[str, Field(min_length=1)] = "simple_switch"
    thrift_port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 9090
    log_level: Literal["off", "error", "warn", "info", "debug", "trace"] = "off"

    @property
    def local_program(self) -> str | None:
        """The program that must be installed and is started on this machine."""
        return self.program


class SwitchPort(ContractModel):
    """A port of the switch.

    Attributes:
        port: Its D_P number (`ucli: pm show` on the switch).
        speed: Its speed.
        fec: Forward error correction; both ends of a cable must agree.
        auto_negotiation: Whether speed and FEC are negotiated.
    """

    port: DevicePort
    speed: Rate
    fec: Literal["none", "fc", "rs"] = "none"
    auto_negotiation: Literal["default", "on", "off"] = "default"


class SwitchPorts(ContractModel):
    """The switch's ports.

    Attributes:
        senders: Cabled to the data plane's `switch` port.
        receivers: Cabled to the receivers: the bottleneck's queues are here.
        telemetry: Where postcards leave; in the same pipe as `receivers`.
    """

    senders: SwitchPort
    receivers: SwitchPort
    telemetry: SwitchPort

    @property
    def numbers(self) -> tuple[int, int, int]:
        """D_P numbers of the three."""
        return self.senders.port, self.receivers.port, self.telemetry.port


class SwitchTofino(ContractModel):
    """How the switch is reached; it is running already.

    Attributes:
        grpc: Address of its BfRt gRPC server, host:port.
        device: Device number at that server.
        chip: Generation of the chip.
        program: Name under which its P4 program is loaded; by default as p4c names it.
        ports: Its ports.
        shaper_overhead: Bytes that its shapers count for each packet in addition to the frame:
            Ethernet's gap, preamble and FCS (24) and the headers that it carries inside the
            chip (26). `nashbed calibrate` detects a wrong value.
        burst: Bytes that a shaper may send at once after an idle time.
    """

    grpc: Annotated[str, Field(pattern=r"^\S+:[0-9]{1,5}$")]
    device: Annotated[int, Field(strict=True, ge=0)] = 0
    chip: ChipName = "tofino1"
    program: str = ""
    ports: SwitchPorts
    shaper_overhead: Size = Size(50)
    burst: Size = Size(LEAST_BURST_BYTES)

    @model_validator(mode="after")
    def _check(self) -> SwitchTofino:
        if len(set(self.ports.numbers)) < 3:
            raise ValueError("ports: senders, receivers and telemetry must be three ports")
        if self.ports.receivers.port >> 7 != self.ports.telemetry.port >> 7:
            raise ValueError(
                "ports.telemetry: must be in the pipe of ports.receivers (D_P numbers from a "
                "multiple of 128 on), or dropped packets cannot be reported"
            )
        if self.burst.bytes < LEAST_BURST_BYTES:
            raise ValueError(
                f"burst: {self.burst} is too small for the shapers' resolution; write at least "
                f"{LEAST_BURST_BYTES}B"
            )
        return self

    @property
    def p4_name(self) -> str:
        """Name under which the P4 program is loaded."""
        return self.program or f"bottleneck_{self.chip}"

    @property
    def local_program(self) -> str | None:
        """The program that must be installed on this machine: none."""
        return None


class VirtualPort(ContractModel):
    """A virtual port to hosts on this machine, created for the run.

    Attributes:
        driver: af_xdp and af_packet use a veth pair, tap creates an interface of its own.
    """

    driver: Literal["af_xdp", "af_packet", "tap"]


class Nic(ContractModel):
    """A NIC used by DPDK, cabled to a switch.

    Attributes:
        driver: Always `pci`.
        address: PCI address of the NIC (bound to vfio-pci).
    """

    driver: Literal["pci"]
    address: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")]


class PciPort(Nic):
    """A NIC used by DPDK, cabled to another NIC of this machine.

    Attributes:
        host_iface: The kernel's interface at the other end of the cable; during a run it is in
            the hosts' namespace.
    """

    host_iface: InterfaceName


class KernelPort(ContractModel):
    """The kernel's own NIC, cabled to a switch: no port of the data plane.

    Attributes:
        driver: Always `kernel`.
        host_iface: Its interface; during a run it is in the hosts' namespace.
    """

    driver: Literal["kernel"]
    host_iface: InterfaceName


Port = Annotated[VirtualPort | PciPort, Field(discriminator="driver")]
SwitchCable = Annotated[VirtualPort | Nic, Field(discriminator="driver")]
HostPort = Annotated[VirtualPort | PciPort | KernelPort, Field(discriminator="driver")]


class Ports(ContractModel):
    """The data plane's ports; which of them exist depends on the target.

    Attributes:
        senders: Towards the senders.
        receivers: Towards the receivers, where the data plane is the bottleneck; the receivers'
            own NIC (`kernel`), where they are cabled to a switch.
        switch: Towards the ingress of a switch that is the bottleneck.
        telemetry: Where that switch's postcards arrive.
    """

    senders: Port
    receivers: HostPort | None = None
    switch: SwitchCable | None = None
    telemetry: SwitchCable | None = None

    def present(self) -> dict[str, VirtualPort | Nic | KernelPort]:
        """The ports that there are, by name."""
        return {
            name: port
            for name in type(self).model_fields
            if (port := getattr(self, name)) is not None
        }

    def of_dataplane(self) -> dict[str, VirtualPort | Nic]:
        """The ports that the data plane opens, by name."""
        return {n: p for n, p in self.present().items() if not isinstance(p, KernelPort)}


class DataPlane(ContractModel):
    """How the data plane runs.

    Attributes:
        cores: The cores of the packet loops, one loop on each; lanes are dealt out to them in
            turns.
        service_core: The core of the data plane's other threads.
        shield: Keep all other tasks of the machine off `cores` during a run.
        loop: `poll` keeps its core busy; `sleep` waits for the next event.
        huge_pages: Use huge pages; without them it is slower, but needs no set-up.
        memory: Memory for packets, tables and rings.
        lanes: Number of lanes.
        flow_capacity: Entries of the flow table, over all lanes.
        queue_packets: Packets that all queues and delay lines together can hold; each loop has
            its part of them.
    """

    cores: Cores = (1,)
    service_core: Core = 0
    shield: bool = True
    loop: Literal["poll", "sleep"] = "poll"
    huge_pages: bool = True
    memory: Size = Size(2**30)
    lanes: Annotated[int, Field(strict=True, ge=1, le=MAX_LANES)] = MAX_LANES
    flow_capacity: Annotated[int, Field(strict=True, ge=1, le=CONSTANTS.flow_capacity_max)] = (
        CONSTANTS.flow_capacity_max
    )
    queue_packets: Annotated[
        int,
        Field(strict=True, ge=CONSTANTS.queue_packets_min, le=CONSTANTS.queue_packets_max),
    ] = 131072

    @field_validator("cores")
    @classmethod
    def _differ(cls, cores: tuple[int, ...]) -> tuple[int, ...]:
        for core in cores:
            if cores.count(core) > 1:
                raise ValueError(f"core {core} is named twice; each packet loop needs its own")
        return cores

    @model_validator(mode="after")
    def _check(self) -> DataPlane:
        if self.loops > self.lanes:
            raise ValueError(
                f"cores: {self.loops} packet loops for {self.lanes} lanes (dataplane.lanes), and "
                "a lane is one loop's; name fewer cores"
            )
        most = CONSTANTS.memory_mib_max
        if self.memory.bytes > most * 2**20 or self.memory.bytes % 2**20:
            raise ValueError(f"memory: {self.memory} must be whole MiB, up to {most // 1024}GiB")
        if self.memory.bytes < self.least_memory_bytes:
            raise ValueError(
                f"memory: {self.memory} is too small for queue_packets: {self.queue_packets}"
                f"{self._beside_loops()}; write at least {-(-self.least_memory_bytes // 2**20)}MiB"
            )
        return self

    def _beside_loops(self) -> str:
        return f" and {self.loops} packet loops" if self.loops > 1 else ""

    @property
    def loops(self) -> int:
        """Packet loops; lane L is that of loop L mod this."""
        return len(self.cores)

    @property
    def loop_packets(self) -> int:
        """Packets that the queues and delay lines of one loop's lanes can hold."""
        return self.queue_packets // self.loops

    @property
    def least_memory_bytes(self) -> int:
        """Memory that packets and tables need; measured, rounded up."""
        loops = BASE_MEMORY_BYTES + (self.loops - 1) * LOOP_MEMORY_BYTES
        return loops + self.queue_packets * PACKET_BUFFER_BYTES


class Guest(ContractModel):
    """The machine that each trial in virtual time has to itself.

    Attributes:
        kernel: Its kernel, by the beginning of a release (in quotes: "6.12"); empty: the default
            one. `make virtual` builds it.
        memory: Memory of its kernel; left out: by what the flows of a trial may need.
    """

    kernel: KernelRelease | Literal[""] = ""
    memory: Size | None = None

    @model_validator(mode="after")
    def _check(self) -> Guest:
        if self.memory is None:
            return self
        if self.memory.bytes % MIB or self.memory.bytes < LEAST_GUEST_MEMORY_BYTES:
            least = LEAST_GUEST_MEMORY_BYTES // MIB
            raise ValueError(f"memory: {self.memory} must be whole MiB, at least {least}MiB")
        return self


class Capacity(ContractModel):
    """What this testbed can carry at once with every validity gate passing.

    Attributes:
        rate: Sum of the lanes' rates.
        lanes: Trials that run at the same time.
    """

    rate: Rate
    lanes: Annotated[int, Field(strict=True, ge=1, le=MAX_AT_ONCE)]


ASSUMED_CAPACITY = Capacity(rate=Rate(600_000_000), lanes=16)
"""What a virtual machine with two cores can usually carry."""


class TapFile(ContractModel):
    """A hardware tap: one capture.

    Attributes:
        file: Its capture; `{run}` and `{trial}` are replaced, relative to the run directory.
        format: Format of its time stamps (auto: detected; file: the capture's own times).
        clock: Name of its clock; taps with the same name share a clock. Empty: its own clock.
    """

    file: Annotated[str, Field(min_length=1)]
    format: Literal["auto", "file", "exablaze", "metamako", "expcap"] = "auto"
    clock: str = ""


class TapFiles(ContractModel):
    """Hardware taps before and behind the bottleneck.

    Attributes:
        before: What is captured on the senders' side.
        behind: What is captured on the receivers' side.
    """

    before: TapFile
    behind: TapFile


Switch = SwitchBmv2 | SwitchTofino
SWITCHES: dict[str, type[SwitchBmv2] | type[SwitchTofino]] = {
    "bmv2": SwitchBmv2,
    "tofino": SwitchTofino,
}
"""Targets whose bottleneck is a switch outside the data plane -> their `switch` section."""


class Testbed(ContractModel):
    """A whole testbed file.

    Attributes:
        name: Short name.
        description: Free text.
        target: The target that is the bottleneck.
        dataplane: How the data plane runs.
        virtual: The machine of each trial, with target virtual.
        switch: The switch that is the bottleneck, with targets bmv2 and tofino.
        ports: The data plane's ports; none with target virtual.
        controls: Folder with congestion controls of the user's own, a C file each, that scenarios
            name by their files' stems; relative to this file.
        cluster: Where its trials run if not here, as `--on` takes it: a cluster file, relative to
            this file, the name of one in configs/clusters, or an address.
        capture: Hardware taps; without them `telemetry.capture: both` captures in software.
        capacity: What it can carry at once; left out: as its calibration measured, or assumed.
            With target virtual: one trial for each core, at any rate.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    name: Name
    description: str = ""
    target: TargetName = "dpdk"
    dataplane: DataPlane = DataPlane()
    virtual: Guest = Guest()
    switch: Switch | None = None
    ports: Ports | None = None
    controls: Annotated[str, Field(min_length=1)] | None = None
    cluster: Annotated[str, Field(min_length=1)] | None = None
    capture: TapFiles | None = None
    capacity: Capacity = ASSUMED_CAPACITY

    @property
    def states_capacity(self) -> bool:
        """Whether the file states its capacity."""
        return "capacity" in self.model_fields_set

    @property
    def is_virtual(self) -> bool:
        """Whether trials run in virtual time, each on a machine of its own."""
        return self.target == VIRTUAL

    @property
    def stamps_arrivals(self) -> bool:
        """Whether the kernel stamps every frame of a trial as it arrives at the data plane.

        An AF_XDP port has a program in the kernel that does; no other port has.
        """
        ports = self.cabling.of_dataplane()
        arriving = ("senders", "receivers" if self.switch is None else "switch")
        return all(ports[name].driver == "af_xdp" for name in arriving)

    @property
    def cabling(self) -> Ports:
        """The ports of a testbed that has some: of every target but virtual."""
        assert self.ports is not None, "target virtual has no ports"
        return self.ports

    @field_validator("switch", mode="before")
    @classmethod
    def _by_target(cls, section: Any, info: ValidationInfo) -> Any:
        """The target decides what the section is, so that an error is about the right keys."""
        model = SWITCHES.get(info.data.get("target", ""))
        return section if model is None else model.model_validate(section)

    @model_validator(mode="after")
    def _check(self) -> Testbed:
        if self.capacity.lanes > self.dataplane.lanes:
            raise ValueError(
                f"capacity.lanes: {self.capacity.lanes} is more than the data plane's "
                f"{self.dataplane.lanes} lanes (dataplane.lanes)"
            )
        if self.is_virtual:
            self._refuse_hardware()
            return self
        if "virtual" in self.model_fields_set:
            raise ValueError(f"virtual: target {self.target} runs in real time; remove it")
        self._check_switch()
        self._check_ports()
        self._check_loops()
        return self

    def _refuse_hardware(self) -> None:
        for key in ("ports", "dataplane", "switch", "capture"):
            if key in self.model_fields_set:
                raise ValueError(
                    f"{key}: target {self.target} has none, for every trial has a machine of its "
                    "own; remove it"
                )

    def _check_switch(self) -> None:
        if self.switch is not None and self.target not in SWITCHES:
            raise ValueError(f"switch: target {self.target} has no switch of its own; remove it")
        if self.target not in SWITCHES:
            return
        if self.switch is None:
            raise ValueError(
                f"key 'switch' is missing; target {self.target} needs it, see configs/testbeds/"
            )
        if not self.states_capacity:
            raise ValueError(
                f"key 'capacity' is missing; it is not measured with target {self.target}: write "
                "what the switch and its hosts carry, e.g. {rate: 1gbit, lanes: 2}"
            )

    def _check_ports(self) -> None:
        if self.ports is None:
            raise ValueError(
                f"key 'ports' is missing; add it: target {self.target} has ports "
                f"{', '.join(self._needed_ports())}"
            )
        needed, present = set(self._needed_ports()), set(self.ports.present())
        for name in sorted(needed - present):
            raise ValueError(
                f"ports: key '{name}' is missing; add it: target {self.target} has ports "
                f"{', '.join(self._needed_ports())}"
            )
        for name in sorted(present - needed):
            raise ValueError(
                f"ports.{name}: target {self.target} does not use this port; remove it"
            )
        self._check_drivers()

    def _check_loops(self) -> None:
        """Each packet loop has a device of its own at every port."""
        loops = self.dataplane.loops
        if loops == 1:
            return
        if self.switch is not None:
            raise ValueError(
                f"dataplane.cores: {loops} packet loops, but one cable leads to the switch of "
                f"target {self.target}; name one core"
            )
        for name, port in self.cabling.of_dataplane().items():
            if isinstance(port, Nic):
                raise ValueError(
                    f"dataplane.cores: {loops} packet loops, and each needs a NIC of its own, but "
                    f"ports.{name} is a single one; name one core"
                )

    def _needed_ports(self) -> tuple[str, ...]:
        if self.switch is None:
            return ("senders", "receivers")
        if self.switch.local_program is None:
            return ("senders", "switch", "telemetry", "receivers")
        return ("senders", "switch", "telemetry")

    def _check_drivers(self) -> None:
        """What each port must be for the program or the cable at its other end."""
        ports = self.cabling.present()
        if "receivers" in ports and isinstance(ports["receivers"], KernelPort) != bool(self.switch):
            write = "'kernel': the NIC is cabled to the switch" if self.switch else "another driver"
            raise ValueError(f"ports.receivers.driver: with target {self.target} write {write}")
        if self.switch is None or self.switch.local_program is None:
            return
        for name in ("switch", "telemetry"):
            if ports[name].driver not in ("af_packet", "af_xdp"):
                raise ValueError(
                    f"ports.{name}.driver: {ports[name].driver!r} cannot reach "
                    f"{self.switch.local_program} on this machine; write 'af_packet' or 'af_xdp'"
                )
