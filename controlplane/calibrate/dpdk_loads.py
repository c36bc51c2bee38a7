"""The load generators of DPDK, and which generator is used for a testbed.

dpdk-testpmd is exact in size and number, and as fast as it can: `start tx_first N` sends exactly N
bursts before it begins to forward, so with a burst of one packet the number of frames is exact;
forwarding is `rxonly`, which sends nothing.

Pktgen-DPDK paces. It is driven over its Lua socket with hosts/pktgen/nashbed.lua. It runs where the
senders' port is, started by a person with `-G` or `-g HOST:PORT` (docs/how-to/calibrate.md); the
socket is a Lua shell without a prompt, one client at a time. Each start writes all of its packet
buffers anew, which takes a tenth of a second: what was due meanwhile leaves back to back, and a
change of size costs as much. (Its range mode needs one start for many sizes, but counts only
upwards, from a size that depends on all that was sent before; a drop point needs sizes that fall.)
"""

import contextlib
import logging
import re
import shutil
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..contract.errors import ConfigError, HostError
from ..contract.testbed import Testbed
from ..machine.host.session import PathEnds, Session
from ..machine.paths import PKTGEN_SCRIPT
from .load import Burst, BurstStep, Load, OwnLoad

LOG = logging.getLogger(__name__)
START_S = 30.0
TESTPMD = "dpdk-testpmd"
TESTPMD_STEP_S = 0.1
"""More than testpmd needs to stop and to start again."""
_SENT = re.compile(r"NIC statistics for port 0 .*?TX-packets: (\d+)", re.S)
_FAILED = re.compile(r"(?im)^.*(?:error|bad arguments|invalid|not compatible|cannot).*$")
DEFAULT_PORT = 22022
TIMEOUT_S = 10.0
PKTGEN_STEP_S = 0.5
"""What Pktgen needs on a busy machine to write its packet buffers; 0.1 s on an idle one."""
PKTGEN_IS_OPEN = (
    "pktgen: its Lua socket runs whatever anybody sends and listens on every address of its "
    "machine, whatever -g says: keep it in a network namespace or behind a firewall"
)
PKTGEN_PACE = "the first frames of each size leave back to back"
MAX_LINE_BYTES = 64 * 1024
_ANSWER = re.compile(r"nashbed: (\d+) (ok|error) ?(.*)")
MakeLoad = Callable[[Session, Path], Load]
OWN_CARRIES_BPS = 2 * 10**9
"""About what one core sends through kernel sockets; beyond it a DPDK generator is needed."""


def choose_load(asked: str, testbed: Testbed) -> MakeLoad:
    """Decide on a generator.

    Args:
        asked: `own`, `testpmd`, `pktgen[:HOST[:PORT]]` (its Lua socket), or `auto`: ours, unless
            the rate is more than it can send and testpmd is installed. A Pktgen has a port of
            its own, so it is only used where it is named.
        testbed: Its capacity is the rate to be used.

    Raises:
        ConfigError: There is no such generator, or it cannot reach the testbed's hosts.
        HostError: It is not installed.
    """
    kind, _, place = asked.partition(":")
    if testbed.is_virtual and kind not in ("auto", "own"):
        raise ConfigError(
            f"--load {asked}: cannot send into the machines of target virtual; write own"
        )
    if kind == "pktgen":
        return partial(_pktgen, _address(place))
    if place or kind not in ("auto", "own", "testpmd"):
        raise ConfigError(f"--load {asked}: write auto, own, testpmd or pktgen[:HOST[:PORT]]")
    if testbed.is_virtual:
        return OwnLoad
    fast = testbed.capacity.rate.bps > OWN_CARRIES_BPS
    there = shutil.which(TESTPMD) is not None
    if kind == "testpmd" and not there:
        raise HostError(f"{TESTPMD}: not installed; run `apt install dpdk-dev`, or use --load own")
    return _testpmd if kind == "testpmd" or (kind == "auto" and fast and there) else OwnLoad


