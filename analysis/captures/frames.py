"""A mapped capture file, its frames as arrays of positions, and what is known of each."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.store.errors import RunError, damaged
from numpy.typing import NDArray

from .times import Times

CHUNK = 1 << 15
"""Frames that are looked at together: 50 MB of full ones."""
MAX_FRAME = 1 << 18
"""Longer than any frame, and than any capture program's limit."""
ETHERNET = 1
REMEDY = "capture again, or cut the file with editcap"
NOWHERE = -1


class Mark(IntFlag):
    """What a source says about a frame or its time."""

    DEGRADED = 1
    """The clock of the stamp was not synchronised."""
    TRUNCATED = 2
    """Cut off by the source."""
    RX_ERROR = 4
    """Received with an error, such as a bad FCS."""
    SOURCE_ERROR = 8
    """The source itself failed on this frame (Endace: DS error)."""
    ABORTED = 16
    """Transmission was aborted."""
    DUPLICATE = 32
    """A copy of another frame."""
    OVERFLOW = 64
    """Frames were lost before this one."""
    RUNT = 128
    """Shorter than Ethernet allows."""
    NO_FCS = 256
    """The original FCS is not valid."""


@dataclass(frozen=True)
class Capture:
    """A capture file in the address space.

    Attributes:
        file: Its bytes.
    """

    path: Path
    file: mmap.mmap

    def __len__(self) -> int:
        return len(self.file)

    def at(self, positions: NDArray[np.int64], layout: np.dtype[Any]) -> NDArray[Any]:
        """Records of one layout from any positions; these must lie within the file.

        Args:
            positions: Of the first byte of each, shape (n,).
            layout: A packed structure.
        """
        places = len(self.file) - layout.itemsize + 1
        if len(positions) == 0:
            return np.empty(0, layout)
        every = np.ndarray((places,), layout, buffer=self.file, strides=(1,))
        return every[positions]

    def damaged(self, problem: str, remedy: str = REMEDY) -> RunError:
        """The error that names this file."""
        return damaged(self.path, problem, remedy)

    def cut_off(self, at: int) -> RunError:
        """The error of a file that ends too early."""
        return self.damaged(f"is truncated: the record at byte {at} ends beyond the file")

    def forget(self, end: int) -> None:
        """Give the memory of what was read back; a capture may be larger than all of it."""
        whole = end // mmap.PAGESIZE * mmap.PAGESIZE
        if whole:
            self.file.madvise(mmap.MADV_DONTNEED, 0, whole)


@dataclass(frozen=True)
class Interface:
    """An interface that a capture describes.

    Attributes:
        name: As in an error.
        link: Link type, as in pcap.
        fcs_bytes: Length of the FCS in its frames; None: the file does not say.
    """

    name: str
    link: int
    fcs_bytes: int | None = None


@dataclass(frozen=True)
class Frames:
    """Frames of a capture that follow each other.

    Attributes:
        capture: Where their bytes are.
        number: Number of each in the file, from 0, shape (n,).
        start: Position of each one's first byte, shape (n,).
        captured: Bytes of each that the file holds, shape (n,).
        wire: Bytes that each had on the wire, by the file, shape (n,).
        times: The file's own times.
        port: Interface by the file, shape (n,); NOWHERE: it names none.
        marks: What the file says about each, of Mark, shape (n,).
        interface: Index into `interfaces`, shape (n,).
        interfaces: The interfaces of the file so far; their numbers start anew in no section.
    """

    capture: Capture
    number: NDArray[np.int64]
    start: NDArray[np.int64]
    captured: NDArray[np.int64]
    wire: NDArray[np.int64]
    times: Times
    port: NDArray[np.int32]
    marks: NDArray[np.uint16]
    interface: NDArray[np.int32]
    interfaces: Sequence[Interface]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, which: Any) -> Frames:
        """Some of them: an index, a mask or a slice of numpy."""
        return replace(
            self,
            number=self.number[which],
            start=self.start[which],
            captured=self.captured[which],
            wire=self.wire[which],
            times=self.times.take(which),
            port=self.port[which],
            marks=self.marks[which],
            interface=self.interface[which],
        )

    def used(self) -> list[int]:
        """Indices of the interfaces that these frames are of."""
        if len(self) == 0 or np.all(self.interface == self.interface[0]):
            return [int(n) for n in self.interface[:1]]
        return [int(n) for n in np.unique(self.interface)]

    def links(self) -> NDArray[np.int64]:
        """Link type of each, as in pcap, shape (n,)."""
        return np.array([i.link for i in self.interfaces], np.int64)[self.interface]


def map_capture(path: Path) -> Capture:
    """Map a file.

    Raises:
        RunError: It is missing or empty.
    """
    try:
        with path.open("rb") as file:
            return Capture(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})", REMEDY) from error
    except ValueError as error:
        raise damaged(path, "is empty", REMEDY) from error


@dataclass(frozen=True)
class Chain:
    """How records follow each other: each holds a length that leads to the next.

    Attributes:
        header: Bytes that a record has at least.
        length: Layout of the length.
        length_at: Its position in the record.
        beyond: Bytes of a record that the length does not count.
        least: Smallest length that is no lie.
        most: Largest length that is no lie.
    """

    header: int
    length: struct.Struct
    length_at: int
    beyond: int
    least: int
    most: int


def walk(capture: Capture, chain: Chain, at: int, limit: int) -> tuple[NDArray[np.int64], int]:
    """Follow a chain of records: the one thing that is done packet by packet.

    Args:
        at: Position of the first record.
        limit: How many at most.

    Returns:
        Position of each record, and of the record behind the last.

    Raises:
        RunError: A length is a lie, or the file ends within a record.
    """
    unpack, length_at, file = chain.length.unpack_from, chain.length_at, capture.file
    beyond, least, most = chain.beyond, chain.least, chain.most
    last = len(capture) - chain.header
    positions: list[int] = []
    append = positions.append
    for _ in range(limit):
        if at > last:
            break
        (length,) = unpack(file, at + length_at)
        if not least <= length <= most:
            raise capture.damaged(f"the record at byte {at} claims {length} bytes")
        append(at)
        at += length + beyond
    if at > len(capture):
        raise capture.cut_off(positions[-1])
    if len(positions) < limit and at < len(capture):
        raise capture.cut_off(at)
    return np.array(positions, dtype=np.int64), at


def in_chunks(capture: Capture, chain: Chain, at: int) -> Iterator[NDArray[np.int64]]:
    """Positions of all records of a chain, chunk by chunk."""
    while at < len(capture):
        positions, at = walk(capture, chain, at, CHUNK)
        yield positions
        capture.forget(int(positions[-1]))
