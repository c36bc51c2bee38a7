"""Linux's own queue disciplines, compiled from the kernel's files, before a line of an exact rate.

The files are those that `make qdiscs` has fetched (source.py); kernel/kernel.h stands for the rest
of the kernel. The clock, the timers and the random numbers are kernel/run.c's.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cffi import FFI
from numpy.typing import NDArray
from tests.oracle.source import LinuxSource, sources
from tests.support.replay import BUILD

HERE = Path(__file__).parent / "kernel"
RUN_C = HERE / "run.c"

OPERATIONS = {
    "bfifo": "fifo",
    "codel": "codel",
    "dualpi2": "dualpi2",
    "fq_codel": "fq_codel",
    "pfifo": "fifo",
    "pie": "pie",
    "red": "red",
    "tbf": "tbf",
}
"""A qdisc and the file that it is in."""

ARRIVAL = np.dtype(
    [("ns", "<u8"), ("bytes", "<u4"), ("hash", "<u4"), ("truesize", "<u4"), ("ecn", "<u4")]
)
"""struct arrival of run.c."""

OUTCOME = np.dtype(
    [
        ("decided_ns", "<u8"),
        ("departure_ns", "<u8"),
        ("dropped", "u1"),
        ("reason", "u1"),
        ("marked", "u1"),
        ("spare", "u1"),
        ("order", "<u4"),
    ]
)
"""struct outcome of run.c."""

SETUP = re.compile(r"^struct setup \{.*?^\};", re.MULTILINE | re.DOTALL)
RUN = FFI()
RUN.cdef(
    "typedef uint64_t u64; typedef uint32_t u32;"
    + re.sub(r"const struct \w+ |struct nlattr ", "void ", SETUP.findall(RUN_C.read_text())[0])
    + "int oracle_run(struct setup *, void *arrivals, size_t n, void *outcomes, u64 *draws);"
    + "".join(f"extern void *oracle_{name};" for name in OPERATIONS)
)

FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-fno-strict-aliasing", "-fwrapv", "-w")


@dataclass(frozen=True)
class Line:
    """The line and the machine.

    Attributes:
        rate_bps: Bits per second, exactly.
        overhead: Bytes for each packet that take time on the line, but are not in the queue.
        seed: Of the random numbers.
        hz: Ticks a second; 1 MHz for timers that are as exact as their options.
        is_exact: Timers come when they are due; else with the tick after, as the kernel's do.
        epoch_ns: The kernel's clock at time 0.
        mtu: The device's.
        bypasses: A packet that finds no other waiting goes past the qdisc, as it does in the kernel
            where the qdisc is a device's own (root).
    """

    rate_bps: int
    overhead: int = 0
    seed: int = 1
    hz: int = 1_000_000
    is_exact: bool = True
    epoch_ns: int = 2**40
    mtu: int = 1500
    bypasses: bool = False


@dataclass(frozen=True)
class Result:
    """What became of the arrivals.

    Attributes:
        outcomes: Shape (n,), dtype OUTCOME, in the order of the arrivals.
    """

    outcomes: NDArray[Any]
    draws: int


@dataclass(frozen=True)
class Qdisc:
    """A qdisc with its options as they go over netlink: attribute and value.

    Attributes:
        name: Such as "codel".
        options: Numbers of attributes and their bytes, in their order.
        is_plain: The options are the value of one attribute, not attributes in it.
        inner: The qdisc in it; None: its own.
    """

    name: str
    options: list[tuple[int, bytes]] = field(default_factory=list)
    is_plain: bool = False
    inner: Qdisc | None = None

    def encoded(self) -> bytes | None:
        """One netlink attribute; None without options."""
        if not self.options:
            return None
        if self.is_plain:
            return _attribute(1, self.options[0][1])
        return _attribute(1, b"".join(_attribute(kind, data) for kind, data in self.options))


def codel(**options: int) -> Qdisc:
    """Tc's codel: times in us, limit in packets."""
    return Qdisc("codel", _numbers(options, "target limit interval ecn ce_threshold"))


def fq_codel(**options: int) -> Qdisc:
    """Tc's fq_codel: times in us, limit in packets, quantum and memory_limit in bytes."""
    names = "target limit interval ecn flows quantum ce_threshold drop_batch memory_limit"
    return Qdisc("fq_codel", _numbers(options, names))


def pie(**options: int) -> Qdisc:
    """Tc's pie: times in us, limit in packets, alpha and beta in sixteenths."""
    names = "target limit tupdate alpha beta ecn bytemode dq_rate_estimator"
    return Qdisc("pie", _numbers(options, names))


