"""What a guest's interfaces and its kernel have lost, and what ran short, from its own files.

Its interfaces have no queue (nashbed_kern.c), so there is none that drops.
"""

from __future__ import annotations

from collections.abc import Callable

from .layout import SIDES, Side
from .net_counters import FILES, lost, strained

INTERFACES: dict[Side, str] = {"snd": "nb0", "rcv": "nb1"}
_COLUMNS = {
    "rx_errors": 2,
    "rx_dropped": 3,
    "rx_fifo": 4,
    "tx_errors": 10,
    "tx_dropped": 11,
    "tx_fifo": 12,
}
"""Losses in a line of /proc/net/dev, by the column that they are in."""
_DROPPED = 1
"""The column of /proc/net/softnet_stat that counts lost packets, in hexadecimal."""

ReadFile = Callable[[Side, str], str]


def guest_losses(read: ReadFile) -> dict[str, int]:
    """Packets lost by the hosts' interfaces and the kernel's receive path, IP and TCP so far.

    Args:
        read: Reads a file as a side has it.
    """
    losses = {"softnet_dropped": softnet_dropped(read("snd", "/proc/net/softnet_stat"))}
    for side in SIDES:
        interface = INTERFACES[side]
        counts = interface_losses(read(side, "/proc/net/dev"), interface)
        losses |= {f"{interface}_{kind}": count for kind, count in counts.items()}
        losses |= lost(side, _protocol_counters(read, side))
    return losses


def guest_pressure(read: ReadFile) -> dict[str, int]:
    """What ran short in the kernel of the hosts without a loss so far.

    Args:
        read: Reads a file as a side has it.
    """
    pressure: dict[str, int] = {}
    for side in SIDES:
        pressure |= strained(side, _protocol_counters(read, side))
    return pressure


def _protocol_counters(read: ReadFile, side: Side) -> str:
    return "".join(read(side, path) for path in FILES)


def interface_losses(text: str, interface: str) -> dict[str, int]:
    """Losses of an interface by direction and kind.

    Args:
        text: /proc/net/dev.
        interface: Its name.
    """
    lines = dict(line.strip().split(":", 1) for line in text.splitlines() if ":" in line)
    columns = [interface, *lines[interface].split()]
    return {kind: int(columns[column + 1]) for kind, column in _COLUMNS.items()}


def softnet_dropped(text: str) -> int:
    """Packets that the kernel's receive path lost over all cores.

    Args:
        text: /proc/net/softnet_stat.
    """
    return sum(int(line.split()[_DROPPED], 16) for line in text.splitlines())
