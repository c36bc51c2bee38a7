"""A session in virtual time: every trial has a machine of its own, and no root is needed."""

from __future__ import annotations

import itertools
import json
import logging
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...contract.errors import HostError, InternalError, TargetError
from ...contract.model import JsonObject
from ...contract.shared import receiver_address, sender_address
from ...contract.strategy import ModuleParameters
from ..c_files.guest_modules import module_of
from ..c_files.parameters import module_arguments
from ..host import preflight, runs
from ..host.counters import (
    FILES,
    SOFTNET,
    StrainCounts,
    interface_losses,
    lost,
    softnet_losses,
    strained,
)
from ..host.layout import SIDES, Side
from ..host.runs import StateFile
from ..host.session import (
    PORT_RANGE,
    USUAL_PORTS,
    PathEnds,
    Session,
    SessionRequest,
    capture_command,
    host_sysctls,
    require_running,
)
from ..kernels.cache import GuestKernel, find_kernel
from ..paths import FLOWS, PROBE, built
from ..process.clock import Clock
from ..process.command import Completed
from ..process.managed import ManagedProcess
from .connection import STANDSTILL_S, GuestClock, GuestConnection, GuestProcess, StandstillTimeout
from .kernel import GuestSettings, KernelProcess, check_guests, require_pinning
from .memory import peak_memory_bytes
from .scratch import guests_folder, open_scratch

LOG = logging.getLogger(__name__)

READY_TIMEOUT_S = 60.0
INTERFACES: dict[Side, str] = {"snd": "nb0", "rcv": "nb1"}
QDISC_MODULES = {"fq": "sch_fq", "fq_codel": "sch_fq_codel"}
"""Modules of the kernel's own that disciplines of the hosts' interfaces are in."""
NO_ADDRESSES = "disable_ipv6=1"
"""Of module ipv6: programs make its sockets, and no interface sends anything by itself."""
LANE = 0
"""The only lane of a guest."""
MIB = 2**20
LEAST_MEMORY_MIB = 1024
KERNEL_MIB = 768
"""Everything but what is in flight: programs, tables, and 256 MiB that flows have not sent yet."""
WINDOW_COPIES = 6
"""What is in flight is in the senders' buffers, and what waits for it at the receivers; both with
the kernel's own overhead."""
PAGE_BYTES = 4096
HARDWARE_ADDRESS = "02:00:00:00:00:01"
"""Address of both interfaces, so that frames need no ARP."""


