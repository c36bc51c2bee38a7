"""The programs of an attempt whose strategies are programs: a server and a client for each process.

Everything they write goes into a folder of the attempt, which is removed once it was read.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..contract.errors import HostError, Interrupted, NashbedError
from ..contract.messages.flows import SenderFlowReport, SinkFlowReport
from ..contract.program import FlowProgram, filled
from ..contract.shared import CONSTANTS
from ..contract.units import NS_PER_S, Size, bytes_in_flight
from ..machine.host.layout import Side
from ..machine.host.session import Session
from ..machine.host.sockets import ANY, ANY_IPV6, local_ends
from ..machine.process.clock import poll
from ..machine.process.flow_programs import INSTALLED, PATH, which
from ..machine.process.managed import ManagedProcess, ending
from ..plan.attempt import Attempt, TrialFlow
from .lab import quietly

FOLDER = "programs"
"""Of an attempt's folder: what programs write."""
READY_TIMEOUT_S = 10.0
END_MARGIN_S = 10.0
STEP_NS = NS_PER_S
MOST_FILE_BYTES = 128_000_000
"""The largest file that a program may write, besides what it may note of each packet."""
BLOCK_BYTES = 512
"""What `ulimit -f` of a POSIX shell counts in."""
LONGEST_WORDS = 300
FIRST_SIGNAL = 128
"""Exit codes above it stand for signals, as in shells."""
CONFINED = 'ulimit -f "$0" && cd "$1" && shift && exec "$@" >&2'
"""Standard output goes where standard error goes: to the program's own file."""
BINDS = """
import socket, sys
_, transport, address, port = sys.argv
kind = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[transport]
socket.socket(socket.AF_INET, kind).bind((address, int(port)))
"""
"""Fails where a socket has the port at the address of IPv4."""


@dataclass
class Pair:
    """A server and a client, and the flows that they make.

    Attributes:
        most_bytes: The largest file that it may write.
        start_ns: When its data could begin, after t0.
        end_ns: When the sender ended, after t0.
    """

    flows: tuple[TrialFlow, ...]
    program: FlowProgram
    folder: Path
    most_bytes: int
    server: ManagedProcess | None = None
    client: ManagedProcess | None = None
    start_ns: int = 0
    end_ns: int = 0

    @property
    def port(self) -> int:
        """The server's, and the client's first."""
        return self.flows[0].dport

    @property
    def server_side(self) -> Side:
        """Among which hosts the server is."""
        return "snd" if self.program.sender == "server" else "rcv"

    @property
    def client_side(self) -> Side:
        """Among which hosts the client is."""
        return "rcv" if self.program.sender == "server" else "snd"

    @property
    def server_address(self) -> str:
        """Where the server is to listen."""
        return self.flows[0].src if self.program.sender == "server" else self.flows[0].dst

    @property
    def client_start_ns(self) -> int:
        """When the client is to start, after t0."""
        first = self.flows[0]
        return first.start_ns - self.program.round_trips * first.base_rtt_ns

    @property
    def processes(self) -> list[ManagedProcess]:
        """Those that were started, the sender first."""
        both = [self.server, self.client]
        if self.program.sender == "client":
            both.reverse()
        return [process for process in both if process is not None]

    def failed(self, process: ManagedProcess, problem: str) -> HostError:
        """An error that says what became of a process, with its last words."""
        full = self.most_bytes - BLOCK_BYTES
        if any(file.stat().st_size >= full for file in self.folder.iterdir()):
            size = Size(self.most_bytes)
            return HostError(f"{process.name} wrote a file of {size}; make it say less")
        code, words = process.poll(), process.last_words
        if code is not None and code > FIRST_SIGNAL:
            code = FIRST_SIGNAL - code
        said = f": {words[-1][:LONGEST_WORDS]}" if words else ""
        return HostError(f"{process.name} {problem}{ending(code)}{said}")


