"""A run's hold on the machine: made, used, and given back."""

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.manifest import HostNic
from ...contract.model import JsonObject
from ...contract.scenario_keys import Hosts
from ...contract.shared import SENDERS_NETWORK, lane_network
from ...contract.testbed import Testbed
from ..process.clock import Clock
from ..process.command import Completed
from ..process.managed import TARGETS, ManagedProcess
from .counters import StrainCounts
from .layout import Side

PORT_RANGE = "net.ipv4.ip_local_port_range"
USUAL_PORTS = "32768 60999"
NO_WISHES = Hosts()
"""Hosts of which a scenario says nothing."""
CAPTURE_BYTES = 128
"""Bytes kept of each captured frame: Ethernet, IPv4 and TCP with all its options."""


@dataclass(frozen=True)
class PathEnds:
    """What a load generator on the senders' side must know of the path."""

    interface: str
    source_mac: str
    destination_mac: str


class Session(ABC):
    """What a run needs of a machine."""

    @abstractmethod
    def open(self) -> None:
        """Check the machine, remove dead runs, make the namespaces."""

    @abstractmethod
    def start_dataplane(self, config: Path) -> ManagedProcess:
        """Start the data plane with a configuration file."""

    @abstractmethod
    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> ManagedProcess:
        """Start the testbed's switch program with a compiled program."""

    @abstractmethod
    def connect_switch(self, timeout_s: float) -> socket.socket:
        """A connection to the port at which the switch program is controlled."""

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the running guest has had; 0 where there is none."""
        return 0

    @abstractmethod
    def connect_hosts(self) -> None:
        """Finish the hosts' interfaces once the data plane is up."""

    @abstractmethod
    def start_flows(self, side: Side, config: Path, lane: int) -> ManagedProcess:
        """Start a flow generator on one side."""

    @abstractmethod
    def start_capture(self, lane: int, path: Path, side: Side = "snd") -> ManagedProcess:
        """Capture the headers of a lane's segments beside the hosts of a side, until stopped."""

    @abstractmethod
    def start_probe(self, side: Side, config: Path) -> ManagedProcess:
        """Start nashbed-probe on one side."""

    @abstractmethod
    def start_program(
        self, name: str, side: Side, args: Sequence[str], output: Path
    ) -> ManagedProcess:
        """Start a program that is no part of nashbed on one side.

        Args:
            output: Where its standard error goes.
        """

    @abstractmethod
    def read_host(self, side: Side, path: str) -> str:
        """A file as a side's namespace has it.

        Raises:
            NashbedError: It cannot be read.
        """

    @abstractmethod
    def only_port(self, side: Side, port: int) -> AbstractContextManager[None]:
        """Have the kernel of a side choose this port for sockets that name none, for a while."""

    @abstractmethod
    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        """Run a load generator at the senders' interface to its end."""

    @property
    @abstractmethod
    def path_ends(self) -> PathEnds:
        """The senders' interface and both hardware addresses."""

    @abstractmethod
    def require_targets(self) -> None:
        """Raise the failure of a program of the target that has ended; called in mid-trial."""

    @abstractmethod
    def host_losses(self) -> dict[str, int]:
        """Packets lost so far by the hosts' interfaces, by their queues, and by their kernels.

        All of these are counted for a namespace or an interface: for all lanes together.
        """

    def link_downs(self) -> dict[str, int]:
        """How often each of the hosts' NICs lost its link so far."""
        return {}

    def nics(self) -> dict[str, HostNic]:
        """The hosts' NICs as they are set, by the port at the other end of their cable."""
        return {}

    def qdiscs(self) -> dict[str, str]:
        """Queue disciplines of the hosts' interfaces that a scenario asked for, by port."""
        return {}

    @abstractmethod
    def host_strain(self) -> StrainCounts:
        """What the hosts' kernels counted so far of memory, queues and cores that ran short."""

    @abstractmethod
    def ports(self) -> dict[str, JsonObject]:
        """The data plane's `ports` configuration."""

    @property
    @abstractmethod
    def scratch(self) -> Path:
        """A directory for sockets and generated files."""

    @property
    @abstractmethod
    def sysctls(self) -> dict[str, str]:
        """Settings of the hosts' namespaces."""

    @property
    @abstractmethod
    def clock(self) -> Clock:
        """The clock that the hosts' programs go by."""

    @property
    def cca_maps(self) -> Mapping[str, int]:
        """CCA -> id of the eBPF map with its state, where this machine has it."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Safe to call twice, and after a failed open."""


