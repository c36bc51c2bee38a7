"""A run's hold on the machine: made, used, and given back."""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contract.addresses import SENDERS_NETWORK, lane_network
from ..contract.control import ControlFile
from ..contract.errors import HostError, TargetError
from ..contract.scenario import Hosts
from ..contract.testbed import Nic, Testbed
from . import cleanup, command, facts, namespaces, preflight
from .admission import admission
from .backlog import plan_backlog, raise_backlog
from .clock import SYSTEM_CLOCK, Clock
from .command import Completed
from .control_loader import RegisteredControls
from .forwarder import forwarder_command, forwarder_event
from .host_strain import StrainCounts
from .kernel_load import read_kernel_counts
from .layout import Layout, Side, make_layout
from .log import LOG
from .net_counters import lost, strained
from .nics import look_at
from .paths import DATAPLANE, FLOWS, PROBE, built
from .process import TARGETS, ManagedProcess, Process, json_event
from .shield import plan_shield, raise_shield
from .state import STATE_DIR, RunState, StateFile, own_state
from .switch import connect_switch, favour_group, switch_command

NO_WISHES = Hosts()
"""Hosts of which a scenario says nothing."""
CAPTURE_BYTES = 128
"""Of each captured frame: Ethernet, IPv4 and TCP with all its options."""


@dataclass(frozen=True)
class PathEnds:
    """What a load generator on the senders' side must know of the path.

    Attributes:
        interface: The senders' interface, in their namespace.
        source_mac: Its hardware address.
        destination_mac: That of the receivers' interface.
    """

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
    def start_forwarder(self, devices: Sequence[str]) -> ManagedProcess:
        """Start dpdk-testpmd in the data plane's place; its event `ready`: it forwards.

        Args:
            devices: The EAL's arguments that open the ports, as the data plane lists them.
        """

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

    @abstractmethod
    def host_strain(self) -> StrainCounts:
        """What the hosts' kernels counted so far of memory, queues and cores that ran short."""

    @abstractmethod
    def ports(self) -> dict[str, dict[str, Any]]:
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
    def control_maps(self) -> Mapping[str, int]:
        """Congestion control -> id of the eBPF map with its state, where this machine has it."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Safe to call twice, and after a failed open."""


@dataclass(frozen=True)
class SessionRequest:
    """What a run, a calibration or a measurement needs of its session.

    Attributes:
        run_id: Four hexadecimal digits that name everything the session makes.
        folder: Whose session it is.
        testbed: The testbed.
        lanes: Lanes side by side.
        groups: Flow groups of each lane.
        window_bytes: Largest window that a flow may need: BDP and buffer.
        core: The core that everything of the session runs on, where it is one; None: any.
        hosts: What the hosts' kernels are told besides.
        controls: Congestion controls that the hosts' kernel does not have of its own.
    """

    run_id: str
    folder: Path
    testbed: Testbed
    lanes: int
    groups: int
    window_bytes: int
    core: int | None = None
    hosts: Hosts = NO_WISHES
    controls: tuple[ControlFile, ...] = ()


MakeSession = Callable[[SessionRequest], Session]
"""Makes a session; tests have their own, without a real machine."""


