"""What a kernel counts: packets that it lost, what ran short in it, and its work core by core.

Everything is parsed from text or subtracted from an earlier count, so it serves this machine and a
guest alike. Names of protocol counters are those of /proc/net/netstat and /proc/net/snmp
(net/ipv4/proc.c of Linux 6.x). They are a network namespace's, so of all lanes of a run. A kernel
that does not have one of them does not lose packets that way, or does not tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import psutil

from ...contract.certificate import CoreShares
from ...contract.trial import CoreLoad, HostStrain

FILES = ("/proc/net/netstat", "/proc/net/snmp")
SOFTNET = Path("/proc/net/softnet_stat")
STAT = Path("/proc/stat")

Ticks = dict[int, tuple[int, ...]]
"""Core -> ticks since boot: user, nice, system, idle, iowait, irq, softirq, steal."""

LOSSES = {
    "TcpExt": (
        "TCPBacklogDrop",  # the socket was in use, and its backlog was full
        "PFMemallocDrop",  # the segment had been stored in memory that is kept for emergencies
        "TCPRcvQDrop",  # no memory for a segment that was next
        "TCPOFODrop",  # no memory for a segment that came before its turn
        "TCPZeroWindowDrop",  # the receive window was closed
        "BeyondWindow",  # it lay behind the receive window
        "RcvPruned",  # nothing could be pruned any more, so the segment was
        "OfoPruned",  # segments that had come before their turn were thrown away again
        "PAWSEstab",  # its timestamp was older than the last one
        "ListenDrops",  # a connection that was asked for
    ),
    "Ip": ("InHdrErrors", "InDiscards", "OutDiscards"),
    "Udp": ("RcvbufErrors",),  # a datagram for which its socket's buffer had no room
    "Tcp": ("InErrs",),  # a wrong checksum or header; less the SYNs that came again, see `lost`
}
"""A packet or more was lost each time. Not among them are frames that were for nobody here
(InAddrErrors, IPReversePathFilter), as load generators send them. RcvPruned goes with TCPRcvQDrop
or TCPOFODrop, and OfoPruned is for several segments: the sum is no number of packets."""

PRESSURE = {
    "TcpExt": (
        "PruneCalled",  # a receive buffer was full, and was tidied up
        "TCPRcvCollapsed",  # segments that were copied together to save memory
        "TCPMemoryPressures",  # the memory of all sockets went above the second value of tcp_mem
        "TCPMemoryPressuresChrono",  # for how long, in ms
        "TCPAbortOnMemory",  # a connection that was ended for want of memory
        "TCPWqueueTooBig",  # a segment could not be split: the send queue was too large
        "TCPRetransFail",  # a retransmission that the host's own queue or memory refused for now
        "TCPSpuriousRtxHostQueues",  # a retransmission left out: the first copy was still waiting
    ),
}
"""Nothing was lost, but TCP acts on it: smaller windows, later retransmissions."""

_INTERFACE_COLUMNS = {
    "rx_errors": 2,
    "rx_dropped": 3,
    "rx_fifo": 4,
    "tx_errors": 10,
    "tx_dropped": 11,
    "tx_fifo": 12,
}
"""Losses in a line of /proc/net/dev, by the column that they are in."""
_DROPPED, _SQUEEZED, _WAITING, _CORE = 1, 2, 11, 12
"""Columns of softnet_stat, in hexadecimal; the last two came with Linux 5.10."""


def lost(host: str, text: str) -> dict[str, int]:
    """What meant a lost packet, by host and counter.

    A SYN that reaches an established connection is among InErrs, though it is no loss but a copy:
    where the round trip is longer than TCP's first timeout of 1 s, every handshake is repeated. A
    challenge ACK answers each. It also answers those that reach a closing connection, which InErrs
    leaves out, so that the difference may fall below 0.

    Args:
        text: FILES, one behind the other.
    """
    counters = parse(text)
    if "InErrs" in counters.get("Tcp", {}):
        counters["Tcp"]["InErrs"] -= counters.get("TcpExt", {}).get("TCPSYNChallenge", 0)
    return _chosen(host, counters, LOSSES)


def strained(host: str, text: str) -> dict[str, int]:
    """What meant pressure without a loss, by host and counter.

    Args:
        text: FILES, one behind the other.
    """
    return _chosen(host, parse(text), PRESSURE)


def _chosen(
    host: str, counters: Mapping[str, dict[str, int]], wanted: Mapping[str, tuple[str, ...]]
) -> dict[str, int]:
    return {
        f"{host} {name}": counters[protocol][name]
        for protocol, names in wanted.items()
        for name in names
        if name in counters.get(protocol, {})
    }


def parse(text: str) -> dict[str, dict[str, int]]:
    """Counters by protocol and name.

    Args:
        text: Pairs of lines, `Protocol: names` and `Protocol: values`.
    """
    found: dict[str, dict[str, int]] = {}
    for names, values in pairwise(text.splitlines()):
        protocol, _, named = names.partition(":")
        same, _, counted = values.partition(":")
        if protocol == same and protocol not in found:
            numbers = (int(value) for value in counted.split())
            found[protocol] = dict(zip(named.split(), numbers, strict=True))
    return found


def interface_losses(text: str, interface: str) -> dict[str, int]:
    """Losses of an interface by direction and kind.

    Args:
        text: /proc/net/dev.
    """
    lines = dict(line.strip().split(":", 1) for line in text.splitlines() if ":" in line)
    columns = lines[interface].split()
    return {kind: int(columns[column]) for kind, column in _INTERFACE_COLUMNS.items()}


def softnet_losses(text: str) -> dict[str, int]:
    """Packets that the kernel's receive path lost over all cores, as a named counter.

    Args:
        text: /proc/net/softnet_stat.
    """
    return {"softnet_dropped": sum(each.dropped for each in read_backlogs(text).values())}


def _cpu_ns(pid: int) -> int:
    """Processor time of a process so far, in steps of 10 ms; nothing when there is none."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0
    return int((times.user + times.system) * 1e9)


