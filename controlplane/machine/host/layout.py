"""The hosts of a run: two network namespaces with interfaces, and one for the data plane.

    <run>-snd: nbs0 <--veth--> nbs1 :<run>-dp: nbr1 <--veth--> nbr0 :<run>-rcv

Where a switch program on this machine is the bottleneck, it has a namespace too:

    <run>-snd: nbs0 <-> nbs1 :<run>-dp: nbi1 <-> nbi0 :<run>-sw: nbr1 <-> nbr0 :<run>-rcv
                                        nbt1 <-> nbt0   (postcards)

Names, addresses and settings are those that hosts/README.md lists.
"""

from __future__ import annotations

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
    """One side's namespace and its interface towards the data plane.

    Attributes:
        side: Which side.
        namespace: The hosts' namespace.
        interface: The interface in it.
        peer: The other end of its veth pair; empty where it has none.
        peer_namespace: The namespace of that end.
        port: The testbed's port; None where the other end is a switch program's.
        mac: Address given to the interface; empty: it keeps its own.
    """

    side: Side
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
        dp: The data plane's namespace.
        switch: The switch program's namespace; empty where there is none on this machine.
        senders: The senders' side.
        receivers: The receivers' side.
        loop_core: The packet loop's core.
        cores: Cores for everything but the packet loop.
        lanes: Lanes in use.
        groups: Flow groups of a lane.
    """

    dp: str
    switch: str
    senders: HostSide
    receivers: HostSide
    loop_core: int
    cores: tuple[int, ...]
    lanes: int
    groups: int

    @property
    def sides(self) -> tuple[HostSide, HostSide]:
        """Both sides."""
        return (self.senders, self.receivers)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces."""
        names = (self.senders.namespace, self.receivers.namespace, self.dp, self.switch)
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
        return (inlet.switch, self.receivers.peer, telemetry.switch)

    def receive_cores(self, side: HostSide) -> tuple[int, ...]:
        """Cores on which the kernel does the receive work of a side's frames.

        They are those that the packet loop does not use. Where that is one core only, it is full of
        both hosts' TCP long before the loop's is, so the receivers' half of it is done on the
        loop's core, as part of sending a frame (hosts/README.md has what that gives).

        Args:
            side: One of the two.
        """
        sent_by_loop = side.peer_namespace == self.dp
        if side.side == "rcv" and sent_by_loop and len(self.cores) == 1:
            return (self.loop_core,)
        return self.cores


def make_layout(run_id: str, testbed: Testbed, cores: int, lanes: int, groups: int) -> Layout:
    """Lay a run out.

    Args:
        run_id: Four hexadecimal digits.
        testbed: Says which ports and which core.
        cores: Number of cores of this machine.
        lanes: Lanes in use.
        groups: Flow groups of a lane.
    """
    others = tuple(c for c in range(cores) if c != testbed.dataplane.core)
    local_switch = testbed.switch is not None and testbed.switch.local_program is not None
    dp, switch = f"nb{run_id}-dp", f"nb{run_id}-sw" if local_switch else ""
    ports = testbed.cabling
    return Layout(
        dp=dp,
        switch=switch,
        senders=_side("snd", run_id, ports.senders, dp),
        receivers=_side("rcv", run_id, ports.receivers, switch or dp),
        loop_core=testbed.dataplane.core,
        cores=others or (0,),
        lanes=lanes,
        groups=groups,
    )


def _side(
    side: Side, run_id: str, port: VirtualPort | PciPort | KernelPort | None, beyond: str
) -> HostSide:
    letter, number = ("s", 1) if side == "snd" else ("r", 2)
    namespace = f"nb{run_id}-{side}"
    if isinstance(port, PciPort | KernelPort):
        return HostSide(side, namespace, port.host_iface, "", "", port, "")
    peer = "" if port is not None and port.driver == "tap" else f"nb{letter}1"
    mac = f"02:6e:62:00:00:0{number}"
    return HostSide(side, namespace, f"nb{letter}0", peer, beyond if peer else "", port, mac)
