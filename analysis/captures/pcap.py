"""Classic pcap, microseconds or nanoseconds, either byte order."""

import struct
from collections.abc import Iterator

import numpy as np

from .frames import MAX_FRAME, NOWHERE, Capture, Chain, Frames, Interface, in_chunks
from .times import Times

HEADER_BYTES = 24
RECORD_BYTES = 16
PER_SECOND = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}
"""Magic number -> units of the fraction of a second."""
FCS_KNOWN = 1 << 26
"""A bit of the link type's word: its top four bits are the length of the FCS in 16-bit words."""
NAMES = {10**6: "pcap-us", 10**9: "pcap-ns"}


def byte_order(head: bytes) -> str | None:
    """Byte order of a file that starts like this; None: it is no pcap."""
    for order in "<>":
        if len(head) >= 4 and struct.unpack_from(f"{order}I", head)[0] in PER_SECOND:
            return order
    return None


def read(capture: Capture, order: str) -> Iterator[Frames]:
    """Stream a file's frames.

    Raises:
        RunError: The file is damaged.
    """
    if len(capture) < HEADER_BYTES:
        raise capture.cut_off(0)
    magic, link = struct.unpack_from(f"{order}I16xI", capture.file)
    layout = np.dtype(
        [(name, f"{order}u4") for name in ("seconds", "fraction", "captured", "wire")]
    )
    chain = Chain(RECORD_BYTES, struct.Struct(f"{order}I"), 8, RECORD_BYTES, 0, MAX_FRAME)
    per_second, first = PER_SECOND[magic], 0
    fcs_bytes = (link >> 28) * 2 if link & FCS_KNOWN else None
    interfaces = (Interface("its only interface", link & 0xFFFF, fcs_bytes),)
    for at in in_chunks(capture, chain, HEADER_BYTES):
        head = capture.at(at, layout)
        beyond = np.flatnonzero(head["fraction"] >= per_second)
        if len(beyond):
            number = first + int(beyond[0]) + 1
            raise capture.damaged(
                f"packet {number} has a fraction of a second that is 1 or more",
                "write the file again in units of its magic number (editcap -F nsecpcap)",
            )
        yield Frames(
            capture=capture,
            number=np.arange(first, first + len(at)),
            start=at + RECORD_BYTES,
            captured=head["captured"].astype(np.int64),
            wire=head["wire"].astype(np.int64),
            times=Times(
                head["seconds"].astype(np.int64), head["fraction"].astype(np.uint64), per_second
            ),
            port=np.full(len(at), NOWHERE, np.int32),
            marks=np.zeros(len(at), np.uint16),
            interface=np.zeros(len(at), np.int32),
            interfaces=interfaces,
        )
        first += len(at)


def name(per_second: int) -> str:
    """The format's name by its resolution."""
    return NAMES[per_second]
