"""Plain models of the RTL: whole numbers, one line of arithmetic each."""

import zlib
from dataclasses import dataclass

SECOND_FNS = 10**9 << 32
"""A second in units of 2^-32 ns."""

TRAILER_BYTES = 16
MIN_FRAME_BYTES = 60
ERROR, RUNT = 1, 2


@dataclass
class Clock:
    """The PTP clock.

    Attributes:
        period: Of a cycle, 2^-32 ns.
        now: The time of this cycle, 2^-32 ns.
    """

    period: int
    now: int = 0

    def tick(self) -> None:
        self.now += self.period


def fraction(time_fns: int) -> int:
    """The fraction of a second in 2^-40 of a time in 2^-32 ns, of which 2^-16 ns are looked at."""
    return (time_fns % SECOND_FNS >> 16 << 40) // (10**9 << 16)


def fcs(frame: bytes) -> bytes:
    """The FCS as it is on the wire."""
    return zlib.crc32(frame).to_bytes(4, "little")


def trailer(frame: bytes, device: int, port: int, time_fns: int, error: bool) -> bytes:
    """What a port appends to a frame that it took at a time."""
    own_fcs = bytes(b ^ 0xFF for b in fcs(frame)) if error else fcs(frame)
    marks = (ERROR if error else 0) | (RUNT if len(frame) < MIN_FRAME_BYTES else 0)
    return (
        own_fcs
        + bytes([device, port])
        + (time_fns // SECOND_FNS % 2**32).to_bytes(4, "big")
        + fraction(time_fns).to_bytes(5, "big")
        + bytes([marks])
    )