DUALPI2_BYTES = {"coupling", "drop_overload", "drop_early", "c_protection", "ecn_mask", "split_gso"}


def dualpi2(**options: int) -> Qdisc:
    """Tc's dualpi2: times in us, alpha and beta in 1/256 Hz."""
    names = (
        "limit memory_limit target tupdate alpha beta step_packets step_us min_qlen_step "
        "coupling drop_overload drop_early c_protection ecn_mask split_gso"
    )
    return Qdisc("dualpi2", _numbers(options, names, DUALPI2_BYTES) or [(10, b"\2")])


def fifo(name: str, limit: int) -> Qdisc:
    """Tc's bfifo or pfifo."""
    return Qdisc(name, [(0, struct.pack("=I", limit))], is_plain=True)


ETHERNET = 1
"""TC_LINKLAYER_ETHERNET."""


def tbf(
    rate_bps: int,
    burst: int,
    limit: int,
    peak_bps: int = 0,
    mtu: int = 0,
    overhead: int = 0,
    inner: Qdisc | None = None,
) -> Qdisc:
    """Tc's tbf: burst, limit and mtu in bytes; rates are whole bytes a second."""
    specs = b"".join(
        struct.pack("=BBHhHI", 0, ETHERNET, overhead, 0, 0, bps // 8)
        for bps in (rate_bps, peak_bps)
    )
    options = [(1, specs + struct.pack("=III", limit, 0, 0)), (6, struct.pack("=I", burst))]
    if peak_bps:
        options.append((7, struct.pack("=I", mtu)))
    return Qdisc("tbf", options, inner=inner)


TICKS_IN_US = 1000 / 64


@dataclass(frozen=True)
class Red:
    """What one says to tc's red.

    Attributes:
        limit: Bytes.
        low: Threshold below which nothing is dropped, in bytes.
        high: Threshold above which everything is.
        average: Bytes of a mean packet.
        burst: Packets of a burst that passes.
        probability: At the upper threshold.
        rate_bps: For the decay of the average while the line is idle.
        ecn: Marks.
        harddrop: Above the upper threshold drops, even with ECN.
        nodrop: What cannot be marked is queued.
        adaptive: Adapts the probability.
        in_ticks: The decay is computed as tc does it, in ticks of 64 ns, which the kernel takes for
            us; else in us.
    """

    limit: int
    low: int
    high: int
    average: int
    burst: int
    probability: float
    rate_bps: int
    ecn: bool = False
    harddrop: bool = False
    nodrop: bool = False
    adaptive: bool = False
    in_ticks: bool = False

    @property
    def weight_log(self) -> int:
        """The average's weight as a power of two: the least that lets a burst pass."""
        packets = self.burst + 1 - self.low / self.average
        for log in range(1, 32):
            weight = 2.0**-log
            if packets <= (1 - (1 - weight) ** self.burst) / weight:
                return log
        raise ValueError("no such weight")

    def damping(self) -> tuple[int, bytes]:
        """How the average decays while idle: log2 of a step in us, and shifts for 256 steps.

        By tc's formula, which has the natural logarithm where the kernel shifts by powers of two.
        """
        packet_us = self.average * 8e6 / self.rate_bps
        if self.in_ticks:
            packet_us = int(int(packet_us) * TICKS_IN_US)
        per_us = -math.log(1 - 2.0**-self.weight_log) / packet_us
        log = next(each for each in range(32) if 31 / per_us / 2**each < 512)
        shifts = [min(31, int((step << log) * per_us)) for step in range(255)]
        return log, bytes([*shifts, 31])

    def qdisc(self) -> Qdisc:
        """As tc says it to the kernel."""
        step_log, shifts = self.damping()
        flags = self.ecn | self.harddrop << 1 | self.adaptive << 2 | self.nodrop << 3
        share = self.probability / (self.high - self.low)
        probability_log = next(log for log in range(32) if share * 2.0**log > 1)
        logs = (self.weight_log, probability_log, step_log)
        parameters = struct.pack("=IIIBBBB", self.limit, self.low, self.high, *logs, flags)
        maximum = struct.pack("=I", int(self.probability * 2**32))
        return Qdisc("red", [(1, parameters), (2, shifts), (3, maximum)])


def run(qdisc: Qdisc, line: Line, arrivals: NDArray[Any], source: LinuxSource) -> Result:
    """Send arrivals through a qdisc; what waits at the end is sent.

    Args:
        qdisc: With its options.
        arrivals: Shape (n,), dtype ARRIVAL, in the order of their times.
        source: The kernel.

    Raises:
        OSError: The qdisc refuses its options.
    """
    library = _library(source)
    arrivals = np.ascontiguousarray(arrivals, ARRIVAL)
    outcomes = np.zeros(len(arrivals), OUTCOME)
    setup, draws = RUN.new("struct setup *"), RUN.new("uint64_t *")
    for name in ("rate_bps", "epoch_ns", "seed", "hz", "mtu", "is_exact", "bypasses"):
        setattr(setup, name, getattr(line, name))
    setup.overhead_bytes = line.overhead
    held = []
    for of, each in (("", qdisc), ("inner_", qdisc.inner)):
        if each is not None:
            setattr(setup, f"{of}ops", getattr(library, f"oracle_{each.name}"))
            if (options := each.encoded()) is not None:
                held.append(RUN.new("char[]", options))
                setattr(setup, f"{of}options", held[-1])
    came, data = RUN.from_buffer(arrivals), RUN.from_buffer(outcomes)
    error = library.oracle_run(setup, came, len(arrivals), data, draws)
    if error:
        raise OSError(-error, f"{qdisc.name} refuses its options")
    return Result(outcomes, draws[0])


def need_source(qdisc: str) -> LinuxSource:
    """The newest kernel source that has a qdisc; skips where none was fetched."""
    for source in sources():
        if source.has(OPERATIONS[qdisc]):
            return source
    pytest.skip(f"no source of Linux's {qdisc} was fetched: run `make qdiscs`")


def _attribute(kind: int, data: bytes) -> bytes:
    header = struct.pack("=HH", len(data) + 4, kind)
    return header + data + bytes(-len(data) % 4)


def _numbers(
    options: Mapping[str, int], names: str, single_bytes: frozenset[str] | set[str] = frozenset()
) -> list[tuple[int, bytes]]:
    """Attributes of one byte or four; the first name is attribute 1."""
    numbers = {name: number for number, name in enumerate(names.split(), 1)}
    return [
        (numbers[name], struct.pack("=B" if name in single_bytes else "=I", value))
        for name, value in options.items()
    ]


@cache
def _library(source: LinuxSource) -> Any:
    """The qdiscs of a release, compiled unless this machine has done so before."""
    digest = hashlib.sha256()
    for path in [*sorted(HERE.iterdir()), Path(__file__), *sorted(source.folder.rglob("*.[ch]"))]:
        digest.update(path.name.encode() + path.read_bytes())
    library = BUILD / "oracle" / f"qdiscs-{source.release}-{digest.hexdigest()[:12]}.so"
    if not library.is_file():
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            _compile(source, Path(scratch)).rename(library)
    return RUN.dlopen(str(library))


def _compile(source: LinuxSource, scratch: Path) -> Path:
    """One object for each file, linked to a shared library."""
    include = _headers(source, scratch / "include")
    made = scratch / "qdiscs.so"
    flags = [*FLAGS, f"-I{HERE}", f"-I{include}", "-include", str(HERE / "kernel.h")]
    names = [name for name, file in OPERATIONS.items() if source.has(file)]
    jobs = [["-c", str(RUN_C)]]
    jobs += [["-c", str(source.folder / "lib" / "math" / "reciprocal_div.c")]]
    for file in sorted({OPERATIONS[name] for name in names}):
        held = [name for name in names if OPERATIONS[name] == file]
        symbols = "".join(f"NAMED({name})" for name in held)
        path = source.folder / "net" / "sched" / f"sch_{file}.c"
        jobs += [["-c", str(HERE / "qdisc.c"), f'-DQDISC_FILE="{path}"', f"-DQDISCS={symbols}"]]
    objects = [scratch / f"{number}.o" for number in range(len(jobs))]
    for job, made_object in zip(jobs, objects, strict=True):
        subprocess.run(["cc", *flags, *job, "-o", str(made_object)], check=True)
    subprocess.run(["cc", "-shared", "-o", str(made), *map(str, objects)], check=True)
    return made


def _headers(source: LinuxSource, folder: Path) -> Path:
    """The kernel's headers that are taken as they are, and an empty one for each other."""
    for path in [*source.folder.glob("include/net/*"), *source.folder.glob("include/linux/*")]:
        target = folder / path.relative_to(source.folder / "include")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copy(source.folder / "include/uapi/linux/pkt_sched.h", folder / "linux/pkt_sched.h")
    for path in source.folder.rglob("*.[ch]"):
        for name in re.findall(r"(?m)^#include <(\S+)>", path.read_text()):
            if not (folder / name).exists() and not Path("/usr/include", name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).touch()
    return folder
