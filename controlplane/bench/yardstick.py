"""Yardsticks: how fast the machine itself is, in the minute in which a part is measured.

Each is measured on one core in a process of its own, whose memory, namespaces and place are no
part's; this module is that process's program, too.
"""

import ctypes
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import NamedTuple

from ..contract.benchmark import RATES, TIMES, Benchmark, Yardstick
from ..contract.errors import HostError
from ..machine.process import command

ROUNDS = 5
ROUND_S = 0.2
ADDITIONS = 100_000
COPIED_BYTES = 256 * 2**20
"""Much more than caches hold."""
MESSAGE_BYTES = 2**20
CLONE_NEWNET = 0x40000000
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"
PORT = 5201

Work = Callable[[], float]
"""Does a little work and returns how much of it, in the yardstick's unit times seconds."""


@contextmanager
def _additions() -> Iterator[Work]:
    def add() -> float:
        total = 0
        for number in range(ADDITIONS):
            total += number
        return ADDITIONS / 1e6

    yield add


@contextmanager
def _copies() -> Iterator[Work]:
    import numpy as np  # noqa: PLC0415 - slow to import

    source = np.ones(COPIED_BYTES, np.uint8)
    copy = np.ones_like(source)

    def work() -> float:
        np.copyto(copy, source)
        return COPIED_BYTES / 1e9

    yield work


@contextmanager
def _kernel_tcp() -> Iterator[Work]:
    """One connection between two namespaces without names: they end with their threads."""
    with ThreadPoolExecutor(1) as here, ThreadPoolExecutor(1) as there:
        here.submit(_enter_namespace).result()
        peer = there.submit(_enter_namespace).result()
        pair = ["ys0", "type", "veth", "peer", "name", "ys1", "netns", peer]
        here.submit(command.run, ["ip", "link", "add", *pair]).result()
        for end, interface, address in ((here, "ys0", SENDER), (there, "ys1", RECEIVER)):
            place = ["dev", interface]
            end.submit(command.run, ["ip", "addr", "add", f"{address}/24", *place]).result()
            end.submit(command.run, ["ip", "link", "set", *place, "up"]).result()
        with (
            there.submit(socket.create_server, (RECEIVER, PORT)).result() as server,
            here.submit(socket.create_connection, (RECEIVER, PORT)).result() as sending,
            server.accept()[0] as receiving,
        ):
            here.submit(_send, sending)
            buffer = bytearray(MESSAGE_BYTES)
            try:
                yield lambda: receiving.recv_into(buffer) * 8 / 1e9
            finally:
                sending.shutdown(socket.SHUT_RDWR)  # ends `_send`, for which its executor waits


def _enter_namespace() -> str:
    """Move this thread into a network namespace of its own; returns where others find it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise HostError(f"no network namespace: {os.strerror(ctypes.get_errno())} (needs root)")
    return f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"


def _send(connection: socket.socket) -> None:
    message = bytes(MESSAGE_BYTES)
    with suppress(OSError):
        while True:
            connection.sendall(message)


class Kind(NamedTuple):
    """A kind of yardstick."""

    name: str
    unit: str
    work: Callable[[], AbstractContextManager[Work]]


LOOP = Kind("Python's additions", "million per second", _additions)
MEMORY = Kind("memory copied", "GB/s", _copies)
TCP = Kind("kernel TCP", "Gbit/s per core", _kernel_tcp)
KINDS = {kind.name: kind for kind in (LOOP, MEMORY, TCP)}
OF_PART: Mapping[str, Kind] = {
    "startup": LOOP,
    "replay": LOOP,
    "cluster": LOOP,
    "virtual": TCP,
    "lanes": TCP,
    "analysis": MEMORY,
}
"""Part -> what is most like its work."""


def with_yardstick(
    part: str, measure: Callable[[], Iterable[Benchmark]], take: Callable[[Kind], Yardstick]
) -> tuple[Benchmark, ...]:
    """What a part measures, with the yardstick of the same minute where it is a speed."""
    kind = OF_PART.get(part)
    if kind is None:
        return tuple(measure())
    before, benchmarks, after = take(kind), tuple(measure()), take(kind)
    values = before.values + after.values
    missing = "" if values else before.missing
    both = before.model_copy(update={"values": values, "missing": missing})
    return tuple(
        each.model_copy(update={"yardstick": both}) if each.unit in (*RATES, *TIMES) else each
        for each in benchmarks
    )


def take_yardstick(kind: Kind) -> Yardstick:
    """Measure a yardstick for about a second; where that fails, it says why."""
    try:
        done = command.attempt([sys.executable, "-m", __name__, kind.name])
    except HostError as error:
        return Yardstick(name=kind.name, unit=kind.unit, missing=error.message)
    if done.code != 0:
        return Yardstick(name=kind.name, unit=kind.unit, missing=done.complaint)
    return Yardstick(name=kind.name, unit=kind.unit, values=json.loads(done.out))


def _rounds(kind: Kind) -> list[float]:
    """Speeds of as many rounds, all on the last core that this process may use."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with kind.work() as work:
        work()  # touches its memory
        return [_speed(work) for _ in range(ROUNDS)]


def _speed(work: Work) -> float:
    done, begun = 0.0, time.perf_counter()
    while True:
        done += work()
        taken = time.perf_counter() - begun
        if taken >= ROUND_S:
            return done / taken


if __name__ == "__main__":
    try:
        print(json.dumps(_rounds(KINDS[sys.argv[1]])))  # noqa: T201 - a program of its own
    except HostError as error:
        sys.exit(error.message)