def _address(place: str) -> tuple[str, int]:
    host, _, port = place.partition(":")
    if port and not (port.isdecimal() and 0 < int(port) < 2**16):
        raise ConfigError(f"--load pktgen:{place}: {port!r} is not a port number")
    return host or "localhost", int(port or DEFAULT_PORT)


def _testpmd(session: Session, folder: Path) -> Load:
    return TestpmdLoad(session)


def _pktgen(address: tuple[str, int], session: Session, folder: Path) -> Load:
    return PktgenLoad(address, session.path_ends)


class TestpmdLoad(Load):
    """testpmd on the senders' interface, once for each burst.

    Args:
        session: Runs it beside the senders.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(self, session: Session) -> None:
        self._session = session

    def describe(self) -> dict[str, str]:
        """Its name; DPDK's version is the machine's."""
        return {"generator": TESTPMD}

    def send(self, burst: Burst) -> int:
        """Send a burst; the pace is testpmd's own."""
        ends = self._session.path_ends
        args = arguments(burst, ends.interface, ends.destination_mac)
        takes_s = START_S + burst.seconds + TESTPMD_STEP_S * len(burst.steps)
        done = self._session.run_beside_senders(args, commands(burst), takes_s)
        if done.code != 0:
            words = _FAILED.findall(done.err + done.out) or [f"exit code {done.code}"]
            raise HostError(f"{TESTPMD}: {words[0].strip()}")
        return frames_sent(done.out)

    def close(self) -> None:
        """Nothing is held between bursts."""


def arguments(burst: Burst, interface: str, destination_mac: str) -> list[str]:
    """The command line: AF_PACKET on the kernel's interface, no huge pages."""
    flow = burst.socket
    return [
        *(TESTPMD, "--lcores=0@0,1@0", "--no-huge", "-m", "256", "--no-pci", "--no-shconf"),
        "--no-telemetry",
        f"--vdev=net_af_packet0,iface={interface},qdisc_bypass=1",
        *("--", "--interactive", "--nb-cores=1", "--forward-mode=rxonly", "--no-flush-rx"),
        *("--total-num-mbufs=8192", "--burst=1"),
        f"--eth-peer=0,{destination_mac}",
        f"--tx-ip={flow.local},{flow.remote}",
        f"--tx-udp={flow.local_port},{flow.remote_port}",
    ]


def commands(burst: Burst) -> str:
    """What is typed: for each step its size and number; at last what was sent in all.

    What each stop tells is not asked for: testpmd loses output that is not read at once.
    """
    return "".join(_step(step) for step in burst.steps) + "show port stats 0\nquit\n"


def _step(step: BurstStep) -> str:
    return f"set txpkts {step.frame_bytes}\nstart tx_first {step.count}\nstop\n"


def frames_sent(out: str) -> int:
    """The port's own count; raises HostError when testpmd does not report it."""
    found = _SENT.search(out)
    if found is None:
        raise HostError(f"{TESTPMD}: does not report how many packets it sent")
    return int(found[1])


class PktgenLoad(Load):
    """A running Pktgen.

    Args:
        address: Host and port of its Lua socket.
    """

    step_s = PKTGEN_STEP_S

    def __init__(self, address: tuple[str, int], ends: PathEnds, pktgen_port: int = 0) -> None:
        self._shell = LuaShell(address)
        self._ends = ends
        self._port = pktgen_port
        try:
            self._shell.run(PKTGEN_SCRIPT)
            self._version = self._shell.greet()
        except BaseException:
            self._shell.close()
            raise

    def describe(self) -> dict[str, str]:
        """Its name and version, and what its pace is worth."""
        return {"generator": "pktgen", "version": self._version, "pace": PKTGEN_PACE}

    def send(self, burst: Burst) -> int:
        """Send a burst, step by step, each paced after its first frames (`PKTGEN_PACE`)."""
        macs = (self._ends.source_mac, self._ends.destination_mac)
        flow = burst.socket
        addresses = (flow.local, flow.remote, flow.local_port, flow.remote_port)
        self._shell.call("flow", self._port, *macs, *addresses)
        for step in burst.steps:
            takes_s = step.count / burst.pps + PKTGEN_STEP_S
            words = (step.frame_bytes, step.count, burst.pps)
            self._shell.call("send", *words, timeout_s=takes_s + TIMEOUT_S)
        sent = self._shell.call("sent")
        if not sent.isdecimal():
            raise HostError(f"pktgen: {sent!r} is not a number of frames")
        return int(sent)

    def close(self) -> None:
        """Stop sending and let the socket go; Pktgen itself keeps running."""
        if self._shell.is_open:
            with contextlib.suppress(HostError):
                self._shell.call("stop")
        self._shell.close()


