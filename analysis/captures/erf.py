"""Endace ERF: Ethernet records of a DAG card, 2^-32 s."""

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .frames import ETHERNET, MAX_FRAME, Capture, Chain, Frames, Interface, Mark, in_chunks
from .times import Times

HEADER_BYTES = 16
EXTENSION_BYTES = 8
ETHERNET_PAD = 2
PER_SECOND = 1 << 32
ETHERNET_TYPES = (2, 11, 16, 20)
"""ETH, COLOR_ETH, DSM_COLOR_ETH, COLOR_HASH_ETH: all are Ethernet behind the header."""
OTHER_TYPES = (27, 48)
"""META and PAD: no packets, passed over."""
MORE = 0x80
HEADER = np.dtype(
    [
        ("fraction", "<u4"),
        ("seconds", "<u4"),
        ("type", "u1"),
        ("flags", "u1"),
        ("length", ">u2"),
        ("lost", ">u2"),
        ("wire", ">u2"),
    ]
)
BYTE = np.dtype([("byte", "u1")])
CHAIN = Chain(HEADER_BYTES, struct.Struct(">H"), 10, 0, HEADER_BYTES, MAX_FRAME)
INTERFACES = tuple(Interface(f"interface {n}", ETHERNET) for n in range(4))
MARKS = {0x08: Mark.TRUNCATED, 0x10: Mark.RX_ERROR, 0x20: Mark.SOURCE_ERROR}


def looks_like(capture: Capture) -> bool:
    """ERF has no magic number: the first records must be of known types and follow each other.

    The first must be whole: else 2 % of all random files would pass by its type alone.
    """
    at = 0
    for _ in range(8):
        if at + HEADER_BYTES > len(capture):
            break
        kind = capture.file[at + 8] & ~MORE
        (length,) = CHAIN.length.unpack_from(capture.file, at + 10)
        if kind not in (*ETHERNET_TYPES, *OTHER_TYPES) or length < HEADER_BYTES:
            return False
        at += length
    return at > 0 and CHAIN.length.unpack_from(capture.file, 10)[0] <= len(capture)


def read(capture: Capture) -> Iterator[Frames]:
    """Stream a file's Ethernet frames.

    Raises:
        RunError: The file is damaged, or a record is not Ethernet.
    """
    first = 0
    for records in in_chunks(capture, CHAIN, 0):
        head = capture.at(records, HEADER)
        kind = head["type"] & ~np.uint8(MORE)
        packets = np.isin(kind, ETHERNET_TYPES)
        strange = np.flatnonzero(~packets & ~np.isin(kind, OTHER_TYPES))
        if len(strange):
            raise capture.damaged(
                f"the record at byte {records[strange[0]]} is of ERF type {kind[strange[0]]}, "
                "not Ethernet"
            )
        at, head = records[packets], head[packets]
        start = _behind_extensions(capture, at, head) + ETHERNET_PAD
        end = at + head["length"]
        lies = np.flatnonzero(start > end)
        if len(lies):
            raise capture.damaged(f"the record at byte {at[lies[0]]} has no room for its headers")
        wire = head["wire"].astype(np.int64)
        port = (head["flags"] & 0x03).astype(np.int32)
        yield Frames(
            capture=capture,
            number=np.arange(first, first + len(at)),
            start=start,
            captured=np.minimum(end - start, wire),
            wire=wire,
            times=Times(
                head["seconds"].astype(np.int64), head["fraction"].astype(np.uint64), PER_SECOND
            ),
            port=port,
            marks=_marks(head),
            interface=port,
            interfaces=INTERFACES,
        )
        first += len(at)


def _behind_extensions(
    capture: Capture, at: NDArray[np.int64], head: NDArray[np.void]
) -> NDArray[np.int64]:
    """Position behind the extension headers: each says with its top bit whether one follows."""
    end, place = at + head["length"], at + HEADER_BYTES
    more = np.flatnonzero(head["type"] & MORE)
    while len(more):
        lies = more[place[more] + EXTENSION_BYTES > end[more]]
        if len(lies):
            raise capture.damaged(f"the record at byte {at[lies[0]]} has endless extensions")
        follows = capture.at(place[more], BYTE)["byte"] & MORE
        place[more] += EXTENSION_BYTES
        more = more[follows != 0]
    return place


def _marks(head: NDArray[np.void]) -> NDArray[np.uint16]:
    marks = np.where(head["lost"] > 0, int(Mark.OVERFLOW), 0).astype(np.uint16)
    marks[(head["type"] & ~np.uint8(MORE)) != ETHERNET_TYPES[0]] = 0  # there it is a colour
    for bit, mark in MARKS.items():
        marks |= np.where(head["flags"] & bit, int(mark), 0).astype(np.uint16)
    return marks
