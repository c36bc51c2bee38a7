"""What a guest's interfaces and its kernel's receive path have lost, from its own files."""

from __future__ import annotations

from collections.abc import Callable

from .layout import SIDES, Side

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
    """Packets lost by the hosts' interfaces and the kernel's receive path so far.

    Args:
        read: Reads a file as a side has it.
    """
    losses = {"softnet_dropped": softnet_dropped(read("snd", "/proc/net/softnet_stat"))}
    for side in SIDES:
        interface = INTERFACES[side]
        counts = interface_losses(read(side, "/proc/net/dev"), interface)
        losses |= {f"{interface}_{kind}": count for kind, count in counts.items()}
    return losses


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