class GuestSession(Session):
    """Guests on this machine, one at a time.

    A guest is started by `boot` in the thread that runs its trial, and dies with it.

    Args:
        standstill_s: How long virtual time may stand still, in seconds of this machine's clock.
    """

    def __init__(self, request: SessionRequest, standstill_s: float = STANDSTILL_S) -> None:
        self._request = request
        self._testbed = request.testbed
        self._standstill_s = standstill_s
        self._memory_bytes = guest_memory_bytes(request)
        self._state: StateFile | None = None
        self._kernel: KernelProcess | None = None
        self._connection: GuestConnection | None = None
        self._clock = GuestClock(self._running)
        self._log_numbers = itertools.count()

    def open(self) -> None:
        """Check the machine, build modules, remove what dead sessions left, make the scratch.

        Raises:
            HostError: The machine cannot run guests, or cannot build a module.
            ConfigError: A CCA does not compile.
        """
        check_guests(self._testbed)
        kernel = find_kernel(self._testbed.virtual.kernel)
        self._modules(kernel)
        self._kernels_own(kernel)
        request = self._request
        self._state = open_scratch(guests_folder(), request.run_id, request.folder)

    def _modules(self, kernel: GuestKernel) -> list[Path]:
        """The modules of the session's CCAs; building them takes no virtual time."""
        return [module_of(kernel, cca) for cca in self._request.ccas]

    def _kernels_own(self, kernel: GuestKernel) -> dict[Path, str]:
        """The kernel's own modules that the scenario needs, and their arguments.

        Raises:
            PrerequisiteError: It cannot do what the scenario needs.
        """
        name = QDISC_MODULES.get(self._request.hosts.qdisc or "")
        modules = {kernel.module(name): ""} if name else {}
        if self._request.programs:
            require_pinning(kernel.release)
            modules[kernel.module("ipv6")] = NO_ADDRESSES
        return modules

    def boot(
        self, config: Path, seed: int, kernel: str, module_parameters: ModuleParameters
    ) -> ManagedProcess:
        """Start a fresh guest, and end the one before it.

        Args:
            kernel: Its kernel, by the beginning of its release; empty: the testbed's.

        Returns:
            The guest; its control socket answers and its hosts are ready.

        Raises:
            NashbedError: It cannot be started.
        """
        self._end_guest()
        content = json.loads(config.read_text(encoding="utf-8")) | {"progress": str(self._progress)}
        boot_config = self.scratch / "guest.json"
        boot_config.write_text(json.dumps(content, indent=1) + "\n")
        control_socket = Path(content["control_socket"])
        control_socket.unlink(missing_ok=True)
        release = find_kernel(kernel or self._testbed.virtual.kernel)
        settings = GuestSettings(
            kernel=release,
            seed=seed,
            config=boot_config,
            scratch=self.scratch,
            memory_bytes=self._memory_bytes,
            core=self._request.core,
            modules=tuple(self._modules(release)),
            pinned=self._request.programs,
        )
        arguments = [
            module_arguments(module_parameters.get(cca.name, {})) for cca in self._request.ccas
        ]
        inserted = self._kernels_own(release)
        inserted |= zip(settings.modules, arguments, strict=True)
        self._kernel = KernelProcess(settings, self._opened, self._console)
        try:
            self._connect(self._kernel, control_socket, inserted)
        except BaseException:
            self._end_guest()
            raise
        return self._kernel

    def _connect(
        self, kernel: KernelProcess, control_socket: Path, modules: Mapping[Path, str]
    ) -> None:
        kernel.wait_event("ready", READY_TIMEOUT_S)
        patience = StandstillTimeout(self._progress, self._standstill_s)
        self._connection = GuestConnection(kernel, control_socket, patience)
        for module, arguments in modules.items():
            self._connection.insert_module(module, arguments)
        for side in SIDES:
            own, other = sender_address, receiver_address
            if side == "rcv":
                own, other = other, own
            groups = range(self._request.groups)
            self._connection.configure_host(
                side,
                [f"{own(LANE, group)}/32" for group in groups],
                {f"{other(LANE, group)}/32": f"{own(LANE, group)}/32" for group in groups},
                self._sysctls_of(side),
                self._request.hosts.qdisc or "",
            )

    def _end_guest(self) -> None:
        connection, kernel = self._connection, self._kernel
        self._connection = self._kernel = None
        if connection is not None:
            connection.close()
        if kernel is not None:
            kernel.stop()

    @property
    def scratch(self) -> Path:
        """The session's private folder."""
        return Path(self._opened.state.scratch)

    @property
    def _opened(self) -> StateFile:
        if self._state is None:
            raise InternalError("the session is not open")
        return self._state

    @property
    def _progress(self) -> Path:
        return self.scratch / "progress"

    @property
    def _console(self) -> Path:
        core = self._request.core
        return self._request.folder / ("guest.log" if core is None else f"guest-{core}.log")

    def _running(self) -> GuestConnection | None:
        """The connection to the guest; None where it has powered off, as when it is reset."""
        has_powered_off = self._kernel is not None and self._kernel.poll() == 0
        return None if has_powered_off else self._connection

    @property
    def _guest(self) -> GuestConnection:
        connection = self._running()
        if connection is None:
            raise TargetError("guest: none is running")
        return connection

    @property
    def peak_memory_bytes(self) -> int:
        """The most memory that the running guest has had, its processes included."""
        kernel = self._kernel  # other threads ask, too
        return peak_memory_bytes(kernel.pid) if kernel is not None else 0

    @property
    def sysctls(self) -> dict[str, str]:
        """Settings of the hosts' namespaces, and those that both share."""
        pages = self._memory_bytes // PAGE_BYTES
        return {"net.ipv4.tcp_mem": f"{pages} {pages} {pages}"} | self._host_sysctls()

    def _sysctls_of(self, side: Side) -> dict[str, str]:
        """Those of both together are in the first namespace, the senders'."""
        return self.sysctls if side == "snd" else self._host_sysctls()

    def _host_sysctls(self) -> dict[str, str]:
        hosts, processor = self._request.hosts, self._request.hosts.cpu
        sysctls = host_sysctls(self._request.window_bytes, hosts)
        if processor is not None:
            sysctls["nashbed.datagram_ns"] = str(processor.per_datagram.ns)
            sysctls["nashbed.kilobyte_ns"] = str(processor.per_kilobyte.ns)
        return sysctls

    @property
    def clock(self) -> Clock:
        """The running guest's clock."""
        return self._clock

    def ports(self) -> dict[str, JsonObject]:
        """The data plane's `ports` configuration."""
        return {
            name: {"driver": "virtual", "iface": INTERFACES[side]}
            for name, side in zip(("senders", "receivers"), SIDES, strict=True)
        }

    def qdiscs(self) -> dict[str, str]:
        """See `Session`; the guest has read each back."""
        qdisc = self._request.hosts.qdisc
        return dict.fromkeys(self.ports(), qdisc) if qdisc else {}

    def connect_hosts(self) -> None:
        """Every guest has its hosts ready when it is started."""

    def start_flows(self, side: Side, config: Path, lane: int) -> ManagedProcess:
        """Start a flow generator on one side."""
        role = config.stem.replace("_", " ")
        args = [str(built(FLOWS)), "--config", str(config.absolute())]
        return self._start(f"{role} of lane {lane}", side, args)

    def start_capture(self, lane: int, path: Path, side: Side = "snd") -> ManagedProcess:
        """Capture the headers of a lane's segments at a side's interface.

        Raises:
            HostError: tcpdump is not installed.
        """
        preflight.require_capture()
        program, *args = capture_command(INTERFACES[side], lane, path.absolute())
        name = f"capture of lane {lane} ({side})"
        return self._start(name, side, [shutil.which(program) or program, *args])

    def start_probe(self, side: Side, config: Path) -> ManagedProcess:
        """Start nashbed-probe on one side."""
        args = [str(built(PROBE)), "--config", str(config.absolute())]
        return self._start(f"probe ({side})", side, args)

    def start_program(
        self, name: str, side: Side, args: Sequence[str], output: Path
    ) -> ManagedProcess:
        """Start a program that is no part of nashbed on one side."""
        return GuestProcess(self._guest, name, side, args, output.absolute())

    def read_host(self, side: Side, path: str) -> str:
        """A file as a side's namespace has it."""
        return self._guest.read(side, path)

    @contextmanager
    def only_port(self, side: Side, port: int) -> Iterator[None]:
        """Have the kernel of a side choose this port for sockets that name none, for a while."""
        self._guest.configure_host(side, [], {}, {PORT_RANGE: f"{port} {port}"})
        yield
        self._guest.configure_host(side, [], {}, {PORT_RANGE: USUAL_PORTS})

    def _start(self, name: str, side: Side, args: list[str]) -> GuestProcess:
        log = self.scratch / f"process-{next(self._log_numbers)}.log"
        return GuestProcess(self._guest, name, side, args, log)

    def require_targets(self) -> None:
        """Raise the failure of a guest that has ended; called in mid-trial."""
        require_running([self._kernel] if self._kernel is not None else [])

    def host_losses(self) -> dict[str, int]:
        """Packets lost by the guest's interfaces and its kernel's receive path so far.

        Unless the scenario asks for one, its interfaces have no queue that could drop.
        """
        read = self._guest.read
        losses = softnet_losses(read("snd", str(SOFTNET)))
        for side in SIDES:
            interface = INTERFACES[side]
            counts = interface_losses(read(side, "/proc/net/dev"), interface)
            losses |= {f"{interface}_{kind}": count for kind, count in counts.items()}
            if self._request.hosts.qdisc:
                losses[f"{interface}_qdisc_dropped"] = self._guest.qdisc(side).dropped
            losses |= lost(side, self._protocol_counters(side))
        return losses

    def host_strain(self) -> StrainCounts:
        """What ran short in the guest so far; its cores have no load: computing takes no time."""
        pressure: dict[str, int] = {}
        for side in SIDES:
            pressure |= strained(side, self._protocol_counters(side))
        return StrainCounts(pressure)

    def _protocol_counters(self, side: Side) -> str:
        return "".join(self._guest.read(side, path) for path in FILES)

    @property
    def path_ends(self) -> PathEnds:
        """The senders' interface and both hardware addresses."""
        return PathEnds(INTERFACES["snd"], HARDWARE_ADDRESS, HARDWARE_ADDRESS)

    def start_dataplane(self, config: Path) -> ManagedProcess:
        """Never: the data plane is part of each guest."""
        raise InternalError("in virtual time the data plane is started by boot")

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> ManagedProcess:
        """Never: no switch program can be the bottleneck of a guest."""
        raise InternalError("in virtual time there is no switch program")

    def connect_switch(self, timeout_s: float) -> socket.socket:
        """Never; see start_switch."""
        raise InternalError("in virtual time there is no switch program")

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        """Never: a load generator of this machine cannot reach a guest."""
        raise HostError(
            f"{args[0]}: cannot send in virtual time; use our own load generator (`--load own`)"
        )

    def close(self) -> None:
        """Give everything back; what cannot be removed is named in an error."""
        self._end_guest()
        if self._state is None:
            return
        left = runs.remove_run(self._state.state)
        if left:
            raise HostError(f"could not remove {', '.join(left)}")
        self._state.remove()
        self._state = None
        LOG.info("removed everything of the session in virtual time")


def guest_memory_bytes(request: SessionRequest) -> int:
    """Memory of a guest: the testbed's, or more than its flows can need.

    It is a sparse file: what is not used costs nothing.
    """
    if request.testbed.virtual.memory is not None:
        return request.testbed.virtual.memory.bytes
    needed_mib = KERNEL_MIB + -(-WINDOW_COPIES * request.window_bytes // MIB)
    return max(LEAST_MEMORY_MIB, needed_mib) * MIB
