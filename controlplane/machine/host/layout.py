"""The hosts of a run: two network namespaces with interfaces, and one for the data plane.

    <run>-snd: nbs0 <--veth--> nbs1 :<run>-dp: nbr1 <--veth--> nbr0 :<run>-rcv

Each packet loop has such a pair on either side, and lanes of its own, whose addresses and routes
are at these interfaces: the second loop has nbs2 to nbs3 and nbr3 to nbr2, and so on.

Where a switch program on this machine is the bottleneck, it has a namespace too:

    <run>-snd: nbs0 <-> nbs1 :<run>-dp: nbi1 <-> nbi0 :<run>-sw: nbr1 <-> nbr0 :<run>-rcv
                                        nbt1 <-> nbt0   (postcards)

Names, addresses and settings are those that hosts/dpdk/README.md lists.
"""

from dataclasses import dataclass
from typing import Literal

from ...contract.shared import CONSTANTS
from ...contract.testbed import KernelPort, PciPort, Testbed, VirtualPort

Side = Literal["snd", "rcv"]
SIDES: tuple[Side, Side] = ("snd", "rcv")
PORTS: dict[Side, str] = {"snd": "senders", "rcv": "receivers"}
"""Side -> the testbed's port at the other end of its cable."""
MTU = CONSTANTS.frame_bytes_max - CONSTANTS.ethernet_bytes
"""What the hosts send at most."""
NIC_MTU = MTU + CONSTANTS.trailers_bytes_max
"""What a NIC must take: frames come with the trailers of taps, and a longer one vanishes."""


@dataclass(frozen=True)
class HostSide:
    """One side's namespace and its interface towards one packet loop.

    Attributes:
        peer: The other end of its veth pair; empty where it has none.
        peer_namespace: The namespace of that end.
        port: The testbed's port; None where the other end is a switch program's.
        mac: Address given to the interface; empty: it keeps its own.
    """

    side: Side
    loop: int
    namespace: str
    interface: str
    peer: str
    peer_namespace: str
    port: VirtualPort | PciPort | KernelPort | None
    mac: str

    @property
    def mtu(self) -> int:
        """MTU of the interface."""
        return NIC_MTU if self.is_nic else MTU

    @property
    def is_nic(self) -> bool:
        """Whether the interface is a NIC of this machine, not one that the run makes."""
        return isinstance(self.port, PciPort | KernelPort)


@dataclass(frozen=True)
class Cable:
    """A veth pair between the data plane and a switch program.

    Attributes:
        port: The data plane's port.
        dp: Its end at the data plane.
        switch: Its end at the switch.
    """

    port: str
    dp: str
    switch: str


CABLES = (Cable("switch", "nbi1", "nbi0"), Cable("telemetry", "nbt1", "nbt0"))


@dataclass(frozen=True)
class Layout:
    """Names of everything that a run creates.

    Attributes:
        switch: The switch program's namespace; empty where there is none on this machine.
        senders: The senders' side, for each packet loop.
        receivers: The receivers' side, for each packet loop.
        cores: Cores for everything but the packet loops.
    """

    dp: str
    switch: str
    senders: tuple[HostSide, ...]
    receivers: tuple[HostSide, ...]
    loop_cores: tuple[int, ...]
    cores: tuple[int, ...]
    lanes: int
    groups: int

    @property
    def sides(self) -> tuple[HostSide, ...]:
        """Both sides, for each packet loop."""
        return (*self.senders, *self.receivers)

    @property
    def hosts(self) -> dict[Side, str]:
        """Each side's namespace."""
        return {"snd": self.senders[0].namespace, "rcv": self.receivers[0].namespace}

    def lanes_of(self, loop: int) -> range:
        """The lanes of a packet loop (hosts/dpdk/path/lane_share.h)."""
        return range(loop, self.lanes, len(self.loop_cores))

    def at_lane(self, side: Side, lane: int) -> HostSide:
        """The side of the packet loop that has a lane."""
        return (self.senders if side == "snd" else self.receivers)[lane % len(self.loop_cores)]

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces."""
        names = (*self.hosts.values(), self.dp, self.switch)
        return tuple(name for name in names if name)

    @property
    def cables(self) -> tuple[Cable, ...]:
        """Veth pairs between data plane and switch program."""
        return CABLES if self.switch else ()

    @property
    def interfaces(self) -> list[tuple[str, str]]:
        """Every interface between senders and receivers, behind its namespace."""
        found = []
        for side in self.sides:
            found.append((side.namespace, side.interface))
            if side.peer:
                found.append((side.peer_namespace, side.peer))
        for cable in self.cables:
            found += [(self.dp, cable.dp), (self.switch, cable.switch)]
        return found

    @property
    def switch_interfaces(self) -> tuple[str, ...]:
        """The switch program's interfaces, in the order of its ports."""
        inlet, telemetry = CABLES
        return (inlet.switch, self.receivers[0].peer, telemetry.switch)

    def receive_cores(self, side: HostSide) -> tuple[int, ...]:
        """Cores on which the kernel does the receive work of a side's frames.

        They are those that no packet loop uses. Where that is one core only, it is full of both
        hosts' TCP long before a loop's is, so the receivers' half of it is done on the loop's core,
        as part of sending a frame (hosts/dpdk/README.md has what that gives).
        """
        sent_by_loop = side.peer_namespace == self.dp
        if side.side == "rcv" and sent_by_loop and len(self.cores) == 1:
            return (self.loop_cores[side.loop],)
        return self.cores


def make_layout(run_id: str, testbed: Testbed, cores: int, lanes: int, groups: int) -> Layout:
    """Lay a run out.

    Args:
        run_id: Four hexadecimal digits.
        testbed: Says which ports and which cores.
        cores: Number of cores of this machine.
    """
    loop_cores = testbed.dataplane.cores
    others = tuple(core for core in range(cores) if core not in loop_cores)
    local_switch = testbed.switch is not None and testbed.switch.local_program is not None
    dp, switch = f"nb{run_id}-dp", f"nb{run_id}-sw" if local_switch else ""
    ports = testbed.cabling
    return Layout(
        dp=dp,
        switch=switch,
        senders=_sides("snd", run_id, ports.senders, dp, len(loop_cores)),
        receivers=_sides("rcv", run_id, ports.receivers, switch or dp, len(loop_cores)),
        loop_cores=loop_cores,
        # Where loops that sleep have every core, the hosts share them.
        cores=others or tuple(range(cores)),
        lanes=lanes,
        groups=groups,
    )


def _sides(
    side: Side,
    run_id: str,
    port: VirtualPort | PciPort | KernelPort | None,
    beyond: str,
    loops: int,
) -> tuple[HostSide, ...]:
    letter, number = ("s", 1) if side == "snd" else ("r", 2)
    namespace = f"nb{run_id}-{side}"
    if isinstance(port, PciPort | KernelPort):
        return (HostSide(side, 0, namespace, port.host_iface, "", "", port, ""),)
    has_peer = port is None or port.driver != "tap"
    return tuple(
        HostSide(
            side=side,
            loop=loop,
            namespace=namespace,
            interface=f"nb{letter}{2 * loop}",
            peer=f"nb{letter}{2 * loop + 1}" if has_peer else "",
            peer_namespace=beyond if has_peer else "",
            port=port,
            mac=f"02:6e:62:00:{loop:02x}:0{number}",
        )
        for loop in range(loops)
    )
