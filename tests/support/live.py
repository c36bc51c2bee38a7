"""A data plane between two namespaces of its own, and what goes through it."""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.support.control import Client
from tests.support.replay import BINARY, SPEC, need_dataplane

PAGE_BYTES = 4096
BUFFERS = 1024 + 32768
"""Packet buffers at queue_packets 1024; without huge pages each takes a page."""

SENDER = "10.64.0.1"
RECEIVER = "10.65.0.1"
ENDS = {"snd": ("nbs0", SENDER), "rcv": ("nbr0", RECEIVER)}
DP_PORTS = {"snd": "nbs1", "rcv": "nbr1"}
MACS = {"snd": "02:00:00:00:01:01", "rcv": "02:00:00:00:01:02"}


def run(*command: str | Path, timeout_s: float = 60) -> str:
    """A command that must succeed; its output."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@dataclass
class Bed:
    """Namespaces <name>-snd, -dp and -rcv, and a data plane in the middle one.

    Attributes:
        folder: Its files; also the data plane's working directory.
        driver: "af_packet", "af_xdp" or "tap".
        loop: "sleep" or "poll". A polling one takes a core: keep it short.
        ends: End -> its interface and address.
        dp_ports: End -> the data plane's interface at the same cable.
    """

    folder: Path
    driver: str = "af_packet"
    loop: str = "sleep"
    name: str = field(default_factory=lambda: f"nbt{secrets.token_hex(2)}")
    ends: dict[str, tuple[str, str]] = field(default_factory=lambda: dict(ENDS))
    dp_ports: dict[str, str] = field(default_factory=lambda: dict(DP_PORTS))
    core: int = field(default_factory=lambda: max(os.sched_getaffinity(0)))
    process: subprocess.Popen[str] | None = None
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "dataplane.err"

    @property
    def socket(self) -> Path:
        """The control socket; in /run, for pytest's paths are too long for one."""
        return Path(f"/run/{self.name}.sock")

    def namespace(self, end: str) -> str:
        """Name of the namespace of "snd", "dp" or "rcv"."""
        return f"{self.name}-{end}"

    def within(self, end: str, *command: str | Path, timeout_s: float = 60) -> str:
        netns = ("ip", "netns", "exec", self.namespace(end))
        return run(*netns, *command, timeout_s=timeout_s)

    def build(self) -> None:
        """Namespaces and, unless the ports are TAPs, the veth pairs."""
        for end in ("dp", *self.ends):
            run("ip", "netns", "add", self.namespace(end))
            self.within(end, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        if self.driver == "tap":
            return
        for end, (iface, _) in self.ends.items():
            peer = ("peer", "name", self.dp_ports[end], "netns", self.namespace("dp"))
            netns = ("netns", self.namespace(end))
            run("ip", "link", "add", "name", iface, *netns, "type", "veth", *peer)
            self.within("dp", "ip", "link", "set", self.dp_ports[end], "up")
            for where, what in ((end, iface), ("dp", self.dp_ports[end])):
                offloads = ["tso", "gso", "gro", "lro", "tx", "rx"]
                features = [word for each in offloads for word in (each, "off")]
                self.within(where, "ethtool", "-K", what, *features)

    def config(self, **changes: Any) -> dict[str, Any]:
        ports = {
            "senders": {"driver": self.driver, "iface": DP_PORTS["snd"]},
            "receivers": {"driver": self.driver, "iface": DP_PORTS["rcv"]},
        }
        return {
            "spec": str(SPEC),
            "control_socket": str(self.socket),
            "cores": [self.core],
            "service_core": min(os.sched_getaffinity(0)),
            "loop": self.loop,
            "huge_pages": False,
            "memory_mb": BUFFERS * PAGE_BYTES // 2**20 + 64,
            "lanes": 4,
            "queue_packets": 1024,
            "ports": ports,
        } | changes

    def start(self, **changes: Any) -> None:
        path = self.folder / "dataplane.json"
        path.write_text(json.dumps(self.config(**changes)))
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace("dp"), BINARY, "--config", path],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self.folder,
            )
        assert self.process.stdout is not None
        ready = self.process.stdout.readline()
        assert ready, f"the data plane did not start: {self.log.read_text()}"
        assert json.loads(ready)["event"] == "ready"
        for end, (iface, address) in self.ends.items():
            self.join(end, iface, address)

    def join(self, end: str, iface: str, address: str) -> None:
        """Give an end its interface, address and the other end as its only neighbour."""
        if self.driver == "tap":
            netns = ("netns", self.namespace(end))
            self.within("dp", "ip", "link", "set", DP_PORTS[end], *netns, "name", iface)
        other = next(each for each in ENDS if each != end)
        self.within(end, "ip", "link", "set", iface, "address", MACS[end], "up")
        self.within(end, "ip", "address", "add", address, "dev", iface)
        self.within(end, "ip", "route", "add", ENDS[other][1], "dev", iface)
        permanent = ("lladdr", MACS[other], "dev", iface, "nud", "permanent")
        self.within(end, "ip", "neigh", "add", ENDS[other][1], *permanent)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def client(self) -> Client:
        """A new connection to the control socket."""
        return Client(self.socket)

    def hello(self) -> dict[str, Any]:
        with self.client() as client:
            return client.call("hello")

    def ping(self, count: int = 5) -> list[float]:
        """Round-trip times in ms; every echo must come back."""
        command = ("ping", "-n", "-i", "0.05", "-c", str(count), "-W", "5", RECEIVER)
        out = self.within("snd", *command)
        times = [float(each) for each in re.findall(r"time=([\d.]+) ms", out)]
        assert len(times) == count, out
        return times

    def stop(self) -> int:
        assert self.process is not None
        with self.client() as client:
            client.call("shutdown")
        return self.process.wait(timeout=20)

    def remove(self) -> None:
        if self.process is not None:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
        for end in ("dp", *self.ends):
            netns = ["ip", "netns", "del", self.namespace(end)]
            subprocess.run(netns, check=False, capture_output=True)
        self.socket.unlink(missing_ok=True)


