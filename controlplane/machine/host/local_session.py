"""A session in real time: this machine, with network namespaces as hosts."""

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...contract.errors import HostError, TargetError
from ...contract.manifest import HostNic
from ...contract.model import JsonObject
from ...contract.testbed import Nic
from ..c_files.ebpf_loader import RegisteredCcas
from ..paths import DATAPLANE, FLOWS, PROBE, built
from ..process import command
from ..process.clock import SYSTEM_CLOCK, Clock
from ..process.command import Completed
from ..process.managed import ManagedProcess, Process, ProgramOfOthers, json_event
from . import namespaces, preflight, runs
from .cores import plan_shield, raise_shield
from .counters import SOFTNET, StrainCounts, lost, read_kernel_counts, softnet_losses, strained
from .layout import PORTS, HostSide, Layout, Side, make_layout
from .nics import as_set, inside, link_downs, look_at, plan_backlog, raise_backlog
from .programs import (
    connect_switch,
    favour_group,
    switch_command,
)
from .runs import STATE_DIR, RunState, StateFile, admission, own_state
from .session import (
    PORT_RANGE,
    USUAL_PORTS,
    PathEnds,
    Session,
    SessionRequest,
    capture_command,
    host_sysctls,
    leave_cores,
    require_running,
)

LOG = logging.getLogger(__name__)