@dataclass(frozen=True)
class SessionRequest:
    """What a run, a calibration or a measurement needs of its session.

    Attributes:
        run_id: Four hexadecimal digits that name everything the session makes.
        window_bytes: Largest window that a flow may need: BDP and buffer.
        core: The core that everything of the session runs on, where it is one; None: any.
        hosts: What the hosts' kernels are told besides.
        ccas: CCAs that the hosts' kernel does not have of its own.
        disciplines: Queue disciplines of the user's own.
        programs: Whether programs of others run among the hosts. In guests, what the processor
            would tell them, its random numbers and its clock, is then the guest's, and sockets of
            IPv6 can be made.
    """

    run_id: str
    folder: Path
    testbed: Testbed
    lanes: int
    groups: int
    window_bytes: int
    core: int | None = None
    hosts: Hosts = NO_WISHES
    ccas: tuple[CFile, ...] = ()
    disciplines: tuple[CFile, ...] = ()
    programs: bool = False


MakeSession = Callable[[SessionRequest], Session]
"""Makes a session; tests have their own, without a real machine."""


def require_running(processes: Sequence[ManagedProcess]) -> None:
    """Raise the failure of the first program of a target that has ended."""
    for process in processes:
        if process.name in TARGETS and process.poll() is not None:
            raise process.failure("ended in mid-trial")


def leave_cores(cores: Collection[int]) -> set[int]:
    """Keep this thread and all that it starts off some cores, as long as there is another.

    Returns:
        The cores that were allowed before.
    """
    before = os.sched_getaffinity(0)
    if rest := before - set(cores):
        os.sched_setaffinity(0, rest)
    return before


def capture_command(interface: str, lane: int, path: Path) -> list[str]:
    """Make the command line of tcpdump on one lane: headers alone, written at once."""
    network = lane_network(SENDERS_NETWORK, lane)
    return [
        *("tcpdump", "-n", "-i", interface, "-s", str(CAPTURE_BYTES), "-B", "16384"),
        *("--immediate-mode", "--time-stamp-precision=nano", "-U", "-Z", "root"),
        *("-w", str(path), f"tcp and net {network}"),
    ]


def host_sysctls(window_bytes: int, hosts: Hosts = NO_WISHES) -> dict[str, str]:
    """Settings of the hosts' namespaces.

    Args:
        window_bytes: Largest window that a flow may need: BDP and buffer.

    Unless the scenario says otherwise, socket buffers hold four times the window: the kernel counts
    its own overhead in them, and a flow must be limited by its congestion window, not by a
    buffer. net.core.wmem_max and rmem_max do not matter: they limit what a program asks for, and
    the flow generator leaves its buffers to the kernel. Ports whose last connection is in TIME_WAIT
    are taken again: transfers of the next trial have the same.
    """
    largest = max(4 * window_bytes, 6_291_456)
    rmem = largest if hosts.rmem_max is None else hosts.rmem_max.bytes
    wmem = largest if hosts.wmem_max is None else hosts.wmem_max.bytes
    return {
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_ecn": "0",
        "net.ipv4.tcp_tw_reuse": "1",
        "net.ipv4.tcp_rmem": f"4096 131072 {rmem}",
        "net.ipv4.tcp_wmem": f"4096 16384 {wmem}",
    }
