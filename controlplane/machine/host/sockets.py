"""The sockets of a namespace, as /proc/net/tcp and /proc/net/udp list them."""

from __future__ import annotations

from ipaddress import IPv4Address

ANY = "0.0.0.0"  # noqa: S104 - nothing is bound here
"""A socket that takes what comes to any address."""


def local_ends(text: str) -> list[tuple[str, int]]:
    """Local address and port of each socket.

    Args:
        text: The file; it has addresses as a little-endian machine stores them, in hexadecimal.
    """
    ends = []
    for line in text.splitlines()[1:]:
        address, _, port = line.split()[1].partition(":")
        ends.append((str(IPv4Address(bytes.fromhex(address)[::-1])), int(port, 16)))
    return ends
