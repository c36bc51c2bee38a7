"""Where the processor time of a guest goes: samples by perf, added up by part of the program."""

from __future__ import annotations

import contextlib
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
SAMPLES_PER_S = 997
"""No divisor of the kernel's ticks."""
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


@contextlib.contextmanager
def recorded(pid: int, path: Path) -> Iterator[None]:
    """Sample a process and its descendants, present and future ones, meanwhile.

    Args:
        pid: The process.
        path: Where the samples go.
    """
    processes = psutil.Process(pid)
    pids = [processes.pid, *(each.pid for each in processes.children(recursive=True))]
    recording = Process(
        PERF,
        [
            *(PERF, "record", "--event", "cpu-clock", "--freq", str(SAMPLES_PER_S)),
            *("--output", str(path), "--pid", ",".join(map(str, pids))),
        ],
        log_path=path.with_suffix(".log"),
    )
    try:
        yield
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
        run([PERF, "record", "--event", "cpu-clock", "--output", "/dev/null", "--", "true"])
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
