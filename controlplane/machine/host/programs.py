"""Programs that are the bottleneck on this machine, or stand in for it.

bmv2's simple_switch runs in a namespace of its own; the data plane may run once, to its end, as for
a replay.
"""

import contextlib
import ctypes
import json
import os
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pydantic import ValidationError

from ...contract.errors import (
    EXIT_CONFIG,
    EXIT_HOST,
    EXIT_TARGET,
    ConfigError,
    HostError,
    InternalError,
    NashbedError,
    TargetError,
)
from ...contract.messages.message import ErrorEvent, read_message
from ...contract.messages.replay import EffectiveConfiguration
from ...contract.testbed import SwitchBmv2, Testbed
from ...store.staging import scratch_folder
from ..process import command
from ..process.clock import poll
from ..process.command import Completed
from ..process.managed import ManagedProcess
from .layout import Layout

CLONE_NEWNET = 0x40000000
NETNS = Path("/run/netns")
CONNECT_TIMEOUT_S = 1.0
REPLAY_TIMEOUT_S = 24 * 3600.0
_ERRORS: dict[int, type[NashbedError]] = {
    EXIT_CONFIG: ConfigError,
    EXIT_TARGET: TargetError,
    EXIT_HOST: HostError,
}


def switch_command(
    testbed: Testbed, layout: Layout, artefact: Path, scratch: Path, options: Sequence[str]
) -> list[str]:
    """simple_switch's command line.

    Args:
        testbed: Says which program, Thrift port and log level.
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
        Path(f"/proc/{pid}/autogroup").write_text("-20", encoding="utf-8")


def connect_switch(
    testbed: Testbed, layout: Layout, process: ManagedProcess, timeout_s: float
) -> socket.socket:
    """Connect to its Thrift port, waiting for it as long as the program lives.

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


def run_dataplane(args: Sequence[str]) -> Completed:
    """Run it and wait; raises the error of its exit code with its last words."""
    done = command.attempt(args, timeout_s=REPLAY_TIMEOUT_S)
    if done.code != 0:
        kind = _ERRORS.get(done.code, InternalError)
        raise kind(_last_words(done))
    return done


def p4_runs_as(program: Path, spec: Path) -> tuple[str, str]:
    """How a data plane runs a compiled P4 program: "native" or "interpreted", and why not native.

    Args:
        spec: The P4 program.
    """
    port = {"driver": "af_packet", "iface": "none"}
    config = {
        "spec": str(spec),
        "control_socket": "/unused",
        "ports": {"senders": port, "receivers": port},
    }
    with scratch_folder("check") as folder:
        file = folder / "dataplane.json"
        file.write_text(json.dumps(config))
        done = run_dataplane([str(program), "--config", str(file), "--check"])
    checked = read_message(EffectiveConfiguration, done.out, "data plane: --check")
    return str(checked.pipeline), done.err.strip()


def _last_words(done: Completed) -> str:
    """The error that it reports: as a JSON line, or as the last line of its standard error."""
    for line in reversed(done.out.splitlines()):
        with contextlib.suppress(ValidationError):
            return ErrorEvent.model_validate_json(line).error
    lines = [line.strip() for line in done.err.splitlines() if line.strip()]
    return lines[-1] if lines else f"the data plane ended with code {done.code}"
