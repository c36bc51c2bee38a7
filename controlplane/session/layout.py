"""The hosts of a run: two network namespaces with interfaces, and one for the data plane.

    <run>-snd: nbs0 <--veth--> nbs1 :<run>-dp: nbr1 <--veth--> nbr0 :<run>-rcv

Names, addresses and settings are those that hosts/README.md lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..contract.testbed import PciPort, Port, Testbed

Side = Literal["snd", "rcv"]
SIDES: tuple[Side, Side] = ("snd", "rcv")
SINK_PORT = 5001
FIRST_SENDER_PORT = 10000
MTU = 1500


def sender_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the senders."""
    return f"10.64.{lane}.{group + 1}"


def receiver_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the receivers."""
    return f"10.65.{lane}.{group + 1}"


@dataclass(frozen=True)
class HostSide:
    """One side's namespace and its interface towards the data plane.

    Attributes:
        side: Which side.
        namespace: The hosts' namespace.
        interface: The interface in it.
        peer: The data plane's end; empty where it is not a kernel interface.
        port: The testbed's port.
        mac: Address given to the interface; empty: it keeps its own.
    """

    side: Side
    namespace: str
    interface: str
    peer: str
    port: Port
    mac: str


@dataclass(frozen=True)
class Layout:
    """Names of everything that a run creates.

    Attributes:
        dp: The data plane's namespace.
        senders: The senders' side.
        receivers: The receivers' side.
        cores: Cores for everything but the packet loop.
        lanes: Lanes in use.
        groups: Flow groups of a lane.
    """

    dp: str
    senders: HostSide
    receivers: HostSide
    cores: tuple[int, ...]
    lanes: int
    groups: int

    @property
    def sides(self) -> tuple[HostSide, HostSide]:
        """Both sides."""
        return (self.senders, self.receivers)

    @property
    def namespaces(self) -> tuple[str, str, str]:
        """All namespaces."""
        return (self.senders.namespace, self.receivers.namespace, self.dp)


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
    return Layout(
        dp=f"nb{run_id}-dp",
        senders=_side("snd", run_id, testbed.ports.senders),
        receivers=_side("rcv", run_id, testbed.ports.receivers),
        cores=others or (0,),
        lanes=lanes,
        groups=groups,
    )


def _side(side: Side, run_id: str, port: Port) -> HostSide:
    letter, number = ("s", 1) if side == "snd" else ("r", 2)
    if isinstance(port, PciPort):
        return HostSide(side, f"nb{run_id}-{side}", port.host_iface, "", port, "")
    peer = "" if port.driver == "tap" else f"nb{letter}1"
    mac = f"02:6e:62:00:00:0{number}"
    return HostSide(side, f"nb{run_id}-{side}", f"nb{letter}0", peer, port, mac)