class LocalSession(Session):
    """This machine, with network namespaces as hosts.

    Args:
        request: What is needed.
    """

    def __init__(self, request: SessionRequest) -> None:
        self._run_id = request.run_id
        self._run_dir = request.folder
        self._testbed = request.testbed
        self._controls = request.controls
        cores = os.cpu_count() or 1
        self.layout: Layout = make_layout(
            request.run_id, request.testbed, cores, request.lanes, request.groups
        )
        self._sysctls = host_sysctls(request.window_bytes, request.hosts)
        self._registered: RegisteredControls | None = None
        self._state: StateFile | None = None
        self._processes: list[ManagedProcess] = []
        self._switch: ManagedProcess | None = None
        self._affinity: set[int] | None = None

    @property
    def scratch(self) -> Path:
        """Directory of sockets and generated files."""
        return STATE_DIR / self._run_id

    @property
    def sysctls(self) -> dict[str, str]:
        """Settings of the hosts' namespaces."""
        return self._sysctls

    @property
    def clock(self) -> Clock:
        """This machine's clock."""
        return SYSTEM_CLOCK

    def open(self) -> None:
        """Check the machine, remove dead runs, make the namespaces."""
        preflight.check_before_cleanup(self._testbed)
        with admission(STATE_DIR):
            cleanup.remove_dead_runs()
            preflight.require_huge_pages(self._testbed)
            namespaces.refuse_foreign(self.layout)
            state = self._write_state()
        self._affinity = leave_core(self._testbed.dataplane.core)
        self._prepare_kernel(state)
        self.scratch.mkdir(parents=True, exist_ok=True)
        namespaces.create(self.layout)
        self._register_controls()

    def _register_controls(self) -> None:
        """Give the kernel the controls that it does not have; it forgets them with the process."""
        if self._controls:
            self._registered = RegisteredControls(self._controls, self._state)

    @property
    def control_maps(self) -> Mapping[str, int]:
        """Congestion control -> id of the eBPF map with its state."""
        return self._registered.maps if self._registered is not None else {}

    def _write_state(self) -> RunState:
        layout, dataplane = self.layout, self._testbed.dataplane
        veths = [(s.namespace, s.interface) for s in layout.sides if s.mac]
        veths += [(layout.dp, cable.dp) for cable in layout.cables]
        nics = [look_at(s.interface, s.namespace) for s in layout.sides if s.is_nic]
        state = own_state(self._run_id, self._run_dir).model_copy(
            update={
                "namespaces": layout.namespaces,
                "interfaces": tuple(veths),
                "nics": tuple(nics),
                "scratch": str(self.scratch),
                "shield": plan_shield(dataplane.core) if dataplane.shield else None,
                "backlog": plan_backlog(),
            }
        )
        self._state = StateFile(state)
        return state

    def _prepare_kernel(self, state: RunState) -> None:
        """Change what is the whole machine's; the state file says how it was."""
        if state.shield:
            raise_shield(state.shield)
        if state.backlog:
            raise_backlog(state.backlog)

    def ports(self) -> dict[str, dict[str, Any]]:
        """The data plane's `ports` configuration."""
        interfaces = {
            "senders": self.layout.senders.peer or self.layout.senders.interface,
            "receivers": self.layout.receivers.peer or self.layout.receivers.interface,
            **{cable.port: cable.dp for cable in self.layout.cables},
        }
        return {
            name: {"driver": "pci", "address": port.address}
            if isinstance(port, Nic)
            else {"driver": port.driver, "iface": interfaces[name]}
            for name, port in self._testbed.cabling.of_dataplane().items()
        }

    def start_dataplane(self, config: Path) -> ManagedProcess:
        """Start the data plane in its namespace."""
        args = [str(built(DATAPLANE)), "--config", str(config)]
        log = self._run_dir / "dataplane.log"
        return self._start("dataplane", self.layout.dp, args, log)

    def start_forwarder(self, devices: Sequence[str]) -> ManagedProcess:
        """Start dpdk-testpmd in the data plane's namespace and place.

        Raises:
            HostError: It is not installed.
        """
        preflight.require_forwarder()
        args = forwarder_command(self._testbed.dataplane, devices)
        log = self._run_dir / "testpmd.log"
        return self._start("testpmd", self.layout.dp, args, log, forwarder_event)

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> ManagedProcess:
        """Start the switch program in its namespace, off the packet loop's core."""
        args = switch_command(self._testbed, self.layout, artefact, self.scratch, options)
        self._switch = self._start("switch", self.layout.switch, args, self._run_dir / "switch.log")
        favour_group(self._switch.pid)
        return self._switch

    def connect_switch(self, timeout_s: float) -> socket.socket:
        """A connection to the switch program's control port, as soon as it answers."""
        if self._switch is None:
            raise TargetError("switch: not started")
        return connect_switch(self._testbed, self.layout, self._switch, timeout_s)

    def connect_hosts(self) -> None:
        """Finish the hosts' interfaces once the data plane is up."""
        namespaces.adopt_taps(self.layout)
        namespaces.configure(self.layout, self._sysctls)

    def start_flows(self, side: Side, config: Path, lane: int) -> ManagedProcess:
        """Start a flow generator in a side's namespace, off the packet loop's core."""
        namespace = self.layout.senders if side == "snd" else self.layout.receivers
        role = "sender" if side == "snd" else "sink"
        args = [str(built(FLOWS)), "--config", str(config)]
        return self._start(f"{role} of lane {lane}", namespace.namespace, args, None)

    def start_capture(self, lane: int, path: Path, side: Side = "snd") -> ManagedProcess:
        """Capture the headers of a lane's segments at a side's interface.

        Raises:
            HostError: tcpdump is not installed.
        """
        preflight.require_capture()
        host = self.layout.senders if side == "snd" else self.layout.receivers
        args = capture_command(host.interface, lane, path)
        return self._start(f"capture of lane {lane} ({side})", host.namespace, args, None)

    def start_probe(self, side: Side, config: Path) -> ManagedProcess:
        """Start nashbed-probe in a side's namespace."""
        host = self.layout.senders if side == "snd" else self.layout.receivers
        args = [str(built(PROBE)), "--config", str(config)]
        return self._start(f"probe ({side})", host.namespace, args, None)

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        """Run a load generator in the senders' namespace to its end."""
        wrapped = ["ip", "netns", "exec", self.layout.senders.namespace, *args]
        return command.attempt(wrapped, text=text, timeout_s=timeout_s)

    @property
    def path_ends(self) -> PathEnds:
        """The senders' interface and both hardware addresses."""
        senders, receivers = self.layout.sides
        return PathEnds(
            senders.interface,
            namespaces.hardware_address(senders),
            namespaces.hardware_address(receivers),
        )

    def _start(
        self,
        name: str,
        namespace: str,
        args: list[str],
        log: Path | None,
        read_event: Callable[[str], dict[str, Any] | None] = json_event,
    ) -> ManagedProcess:
        wrapped = ["ip", "netns", "exec", namespace, *args]
        process = Process(name, wrapped, self._state, log, read_event)
        self._processes.append(process)
        return process

    def require_targets(self) -> None:
        """Raise the failure of a program of the target, or of the controls', that has ended."""
        require_running(self._processes)
        if self._registered is not None:
            self._registered.require_held()

    def host_losses(self) -> dict[str, int]:
        """Packets lost by the hosts' interfaces and the kernel's receive path so far."""
        losses = {f"softnet_{k}": v for k, v in facts.softnet().items()}
        for side in self.layout.sides:
            counts = namespaces.link_losses(side.namespace, side.interface)
            losses |= {f"{side.interface}_{k}": v for k, v in counts.items()}
            if side.peer:
                counts = namespaces.link_losses(side.peer_namespace, side.peer)
                losses |= {f"{side.peer}_{k}": v for k, v in counts.items()}
        for cable in self.layout.cables:
            for namespace, end in ((self.layout.dp, cable.dp), (self.layout.switch, cable.switch)):
                counts = namespaces.link_losses(namespace, end)
                losses |= {f"{end}_{k}": v for k, v in counts.items()}
        for name in self.layout.namespaces:
            losses |= namespaces.qdisc_drops(name)
        for side in self.layout.sides:
            losses |= lost(side.side, namespaces.protocol_counters(side.namespace))
        return losses

    def host_strain(self) -> StrainCounts:
        """What ran short in the hosts' namespaces, and the load of every core, so far."""
        pressure: dict[str, int] = {}
        for side in self.layout.sides:
            pressure |= strained(side.side, namespaces.protocol_counters(side.namespace))
        return StrainCounts(pressure, read_kernel_counts(), self.layout.cores)

    def close(self) -> None:
        """Give everything back; what cannot be removed is named in an error."""
        for process in reversed(self._processes):
            process.stop()
        self._processes.clear()
        if self._registered is not None:
            self._registered.close()
            self._registered = None
        if self._affinity is not None:
            os.sched_setaffinity(0, self._affinity)
            self._affinity = None
        if self._state is None:
            return
        left = cleanup.remove_run(self._state.state)
        if left:
            raise HostError(f"could not remove {', '.join(left)}")
        self._state.remove()
        self._state = None
        LOG.info("restored the machine")