class LocalSession(Session):
    """This machine, with network namespaces as hosts."""

    def __init__(self, request: SessionRequest) -> None:
        self._run_id = request.run_id
        self._run_dir = request.folder
        self._testbed = request.testbed
        self._ccas = request.ccas
        cores = os.cpu_count() or 1
        self.layout: Layout = make_layout(
            request.run_id, request.testbed, cores, request.lanes, request.groups
        )
        self._sysctls = host_sysctls(request.window_bytes, request.hosts)
        self._qdisc = request.hosts.qdisc
        self._registered: RegisteredCcas | None = None
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
        if self._qdisc is not None:
            preflight.require_qdisc(self._qdisc)
        with admission(STATE_DIR):
            runs.remove_dead_runs()
            preflight.require_huge_pages(self._testbed)
            namespaces.refuse_foreign(self.layout)
            state = self._write_state()
        self._affinity = leave_cores(self._testbed.dataplane.cores)
        self._prepare_kernel(state)
        self.scratch.mkdir(mode=0o700, exist_ok=True)
        namespaces.create(self.layout)
        self._register_ccas()

    def _register_ccas(self) -> None:
        """Give the kernel the CCAs that it does not have; it forgets them with the process."""
        if self._ccas:
            self._registered = RegisteredCcas(self._ccas, self._state)

    @property
    def cca_maps(self) -> Mapping[str, int]:
        """CCA -> id of the eBPF map with its state."""
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
                "shield": plan_shield(dataplane.cores) if dataplane.shield else None,
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

    def ports(self) -> dict[str, JsonObject]:
        """The data plane's `ports` configuration."""
        interfaces = {
            "senders": _ends(self.layout.senders),
            "receivers": _ends(self.layout.receivers),
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

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> ManagedProcess:
        """Start the switch program in its namespace, off the packet loops' cores."""
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
        namespaces.configure(self.layout, self._sysctls, self._qdisc or "")

    def start_flows(self, side: Side, config: Path, lane: int) -> ManagedProcess:
        """Start a flow generator in a side's namespace, off the packet loops' cores."""
        role = config.stem.replace("_", " ")
        args = [str(built(FLOWS)), "--config", str(config)]
        return self._start(f"{role} of lane {lane}", self.layout.hosts[side], args, None)

    def start_capture(self, lane: int, path: Path, side: Side = "snd") -> ManagedProcess:
        """Capture the headers of a lane's segments at a side's interface.

        Raises:
            HostError: tcpdump is not installed.
        """
        preflight.require_capture()
        host = self.layout.at_lane(side, lane)
        args = capture_command(host.interface, lane, path)
        return self._start(f"capture of lane {lane} ({side})", host.namespace, args, None)

    def start_probe(self, side: Side, config: Path) -> ManagedProcess:
        """Start nashbed-probe in a side's namespace."""
        args = [str(built(PROBE)), "--config", str(config)]
        return self._start(f"probe ({side})", self.layout.hosts[side], args, None)

    def start_program(
        self, name: str, side: Side, args: Sequence[str], output: Path
    ) -> ManagedProcess:
        """Start a program in a side's namespace, off the packet loops' cores."""
        wrapped = inside(self.layout.hosts[side], args)
        process = ProgramOfOthers(name, wrapped, output, self._state)
        self._processes.append(process)
        return process

    def read_host(self, side: Side, path: str) -> str:
        """A file as a side's namespace has it."""
        return command.run(inside(self.layout.hosts[side], ["cat", path])).out

    @contextmanager
    def only_port(self, side: Side, port: int) -> Iterator[None]:
        """See `Session`; trials with programs are run one at a time."""
        namespace = self.layout.hosts[side]
        namespaces.set_sysctls(namespace, {PORT_RANGE: f"{port} {port}"})
        try:
            yield
        finally:
            namespaces.set_sysctls(namespace, {PORT_RANGE: USUAL_PORTS})

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        """Run a load generator in the senders' namespace to its end."""
        wrapped = ["ip", "netns", "exec", self.layout.hosts["snd"], *args]
        return command.attempt(wrapped, text=text, timeout_s=timeout_s)

    @property
    def path_ends(self) -> PathEnds:
        """The first lane's interface at the senders, and both hardware addresses."""
        senders, receivers = self.layout.senders[0], self.layout.receivers[0]
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
        read_event: Callable[[str], JsonObject | None] = json_event,
    ) -> ManagedProcess:
        wrapped = ["ip", "netns", "exec", namespace, *args]
        process = Process(name, wrapped, self._state, log, read_event)
        self._processes.append(process)
        return process

    def require_targets(self) -> None:
        """Raise the failure of a program of the target, or of the CCAs', that has ended."""
        require_running(self._processes)
        if self._registered is not None:
            self._registered.require_held()

    def host_losses(self) -> dict[str, int]:
        """Packets lost by the hosts' interfaces and the kernel's receive path so far."""
        losses = softnet_losses(SOFTNET.read_text())
        for namespace, interface in self.layout.interfaces:
            counts = namespaces.link_losses(namespace, interface)
            losses |= {f"{interface}_{kind}": count for kind, count in counts.items()}
        for name in self.layout.namespaces:
            losses |= namespaces.qdisc_drops(name)
        for side, namespace in self.layout.hosts.items():
            losses |= lost(side, namespaces.protocol_counters(namespace))
        return losses

    def link_downs(self) -> dict[str, int]:
        """How often each of the hosts' NICs lost its link so far."""
        nics = [side for side in self.layout.sides if side.is_nic]
        return {nic.interface: link_downs(nic.namespace, nic.interface) for nic in nics}

    def nics(self) -> dict[str, HostNic]:
        """The hosts' NICs as they are set."""
        return {
            PORTS[side.side]: as_set(side.namespace, side.interface)
            for side in self.layout.sides
            if side.is_nic
        }

    def qdiscs(self) -> dict[str, str]:
        """See `Session`."""
        if self._qdisc is None:
            return {}
        return {
            PORTS[side.side]: namespaces.root_qdisc(side.namespace, side.interface)
            for side in self.layout.sides
        }

    def host_strain(self) -> StrainCounts:
        """What ran short in the hosts' namespaces, and the load of every core, so far."""
        pressure: dict[str, int] = {}
        for side, namespace in self.layout.hosts.items():
            pressure |= strained(side, namespaces.protocol_counters(namespace))
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
        left = runs.remove_run(self._state.state)
        if left:
            raise HostError(f"could not remove {', '.join(left)}")
        self._state.remove()
        self._state = None
        LOG.info("restored the machine")


def _ends(sides: Sequence[HostSide]) -> str | list[str]:
    """The data plane's interface, or one of each of its packet loops."""
    names = [side.peer or side.interface for side in sides]
    return names[0] if len(names) == 1 else names