def read_ticks(text: str | None = None) -> Ticks:
    """Ticks of every core that is online.

    Args:
        text: Content of /proc/stat; None: it is read.
    """
    ticks: Ticks = {}
    for line in (STAT.read_text(encoding="utf-8") if text is None else text).splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name[3:].isdigit():
            # Guests' time, in the last two fields, is in user and nice already.
            ticks[int(name[3:])] = tuple(int(value) for value in values[:8])
    return ticks


def shares(before: Ticks, after: Ticks) -> tuple[CoreShares, ...]:
    """What each core did in between; cores without a tick are left out."""
    cores = []
    for core in sorted(before.keys() & after.keys()):
        ticks = [b - a for a, b in zip(before[core], after[core], strict=True)]
        whole = sum(ticks)
        if whole <= 0:
            continue
        user, nice, system, idle, iowait, irq, softirq, steal = (tick / whole for tick in ticks)
        cores.append(
            CoreShares(
                core=core,
                user=user + nice,
                system=system,
                softirq=irq + softirq,
                idle=idle + iowait,
                steal=steal,
            )
        )
    return tuple(cores)


@dataclass(frozen=True)
class Backlog:
    """A core's line of softnet_stat.

    Attributes:
        dropped: Packets for which its backlog had no room.
        squeezed: How often its budget of time or packets was used up before its work was done.
    """

    dropped: int
    squeezed: int
    waiting: int


@dataclass(frozen=True)
class KernelCounts:
    """Everything since boot that a trial's load is the difference of, by core.

    Attributes:
        backlogs: What softnet_stat says.
        ksoftirqd_ns: Processor time of each core's ksoftirqd.
        ticks: What /proc/stat says.
    """

    backlogs: dict[int, Backlog]
    ksoftirqd_ns: dict[int, int]
    ticks: Ticks


def read_kernel_counts() -> KernelCounts:
    """The counts as they are now."""
    return KernelCounts(
        read_backlogs(SOFTNET.read_text(encoding="utf-8")),
        {core: _cpu_ns(pid) for core, pid in ksoftirqd().items()},
        read_ticks(),
    )


@cache
def ksoftirqd() -> dict[int, int]:
    """Core -> process id of its ksoftirqd; they live as long as the kernel."""
    named = ((each.info["name"] or "", each.pid) for each in psutil.process_iter(["name"]))
    return {int(name[10:]): pid for name, pid in named if name.startswith("ksoftirqd/")}


def read_backlogs(text: str) -> dict[int, Backlog]:
    """The backlog of each core.

    Args:
        text: Content of softnet_stat.
    """
    found = {}
    for row, line in enumerate(text.splitlines()):
        values = [int(value, 16) for value in line.split()]
        told = len(values) > _CORE
        found[values[_CORE] if told else row] = Backlog(
            values[_DROPPED], values[_SQUEEZED], values[_WAITING] if told else 0
        )
    return found


def load_between(
    before: KernelCounts, after: KernelCounts, flow_cores: Iterable[int]
) -> tuple[CoreLoad, ...]:
    """The load of each core in between; one without a tick in that time is left out."""
    working = set(flow_cores)
    return tuple(
        CoreLoad(
            core=share.core,
            flows=share.core in working,
            squeezed=late.squeezed - early.squeezed,
            dropped=late.dropped - early.dropped,
            waiting=late.waiting,
            ksoftirqd_ns=after.ksoftirqd_ns.get(share.core, 0)
            - before.ksoftirqd_ns.get(share.core, 0),
            softirq=round(share.softirq, 6),
            steal=round(share.steal, 6),
        )
        for share in shares(before.ticks, after.ticks)
        if (early := before.backlogs.get(share.core)) and (late := after.backlogs.get(share.core))
    )


@dataclass(frozen=True)
class StrainCounts:
    """Counts so far; the difference of two is a trial's.

    Attributes:
        pressure: Of memory and queues that ran short, by host and counter.
        kernel: Of the kernel's work, by core; None in virtual time.
        flow_cores: The cores that work for the flows.
    """

    pressure: dict[str, int]
    kernel: KernelCounts | None = None
    flow_cores: tuple[int, ...] = ()


def strain_between(before: StrainCounts, after: StrainCounts) -> HostStrain:
    """What strained the hosts in between."""
    cores = None
    if before.kernel is not None and after.kernel is not None:
        cores = load_between(before.kernel, after.kernel, after.flow_cores)
    pressure = {name: n - before.pressure.get(name, 0) for name, n in after.pressure.items()}
    return HostStrain(pressure=pressure, cores=cores)