class NoAnswerError(HostError):
    """Pktgen is connected and says nothing."""


class LuaShell:
    """Pktgen's Lua socket: lines out, numbered answers in, everything else passed over."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._name = f"pktgen at {address[0]}:{address[1]}"
        self._address = address
        self._rest = b""
        self._number = 0
        try:
            self._socket = socket.create_connection(address, TIMEOUT_S)
        except OSError as error:
            raise HostError(
                f"{self._name}: cannot connect ({error.strerror or error}); start it with -G, "
                "see docs/how-to/calibrate.md, or use --load own"
            ) from error
        self.is_open = True

    def run(self, script: Path) -> None:
        """Send a script; its functions can be called afterwards."""
        self._send(script.read_text(encoding="ascii"))

    def greet(self) -> str:
        """Ask for its version: the first answer, for which another client may let us wait.

        Raises:
            HostError: It serves somebody else, or does not answer.
        """
        try:
            return self.call("hello", timeout_s=TIMEOUT_S)
        except NoAnswerError as error:
            raise HostError(
                f"{error.message}: Pktgen serves one client at a time; end the other one "
                f"(`ss -tnp dport = {self._address[1]}` lists it), or start Pktgen again"
            ) from error

    def call(self, name: str, *arguments: str | int, timeout_s: float = TIMEOUT_S) -> str:
        """Call a function of the script; returns what it returns.

        Raises:
            HostError: It failed, or Pktgen does not answer.
        """
        self._number += 1
        words = ", ".join([str(self._number), *(_lua(a) for a in (name, *arguments))])
        self._send(f"nashbed.call({words})\n")
        verdict, text = self._answer(time.monotonic() + timeout_s)
        if verdict != "ok":
            raise HostError(f"{self._name}: {name}: {text}")
        return text

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
        self.is_open = False

    def _send(self, text: str) -> None:
        LOG.debug("%s: %s", self._name, text.strip()[:200])
        try:
            self._socket.sendall(text.encode("ascii"))
        except OSError as error:
            raise self._lost(str(error.strerror or error)) from error

    def _answer(self, deadline: float) -> tuple[str, str]:
        while True:
            found = _ANSWER.search(self._line(deadline))
            if found and int(found[1]) == self._number:
                return found[2], found[3].strip()

    def _line(self, deadline: float) -> str:
        while b"\n" not in self._rest:
            try:
                self._socket.settimeout(max(0.001, deadline - time.monotonic()))
                chunk = self._socket.recv(1 << 16)
            except TimeoutError as error:
                self.close()
                raise NoAnswerError(f"{self._name}: no answer in time") from error
            except OSError as error:
                raise self._lost(str(error.strerror or error)) from error
            if not chunk or len(self._rest) > MAX_LINE_BYTES:
                raise self._lost("a line without end" if chunk else "it closed the connection")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def _lost(self, problem: str) -> HostError:
        self.close()
        return HostError(f"{self._name}: {problem}")


def _lua(value: str | int) -> str:
    """A value as Lua text; only plain words and numbers are ever sent."""
    if isinstance(value, int):
        return str(value)
    if not re.fullmatch(r"[\w.:/-]+", value):
        raise HostError(f"pktgen: {value!r} cannot be sent")
    return f'"{value}"'