class Programs:
    """Servers and clients of an attempt.

    Args:
        stop: Ends every wait early when set.
    """

    def __init__(self, session: Session, attempt: Attempt, stop: threading.Event) -> None:
        self._session = session
        self._attempt = attempt
        self._stop_event = stop
        self._has_ipv4: dict[str, bool] = {}
        rate_bps, longest_ns = attempt.trial.setting.most_rate_bps, attempt.scenario.longest.ns
        self._plenty_bytes = 2 * bytes_in_flight(rate_bps, longest_ns)
        most_bytes = MOST_FILE_BYTES + self._plenty_bytes
        self._pairs = [
            Pair(flows, program, program_folder(attempt.folder, flows[0]), most_bytes)
            for flows in attempt.program_flows
            if (program := flows[0].program) is not None
        ]

    @property
    def lead_ns(self) -> int:
        """How long before t0 the first client is to start."""
        return max(0, *(-pair.client_start_ns for pair in self._pairs)) if self._pairs else 0

    def start_servers(self) -> None:
        """Start every server, and wait until its port is open.

        The generators' files are there then, even if no flow is theirs.

        Raises:
            HostError: One ends, opens no port, or listens at another address.
        """
        for name in (CONSTANTS.flow_samples_file, CONSTANTS.goodput_file) if self._pairs else ():
            (self._attempt.folder / name).touch()
        for pair in self._pairs:
            pair.folder.mkdir(parents=True)
            pair.server = self._start(pair, "server", pair.server_side, pair.program.server)
            self._await_port(pair, pair.server, pair.server_side, pair.server_address)

    def run(self, t0_ns: int) -> None:
        """Start each client when its flow is to start, and end all at the trial's end.

        Raises:
            HostError: One ends early, or does not end when it is to.
        """
        if not self._pairs:
            return
        for pair in sorted(self._pairs, key=lambda pair: pair.client_start_ns):
            self._pass_time(t0_ns + pair.client_start_ns)
            self._start_client(pair)
            late_ns = self._session.clock.now_ns() - t0_ns - pair.client_start_ns
            pair.start_ns = pair.flows[0].start_ns + late_ns
        self._pass_time(t0_ns + self._attempt.scenario.longest.ns)
        for pair in self._pairs:
            if not pair.program.ends_itself:
                pair.processes[0].stop()
        for pair in self._pairs:
            if pair.program.ends_itself:
                self._await_end(pair)
            pair.end_ns = self._session.clock.now_ns() - t0_ns

    def reports(self) -> tuple[list[SenderFlowReport], list[SinkFlowReport]]:
        """What is known of every flow before postcards are read: when it began and ended."""
        senders, sinks = [], []
        for pair in self._pairs:
            for flow in pair.flows:
                senders.append(_sender_report(flow, pair))
                sinks.append(_sink_report(flow))
        return senders, sinks

    def stop(self) -> None:
        """End what is still running."""
        for pair in self._pairs:
            for process in pair.processes:
                quietly(process.name, process.stop)

    def _start_client(self, pair: Pair) -> None:
        """Start a client; its first socket has the flow's port, which the kernel is told to give.

        A command that names `{client_port}` takes it itself.
        """
        side, command = pair.client_side, pair.program.client
        if pair.program.has("client_port"):
            pair.client = self._start(pair, "client", side, command)
            return
        with self._session.only_port(side, pair.port):
            pair.client = self._start(pair, "client", side, command)
            self._await_port(pair, pair.client, side, "")

    def _start(self, pair: Pair, what: str, side: Side, command: Sequence[str]) -> ManagedProcess:
        name = f"{pair.flows[0].cc} {what} of flow {pair.flows[0].index}"
        words = filled(tuple(command), self._values(pair))
        words[0] = str(which(words[0]))
        environment = [f"PATH={PATH}", f"HOME={pair.folder}", "LC_ALL=C.UTF-8"]
        blocks = str(pair.most_bytes // BLOCK_BYTES)
        confined = ["/bin/sh", "-c", CONFINED, blocks, str(pair.folder), *words]
        args = ["/usr/bin/env", "-i", *environment, *confined]
        return self._session.start_program(name, side, args, output_of(pair.folder, what))

    def _values(self, pair: Pair) -> dict[str, str]:
        first = pair.flows[0]
        left_ns = self._attempt.scenario.longest.ns - first.start_ns
        by_server = pair.program.sender == "server"
        return {
            **INSTALLED,
            "address": pair.server_address,
            "port": str(pair.port),
            "client_address": first.dst if by_server else first.src,
            "client_port": str(pair.port),
            "seconds": str(-(-left_ns // NS_PER_S)),
            "bytes": str(self._plenty_bytes),
            "flows": str(len(pair.flows)),
            "cc": first.cc.rpartition("-")[2],
            "log": str(pair.folder),
        }

    def _await_port(self, pair: Pair, process: ManagedProcess, side: Side, address: str) -> None:
        """Wait until a process has its port.

        Args:
            address: At which it must be; empty: at any.
        """
        transport = pair.program.transport
        elsewhere: list[str] = []

        def bound() -> bool | None:
            self._check(pair, process)
            listed = self._sockets(side, transport)
            ends = [end for end, port in listed if port == pair.port]
            elsewhere[:] = (f"[{end}]" if ":" in end else end for end in ends)
            if {ANY, address} & {*ends} or (ends and not address):
                return True
            return True if ANY_IPV6 in ends and self._serves_ipv4(pair) else None

        def failure() -> Exception:
            if elsewhere:
                where = f"{elsewhere[0]}:{pair.port}"
                where += " for IPv6 alone" if where.startswith("[") else ""
                return pair.failed(process, f"listens on {where}, and not on {address}")
            return pair.failed(process, f"has not opened {transport} port {pair.port}")

        poll(bound, READY_TIMEOUT_S, failure, clock=self._session.clock)

    def _serves_ipv4(self, pair: Pair) -> bool:
        """Whether a server that listens on `::` has its port at its address of IPv4 as well.

        One server of each strategy is tried: a guest has room for few processes.
        """
        strategy = pair.flows[0].cc
        if strategy not in self._has_ipv4:
            end = [pair.program.transport, pair.server_address, str(pair.port)]
            args = [INSTALLED["python"], "-ISc", BINDS, *end]
            output = output_of(pair.folder, "bind")
            name = f"another socket at {strategy}'s port"
            tried = self._session.start_program(name, pair.server_side, args, output)
            self._has_ipv4[strategy] = tried.wait_exit(READY_TIMEOUT_S) != 0
        return self._has_ipv4[strategy]

    def _sockets(self, side: Side, transport: str) -> list[tuple[str, int]]:
        """Local ends of a side's sockets; those of IPv6 where its kernel has that."""
        text = self._session.read_host(side, f"/proc/net/{transport}")
        with contextlib.suppress(NashbedError):
            text += self._session.read_host(side, f"/proc/net/{transport}6")
        return local_ends(text)

    def _pass_time(self, until_ns: int) -> None:
        """Let time pass until then.

        Raises:
            HostError: A program ends before.
        """
        clock = self._session.clock
        while (left_ns := until_ns - clock.now_ns()) > 0:
            clock.sleep(min(STEP_NS, left_ns) / NS_PER_S)
            self._session.require_targets()
            for pair in self._pairs:
                for process in pair.processes:
                    self._check(pair, process)

    def _check(self, pair: Pair, process: ManagedProcess) -> None:
        if self._stop_event.is_set():
            raise Interrupted(f"{process.name}: stopped")
        if process.poll() is not None:
            raise pair.failed(process, "ended early")

    def _await_end(self, pair: Pair) -> None:
        """Wait for the end of a client that was told how long to send."""
        assert pair.client is not None, "all clients were started"
        code = pair.client.wait_exit(END_MARGIN_S)
        if code != 0:
            raise pair.failed(pair.client, "failed")


def program_folder(folder: Path, first: TrialFlow) -> Path:
    """Where the process that makes a flow, its first one, writes."""
    return folder / FOLDER / str(first.index)


def output_of(folder: Path, what: str) -> Path:
    """The file with what a `server` or a `client` says."""
    return folder / f"{what}.txt"


def _sender_report(flow: TrialFlow, pair: Pair) -> SenderFlowReport:
    return SenderFlowReport(
        flow=flow.index,
        cc_applied=flow.cc,
        connect_ns=pair.start_ns,
        handshake_ns=None,
        start_ns=pair.start_ns,
        end_ns=pair.end_ns,
        bytes_acked=0,
        bytes_sent=0,
        bytes_retrans=0,
        total_retrans=0,
        notsent_bytes=0,
        min_rtt_us=None,
        error=None,
    )


def _sink_report(flow: TrialFlow) -> SinkFlowReport:
    return SinkFlowReport(
        flow=flow.index,
        bytes=0,
        first_byte_ns=None,
        last_byte_ns=None,
        closed="open",
        error=None,
    )