def require_running(processes: Sequence[ManagedProcess]) -> None:
    """Raise the failure of the first program of a target that has ended."""
    for process in processes:
        if process.name in TARGETS and process.poll() is not None:
            raise process.failure("ended in mid-trial")


def leave_core(core: int) -> set[int]:
    """Keep this thread and all that it starts off a core, as long as there is another.

    Returns:
        The cores that were allowed before.
    """
    before = os.sched_getaffinity(0)
    if before - {core}:
        os.sched_setaffinity(0, before - {core})
    return before


def capture_command(interface: str, lane: int, path: Path) -> list[str]:
    """Make the command line of tcpdump on one lane: headers alone, written at once.

    Args:
        interface: The hosts' interface.
        lane: The lane; its senders share a network.
        path: The capture file.
    """
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
        hosts: What the scenario wants of them.

    Unless the scenario says otherwise, socket buffers hold four times the window: the kernel counts
    its own overhead in them, and a flow must be limited by its congestion window, not by a
    buffer. net.core.wmem_max and rmem_max do not matter: they limit what a program asks for, and
    the flow generator leaves its buffers to the kernel.
    """
    largest = max(4 * window_bytes, 6_291_456)
    rmem = largest if hosts.rmem_max is None else hosts.rmem_max.bytes
    wmem = largest if hosts.wmem_max is None else hosts.wmem_max.bytes
    return {
        "net.ipv4.tcp_no_metrics_save": "1",
        "net.ipv4.tcp_ecn": "0",
        "net.ipv4.tcp_rmem": f"4096 131072 {rmem}",
        "net.ipv4.tcp_wmem": f"4096 16384 {wmem}",
    }
