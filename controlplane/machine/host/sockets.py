"""The sockets of a namespace, as /proc/net/tcp, udp, tcp6 and udp6 list them."""

from ipaddress import IPv4Address, IPv6Address

ANY = "0.0.0.0"  # noqa: S104 - nothing is bound here
"""A socket that takes what comes to any address."""
ANY_IPV6 = "::"
"""The same of IPv6, and of IPv4, too, unless it was told `IPV6_V6ONLY`, which is not listed."""
IPV4_BYTES = 4
HEADING = "local_address"
IN_USE = {"01", "02", "07", "0A"}
"""States of sockets that a process holds: established, SYN sent, UDP's only one, listening; the
others are left of an attempt that has ended."""


def local_ends(text: str) -> list[tuple[str, int]]:
    """Local address and port of each socket in use.

    Args:
        text: The files; they have addresses in words as a little-endian machine stores them, in
            hexadecimal. Of IPv6 an IPv4 address that is mapped is that.
    """
    ends = []
    for line in text.splitlines():
        _, local, _, state, *_ = line.split()
        address, _, port = local.partition(":")
        if address != HEADING and state in IN_USE:
            ends.append((_address(bytes.fromhex(address)), int(port, 16)))
    return ends


def _address(stored: bytes) -> str:
    words = b"".join(stored[at : at + 4][::-1] for at in range(0, len(stored), 4))
    if len(words) == IPV4_BYTES:
        return str(IPv4Address(words))
    address = IPv6Address(words)
    return str(address.ipv4_mapped or address)
