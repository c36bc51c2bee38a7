"""A switch program on this machine: bmv2's simple_switch in a namespace of its own."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..contract.errors import HostError, InternalError
from ..contract.switch_bmv2 import SwitchBmv2
from ..contract.testbed import Testbed
from . import command
from .layout import Layout
from .polling import poll
from .process import ManagedProcess

CLONE_NEWNET = 0x40000000
NETNS = Path("/run/netns")
CONNECT_TIMEOUT_S = 1.0


def switch_command(
    testbed: Testbed, layout: Layout, artefact: Path, scratch: Path, options: Sequence[str]
) -> list[str]:
    """simple_switch's command line.

    Args:
        testbed: Says which program, Thrift port and log level.
        layout: Says its interfaces.
        artefact: The compiled P4 program.
        scratch: Where its notification socket goes.
        options: Options of the target itself, after `--`.
    """
    settings = _settings(testbed)
    # A switch is late whenever it waits for a core behind the flows: it goes before them. Its
    # threads inherit what is set before they are made.
    first = ["nice", "-n", "-20"]
    ports = [
        word
        for number, interface in enumerate(layout.switch_interfaces)
        for word in ("-i", f"{number}@{interface}")
    ]
    log = [] if settings.log_level == "off" else ["--log-console", "-L", settings.log_level]
    return [
        *first,
        *(settings.program, *ports, "--thrift-port", str(settings.thrift_port), *log),
        *_notifications(settings.program, scratch),
        str(artefact),
        *(["--", *options] if options else []),
    ]


def _notifications(program: str, scratch: Path) -> tuple[str, ...]:
    """Its notification socket among our own files, where it was built to have one (nanomsg).

    The default is a file in /tmp that nobody removes.
    """
    option = "--notifications-addr"
    if option not in command.attempt([program, "--help"]).out:
        return ()
    return (option, f"ipc://{scratch}/notifications.ipc")


def favour_group(pid: int) -> None:
    """Where sessions are scheduled as groups, it is the group's niceness that counts."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("-20")


def connect_switch(
    testbed: Testbed, layout: Layout, process: ManagedProcess, timeout_s: float
) -> socket.socket:
    """Connect to its Thrift port, waiting for it as long as the program lives.

    Args:
        testbed: Says which port.
        layout: Says in which namespace.
        process: The running program.
        timeout_s: How long to wait, in seconds.

    Raises:
        TargetError: The program ended, or does not answer in time.
    """
    port = _settings(testbed).thrift_port

    def answering() -> socket.socket | None:
        if process.poll() is not None:
            raise process.failure(f"ended before its Thrift port {port} answered")
        return _connected(layout.switch, port)

    silent = f"does not answer at its Thrift port {port} within {timeout_s:g} s"
    return poll(answering, timeout_s, lambda: process.failure(silent), interval_s=0.05)


def _connected(namespace: str, port: int) -> socket.socket | None:
    """A connection made inside a namespace: a socket belongs to the one it was made in.

    A thread of its own enters the namespace and ends there, so that nobody else is moved.
    """
    with ThreadPoolExecutor(1, "netns") as executor:
        made = executor.submit(_socket_in, namespace).result()
    made.settimeout(CONNECT_TIMEOUT_S)
    try:
        made.connect(("127.0.0.1", port))
    except OSError:
        made.close()
        return None
    return made


def _socket_in(namespace: str) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(NETNS / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise HostError(f"network namespace {namespace}: cannot be entered: {reason}")
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    finally:
        os.close(descriptor)


def _settings(testbed: Testbed) -> SwitchBmv2:
    if not isinstance(testbed.switch, SwitchBmv2):
        raise InternalError(f"testbed {testbed.name!r} has no switch program on this machine")
    return testbed.switch
