"""A data plane in its hosts role, and frames put on its wires and taken off them as they are."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.live import Bed, running

CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SO_TIMESTAMPNS = 35
PACKET_IGNORE_OUTGOING = 23
SOL_PACKET = 263
WIRES = {"snd": ("nbs0", ""), "sw": ("nbi0", ""), "tel": ("nbt0", "")}
DP_PORTS = {"snd": "nbs1", "sw": "nbi1", "tel": "nbt1"}
NAMES = {"snd": "senders", "sw": "switch", "tel": "telemetry"}


@dataclass(frozen=True)
class Seen:
    """A frame that came, with the kernel's time of its coming (CLOCK_REALTIME, ns)."""

    frame: bytes
    time_ns: int


@dataclass
class HostsBed(Bed):
    """Namespaces -snd, -sw and -tel around a data plane with role hosts."""

    def config(self, **changes: Any) -> dict[str, Any]:
        found = super().config(**changes)
        del found["spec"]
        ports = {NAMES[end]: {"driver": self.driver, "iface": DP_PORTS[end]} for end in WIRES}
        return found | {"role": "hosts", "ports": ports}

    def join(self, end: str, iface: str, address: str) -> None:
        """Raw frames need no address."""
        self.within(end, "ip", "link", "set", iface, "up")

    def wire(self, end: str) -> Wire:
        """The far end of one of its wires."""
        return Wire(self.namespace(end), WIRES[end][0])


ECHO_MAGIC = b"nashbed\n"
"""In every echo by which the data plane asks the senders' host (hosts/dpdk/live/echo.c)."""


class Wire:
    """A raw socket at the far end of a wire; it stays in the namespace where it was made."""

    def __init__(self, namespace: str, interface: str) -> None:
        with ThreadPoolExecutor(1) as executor:
            self._socket = executor.submit(_raw_socket, namespace, interface).result()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def send(self, frame: bytes) -> int:
        """Put a frame on the wire; the time just before (CLOCK_REALTIME, ns)."""
        before_ns = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self._socket.send(frame)
        return before_ns

    def receive(self, count: int, timeout_s: float = 10) -> list[Seen]:
        """The next `count` frames but for the data plane's echoes, fewer when they are late."""
        deadline = time.monotonic() + timeout_s
        seen: list[Seen] = []
        while len(seen) < count and (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                frame, extra, _, _ = self._socket.recvmsg(2048, 256)
            except TimeoutError:
                break
            if ECHO_MAGIC in frame:
                continue
            seconds, nanoseconds = struct.unpack("qq", extra[0][2])
            seen.append(Seen(frame, seconds * 10**9 + nanoseconds))
        return seen


def _raw_socket(namespace: str, interface: str) -> socket.socket:
    descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        entered = ctypes.CDLL(None).setns(descriptor, CLONE_NEWNET)
        assert entered == 0, f"cannot enter {namespace}"
    finally:
        os.close(descriptor)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    raw.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    raw.bind((interface, 0))
    return raw


def hosts_bed(
    folder: Path, driver: str = "af_packet", loop: str = "sleep"
) -> AbstractContextManager[HostsBed]:
    """A running bed, taken away at the end whatever happens."""
    return running(HostsBed(folder, driver, loop, ends=dict(WIRES), dp_ports=dict(DP_PORTS)))
