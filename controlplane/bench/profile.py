"""Where the processor time of a guest goes: samples by perf, added up by part of the program."""

from __future__ import annotations

import contextlib
import os
import select
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TypeVar

import psutil

from ..contract.errors import HostError, PrerequisiteError
from ..contract.model import ContractModel
from ..machine.process.command import run
from ..machine.process.managed import Process

Key = TypeVar("Key")

PERF = "perf"
EVENT = ("--event", "cpu-clock")
SAMPLES_PER_S = 997
"""No divisor of the kernel's ticks."""
ANSWER_S = 30.0
REPORT_S = 120.0
MOST_SYMBOLS = 30
FIELD = "\t"

PARTS: Mapping[str, str] = {
    "[[]kernel*": "this machine's kernel: switches between the guest's processes, page faults",
    "linux": "the guest's kernel: TCP, its timers, the driver",
    "nashbed-virtual.so": "the bottleneck: queue, delay line, collector",
    "bottleneck.so": "P4 as native code",
    "librte_*": "DPDK: P4's tables and packet buffers",
    "libc.so*": "the C library in the guest's kernel and the bottleneck",
    "*": "the guest's programs, and the rest",
}
"""Pattern of the file that a sample was in -> the part of a guest that it belongs to; the first one
that fits."""


class HotSymbol(ContractModel):
    """A function.

    Attributes:
        percent: Share of all samples.
        file: The program or library that it is in.
        name: Its name.
    """

    percent: float
    file: str
    name: str


class Profile(ContractModel):
    """Where processor time went.

    Attributes:
        parts: Part of the guest -> percent of all samples, the largest first.
        symbols: The functions with the largest shares, the largest first.
    """

    parts: dict[str, float]
    symbols: tuple[HotSymbol, ...]


class _Orders:
    """Orders to a running perf, which acknowledges each: it samples, or it has stopped.

    Args:
        path: Where the samples go; its FIFOs are beside it.
    """

    def __init__(self, path: Path) -> None:
        self._fifos = path.with_suffix(".orders"), path.with_suffix(".answers")
        for fifo in self._fifos:
            os.mkfifo(fifo)
        self._orders, self._answers = (os.open(fifo, os.O_RDWR) for fifo in self._fifos)

    @property
    def option(self) -> str:
        """The option of perf that has it listen."""
        return f"--control=fifo:{self._fifos[0]},{self._fifos[1]}"

    def give(self, order: str) -> None:
        """Give an order; raises HostError where it is not acknowledged in time."""
        os.write(self._orders, f"{order}\n".encode())
        ready, _, _ = select.select([self._answers], [], [], ANSWER_S)
        if not ready:
            raise HostError(f"perf does not {order} within {ANSWER_S:g} s")
        os.read(self._answers, 64)

    def close(self) -> None:
        """Remove the FIFOs."""
        for descriptor, fifo in zip((self._orders, self._answers), self._fifos, strict=True):
            os.close(descriptor)
            fifo.unlink()


@contextlib.contextmanager
def recorded(pid: int, path: Path) -> Iterator[None]:
    """Sample a process and its descendants, present and future ones, meanwhile.

    Args:
        pid: The process.
        path: Where the samples go.

    Raises:
        HostError: perf does not begin, or does not end.
    """
    process = psutil.Process(pid)
    pids = [process.pid, *(each.pid for each in process.children(recursive=True))]
    with contextlib.closing(_Orders(path)) as orders:
        recording = Process(
            PERF,
            [
                *(PERF, "record", *EVENT, "--freq", str(SAMPLES_PER_S)),
                *("--output", str(path), "--no-buildid", "--no-buildid-cache"),
                *("--delay=-1", orders.option, "--pid", ",".join(map(str, pids))),
            ],
            log_path=path.with_suffix(".log"),
        )
        try:
            orders.give("enable")
            yield
            orders.give("stop")
            recording.wait_exit(ANSWER_S)
        finally:
            recording.stop()


def read_profile(path: Path) -> Profile:
    """What `recorded` has left.

    Args:
        path: The samples.

    Raises:
        HostError: perf cannot read them.
    """
    text = run(
        [
            *(PERF, "report", "--stdio", "--input", str(path), "--no-children"),
            *("--fields", "overhead,dso,symbol", "--field-separator", FIELD),
        ],
        timeout_s=REPORT_S,
    ).out
    return read_report(text)


def require_perf() -> None:
    """Raise PrerequisiteError, with the remedy, where perf cannot sample a process."""
    try:
        run([PERF, "record", "--no-buildid-cache", "--output", "/dev/null", *EVENT, "--", "true"])
    except HostError as error:
        raise PrerequisiteError(
            f"no profile without perf: {error}; Debian has it in the package linux-perf, and "
            "ordinary users need `sysctl kernel.perf_event_paranoid=1`"
        ) from error


def read_report(text: str) -> Profile:
    """The answer of `perf report` with the fields overhead, dso and symbol.

    Args:
        text: Its standard output: lines like "28.50%<tab>linux<tab>[.] tcp_ack".
    """
    parts: dict[str, float] = defaultdict(float)
    symbols: dict[tuple[str, str], float] = defaultdict(float)
    for line in text.splitlines():
        if line.startswith("#") or line.count(FIELD) < 2:
            continue
        percent, file, name = (cell.strip() for cell in line.split(FIELD)[:3])
        share = float(percent.rstrip("%"))
        parts[_part(file)] += share
        symbols[file, name.split("] ", maxsplit=1)[-1]] += share
    return Profile(
        parts={name: round(percent, 2) for name, percent in _largest_first(parts)},
        symbols=tuple(
            HotSymbol(percent=round(percent, 2), file=file, name=name)
            for (file, name), percent in _largest_first(symbols)[:MOST_SYMBOLS]
        ),
    )


def _largest_first(shares: dict[Key, float]) -> list[tuple[Key, float]]:
    return sorted(shares.items(), key=lambda item: -item[1])


def _part(file: str) -> str:
    return next(part for pattern, part in PARTS.items() if fnmatch(file, pattern))
