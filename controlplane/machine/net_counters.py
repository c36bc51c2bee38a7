"""What a host's kernel counts of segments that it threw away, and of what ran short in it.

The names are those of /proc/net/netstat and /proc/net/snmp (net/ipv4/proc.c of Linux 6.x). The
counters are a network namespace's, so of all lanes of a run. A kernel that does not have one of
them does not lose packets that way, or does not tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

FILES = ("/proc/net/netstat", "/proc/net/snmp")

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
    "Tcp": ("InErrs",),  # a wrong checksum or header
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


def lost(host: str, text: str) -> dict[str, int]:
    """What meant a lost packet, by host and counter.

    Args:
        host: Whose counters they are.
        text: FILES, one behind the other.
    """
    return _chosen(host, text, LOSSES)


def strained(host: str, text: str) -> dict[str, int]:
    """What meant pressure without a loss, by host and counter.

    Args:
        host: Whose counters they are.
        text: FILES, one behind the other.
    """
    return _chosen(host, text, PRESSURE)


def _chosen(host: str, text: str, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    counters = parse(text)
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
