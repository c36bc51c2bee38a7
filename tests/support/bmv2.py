"""A simple_switch in a namespace of its own, and PTF at its three ports."""

import secrets
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.errors import NashbedError, TargetError
from nashbed.controlplane.targets.bmv2.runtime import ThriftRuntime, load_bindings
from tests.support.live import run
from tests.support.netns import inside
from tests.support.programs import why_missing
from tests.support.replay import ROOT

PROGRAM = "simple_switch"
ARTEFACT = ROOT / "p4src" / "bmv2" / "bottleneck.json"
THRIFT_PORT = 9090
SENDERS, RECEIVERS, TELEMETRY = range(3)
MTU = 2100
OFFLOADS = ("tso", "gso", "gro", "lro", "tx", "rx")
"""Off: with any of them simple_switch's capture ring holds 32 frames, and what is more is lost."""
SOCKET_BUFFER_BYTES = 64 * 2**20
SO_RCVBUFFORCE = 33
DEVICE = 0


def why_not() -> str:
    """Why simple_switch cannot be run here; empty where it can."""
    if missing := why_missing(PROGRAM):
        return missing
    try:
        load_bindings(PROGRAM)
    except NashbedError as error:
        return error.message
    return ""


def notifications(scratch: Path) -> list[str]:
    """Where its notification socket goes, for a build that has one."""
    option = "--notifications-addr"
    return (
        [option, f"ipc://{scratch}/notifications.ipc"] if option in run(PROGRAM, "--help") else []
    )


class SwitchProcess:
    """TargetProcess of a simple_switch that a test started."""

    def __init__(self, popen: subprocess.Popen[bytes], log: Path) -> None:
        self._popen = popen
        self._log = log

    def poll(self) -> int | None:
        return self._popen.poll()

    def wait_event(self, event: str, timeout_s: float) -> dict[str, Any]:
        raise TargetError("simple_switch reports no events")

    def wait_exit(self, timeout_s: float) -> int:
        return self._popen.wait(timeout_s)

    def stop(self) -> None:
        self._popen.terminate()
        try:
            self._popen.wait(5)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def failure(self, problem: str) -> Exception:
        return TargetError(f"simple_switch {problem} ({self.poll()}): {self._log.read_text()}")


@dataclass
class SwitchBed:
    """The namespace of one simple_switch: a SwitchHost for the adapter."""

    scratch: Path
    namespace: str = field(default_factory=lambda: f"nbt{secrets.token_hex(2)}-sw")
    process: SwitchProcess | None = None

    def build(self) -> None:
        """The namespace, with a veth pair tst<n>-sw<n> for each port."""
        run("ip", "netns", "add", self.namespace)
        self.within("sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        self.within("ip", "link", "set", "lo", "up")
        for port in (SENDERS, RECEIVERS, TELEMETRY):
            ends = (f"tst{port}", f"sw{port}")
            self.within("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for end in ends:
                features = [word for each in OFFLOADS for word in (each, "off")]
                self.within("ethtool", "-K", end, *features)
                self.within("ip", "link", "set", end, "mtu", MTU, "up")

    def within(self, *command: str | int) -> str:
        return run("ip", "netns", "exec", self.namespace, *map(str, command))

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> SwitchProcess:
        ports = [word for port in range(3) for word in ("-i", f"{port}@sw{port}")]
        log = self.scratch / "switch.log"
        with log.open("wb") as output:
            popen = subprocess.Popen(
                [
                    *("ip", "netns", "exec", self.namespace, PROGRAM, *ports),
                    *("--thrift-port", str(THRIFT_PORT)),
                    *notifications(self.scratch),
                    *(str(artefact), "--", *options),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.process = SwitchProcess(popen, log)
        return self.process

    def connect_switch(self, timeout_s: float) -> socket.socket:
        deadline = time.monotonic() + timeout_s
        while True:
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise self.process.failure(f"does not answer at port {THRIFT_PORT}")
            made = inside(self.namespace, socket.socket)
            try:
                made.connect(("127.0.0.1", THRIFT_PORT))
                return made
            except OSError:
                made.close()
                time.sleep(0.02)

    def runtime(self) -> ThriftRuntime:
        return ThriftRuntime(self.connect_switch(10), load_bindings(PROGRAM))

    def remove(self) -> None:
        if self.process is not None:
            self.process.stop()
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)


class Wire:
    """PTF's data plane at the test's ends of the three ports.

    Args:
        namespace: Where the ends are; empty: in this one.
        ends: The interfaces of senders, receivers and telemetry.
    """

    def __init__(self, namespace: str, ends: Sequence[str] = ("tst0", "tst1", "tst2")) -> None:
        from ptf.dataplane import DataPlane

        self.received: list[list[tuple[float, bytes]]] = [[], [], []]

        def make() -> DataPlane:
            plane = DataPlane({"platform": "eth", "qlen": 10**6})
            for port, end in enumerate(ends):
                plane.port_add(end, DEVICE, port)
                sock = plane.ports[(DEVICE, port)].socket
                sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER_BYTES)
            return plane

        self._plane = inside(namespace, make) if namespace else make()

    def send(self, port: int, frame: bytes) -> None:
        """Put a frame on a wire towards the switch."""
        self._plane.send(DEVICE, port, frame)

    def collect(self) -> None:
        """Add what has come to `received`."""
        for port, frames in enumerate(self.received):
            while (came := self._plane.poll(DEVICE, port, timeout=0)).packet is not None:
                frames.append((came.time, came.packet))

    def close(self) -> None:
        """End PTF's thread."""
        self._plane.kill()


@contextmanager
def switch_bed(folder: Path) -> Iterator[SwitchBed]:
    """A bed without a running switch; taken away at the end whatever happens."""
    bed = SwitchBed(folder)
    try:
        bed.build()
        yield bed
    finally:
        bed.remove()
