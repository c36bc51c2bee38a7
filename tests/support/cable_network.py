"""Machines on one switch, as far as a network goes: namespaces whose cables can be pulled."""

import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.netns import inside

SUBNET = "10.77.0"


@dataclass(frozen=True)
class CableNetwork:
    """Machines by name, each with a cable to the switch.

    Attributes:
        prefix: What all names of its namespaces begin with.
    """

    prefix: str
    machines: Sequence[str]

    def address(self, machine: str) -> str:
        """The IPv4 address of a machine."""
        return f"{SUBNET}.{self.machines.index(machine) + 1}"

    def on(self, machine: str) -> list[str]:
        """What a command begins with that is to run on a machine, and under its host name."""
        enter = f"--net=/run/netns/{self._namespace(machine)}"
        return [
            "nsenter", enter, "unshare", "--uts",
            "sh", "-c", 'hostname "$0"; exec "$@"', machine,
        ]  # fmt: skip

    def pull(self, machine: str) -> None:
        """Pull a machine's cable out of the switch: its own interface stays up, without carrier."""
        self._ip("-n", self._switch, "link", "set", machine, "down")

    def plug(self, machine: str) -> None:
        """Put it back."""
        self._ip("-n", self._switch, "link", "set", machine, "up")

    def reaches(self, machine: str, other: str, port: int) -> bool:
        """Whether a machine can connect to a port of another."""

        def connect() -> bool:
            with socket.create_connection((self.address(other), port), timeout=1):
                return True

        try:
            return inside(self._namespace(machine), connect)
        except OSError:
            return False

    def make(self) -> None:
        self._ip("netns", "add", self._switch)
        self._ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        self._ip("-n", self._switch, "link", "set", "bridge", "up")
        for machine in self.machines:
            self._cable(machine)

    def _cable(self, machine: str) -> None:
        own = self._namespace(machine)
        self._ip("netns", "add", own)
        self._ip(
            "-n", self._switch, "link", "add", machine, "type", "veth",
            "peer", "name", "eth0", "netns", own,
        )  # fmt: skip
        self._ip("-n", self._switch, "link", "set", machine, "master", "bridge", "up")
        self._ip("-n", own, "address", "add", f"{self.address(machine)}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            self._ip("-n", own, "link", "set", link, "up")

    def remove(self) -> None:
        for machine in self.machines:
            subprocess.run(["ip", "netns", "delete", self._namespace(machine)], check=False)
        subprocess.run(["ip", "netns", "delete", self._switch], check=False)

    @property
    def _switch(self) -> str:
        return f"{self.prefix}-switch"

    def _namespace(self, machine: str) -> str:
        return f"{self.prefix}-{machine}"

    @staticmethod
    def _ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)


@contextmanager
def cable_network(*machines: str) -> Iterator[CableNetwork]:
    """A network until the block ends.

    Args:
        machines: Names that make names of interfaces.
    """
    network = CableNetwork(f"nbcut{os.getpid()}", machines)
    try:
        network.make()
        yield network
    finally:
        network.remove()
