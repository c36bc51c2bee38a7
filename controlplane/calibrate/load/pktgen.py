"""Pktgen-DPDK as a generator, driven over its Lua socket with hosts/pktgen/nashbed.lua.

Pktgen runs where the senders' port is, started by a person with `-G` or `-g HOST:PORT`
(hosts/README.md); the socket is a Lua shell without a prompt, one client at a time.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from pathlib import Path

from ...contract.errors import HostError
from ...machine.host.session import PathEnds
from ...machine.log import LOG
from ...machine.paths import PKTGEN_SCRIPT
from .base import Burst, Load

DEFAULT_PORT = 22022
TIMEOUT_S = 10.0
STEP_S = 0.1
"""More than Pktgen needs to change a size and to be seen idle again."""
MAX_LINE_BYTES = 64 * 1024
_ANSWER = re.compile(r"nashbed: (\d+) (ok|error) ?(.*)")


class PktgenLoad(Load):
    """A running Pktgen.

    Args:
        address: Host and port of its Lua socket.
        ends: Hardware addresses of the path's ends.
        pktgen_port: Number of the port that it sends on.
    """

    def __init__(self, address: tuple[str, int], ends: PathEnds, pktgen_port: int = 0) -> None:
        self._shell = LuaShell(address)
        self._ends = ends
        self._port = pktgen_port
        try:
            self._shell.run(PKTGEN_SCRIPT)
            self._version = self._shell.call("hello")
        except BaseException:
            self._shell.close()
            raise

    def describe(self) -> dict[str, str]:
        """Its name and version."""
        return {"generator": "pktgen", "version": self._version}

    def send(self, burst: Burst) -> int:
        """Send a burst, step by step, each paced."""
        macs = (self._ends.source_mac, self._ends.destination_mac)
        addresses = (burst.src, burst.dst, burst.sport, burst.dport)
        self._shell.call("flow", self._port, *macs, *addresses)
        for step in burst.steps:
            self._shell.call("step", step.frame_bytes, step.count)
        takes_s = burst.seconds + STEP_S * len(burst.steps)
        sent = self._shell.call("send", burst.pps, timeout_s=takes_s + TIMEOUT_S)
        if not sent.isdecimal():
            raise HostError(f"pktgen: {sent!r} is not a number of frames")
        return int(sent)

    def close(self) -> None:
        """Stop sending and let the socket go; Pktgen itself keeps running."""
        if self._shell.is_open:
            with contextlib.suppress(HostError):
                self._shell.call("stop")
        self._shell.close()


class LuaShell:
    """Pktgen's Lua socket: lines out, numbered answers in, everything else passed over.

    Args:
        address: Host and port.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self._name = f"pktgen at {address[0]}:{address[1]}"
        self._rest = b""
        self._number = 0
        try:
            self._socket = socket.create_connection(address, TIMEOUT_S)
        except OSError as error:
            raise HostError(
                f"{self._name}: cannot connect ({error.strerror or error}); start it with -G, "
                "see hosts/README.md, or use --load own"
            ) from error
        self.is_open = True

    def run(self, script: Path) -> None:
        """Send a script; its functions can be called afterwards."""
        self._send(script.read_text(encoding="ascii"))

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
                raise self._lost("no answer in time") from error
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