@contextmanager
def away_from(core: int) -> Iterator[None]:
    """Keep this process and those it starts off a core, where there is another."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {core} or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


AnyBed = TypeVar("AnyBed", bound=Bed)


def bed(
    folder: Path, driver: str = "af_packet", loop: str = "sleep"
) -> AbstractContextManager[Bed]:
    """A running bed, taken away at the end whatever happens."""
    return running(Bed(folder, driver, loop))


@contextmanager
def running(made: AnyBed) -> Iterator[AnyBed]:
    """Build and start a bed; it is taken away at the end whatever happens."""
    if os.geteuid() != 0:
        pytest.skip("needs root: network namespaces")
    need_dataplane()
    with away_from(made.core):
        try:
            made.build()
            made.start()
            yield made
        finally:
            made.remove()


UDP_SENDER = """
import socket, sys, time
src, dst = sys.argv[1:3]
sport, count, size = map(int, sys.argv[3:])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind((src, sport))
    for i in range(count):
        s.sendto(i.to_bytes(4, "big") + bytes(size - 4), (dst, 5001))
        time.sleep(0.001)
"""

UDP_RECEIVER = """
import json, socket, sys
dst, count = sys.argv[1], int(sys.argv[2])
got = []
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind((dst, 5001))
    s.settimeout(5)
    print("ready", flush=True)
    try:
        while len(got) < count:
            got.append(int.from_bytes(s.recv(2048)[:4], "big"))
    except TimeoutError:
        pass
print(json.dumps(got))
"""


def udp_through(
    bed: Bed, sport: int, count: int, size: int, src: str = SENDER, dst: str = RECEIVER
) -> list[int]:
    """Send numbered datagrams of `size` payload bytes; the numbers that came, in their order."""
    netns = ["ip", "netns", "exec", bed.namespace("rcv")]
    receiver = subprocess.Popen(
        [*netns, sys.executable, "-c", UDP_RECEIVER, dst, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "ready\n"
        arguments = (src, dst, str(sport), str(count), str(size))
        bed.within("snd", sys.executable, "-c", UDP_SENDER, *arguments)
        out, _ = receiver.communicate(timeout=30)
        numbers: list[int] = json.loads(out)
        return numbers
    finally:
        receiver.kill()
        receiver.wait()
