"""pcapng: any time resolution (base 10 and base 2), any number of interfaces and sections."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .frames import CHUNK, MAX_FRAME, Capture, Frames, Interface
from .times import WORD, Times, merged

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET = 0x0A0D0D0A, 1, 2, 3, 6
MAGIC = 0x1A2B3C4D
SMALLEST = 12
LARGEST = 1 << 24
PACKET_BYTES = 28
"""Bytes of a packet block before its frame."""
OPTION_END, OPTION_RESOLUTION, OPTION_FCS, OPTION_OFFSET = 0, 9, 13, 14
DEFAULT_RESOLUTION = 6
BASE_2 = 0x80
LATEST_S = 1 << 62
"""Seconds and offsets beyond it do not fit 64 bits together; they are nobody's."""


@dataclass(frozen=True)
class Described(Interface):
    """An interface and its clock.

    Attributes:
        per_second: Units of time in a second.
        offset_s: Seconds to add to each time.
    """

    per_second: int = 10**6
    offset_s: int = 0


def resolution(value: int) -> int:
    """Units in a second by if_tsresol: a negative power of 2 (top bit) or of 10."""
    exponent = value & ~BASE_2
    return 1 << exponent if value & BASE_2 else 10**exponent


class Reader:
    """Goes through the blocks of a file."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._order = "<"
        self._interfaces: list[Described] = []
        self._section = 0  # where the section's interfaces begin among them
        self._first = 0

    def read(self) -> Iterator[Frames]:
        """Stream the frames; blocks without a time are passed over.

        Raises:
            RunError: The file is damaged.
        """
        at, size = 0, len(self._capture)
        while at < size:
            positions, at = self._blocks(at)
            if positions:
                frames = self._frames(np.array(positions, dtype=np.int64))
                yield frames
                self._first += len(frames)
            self._capture.forget(at)

    def _blocks(self, at: int) -> tuple[list[int], int]:
        """Positions of packet blocks up to a chunk's worth, or to the next description."""
        capture = self._capture
        positions: list[int] = []
        file, size = capture.file, len(capture)
        unpack = struct.Struct(f"{self._order}II").unpack_from
        while at < size and len(positions) < CHUNK:
            if at + SMALLEST > size:
                raise capture.cut_off(at)
            kind, length = unpack(file, at)
            if kind in (SECTION, INTERFACE):
                if positions:
                    return positions, at
                at = self._describe(kind, at)
                unpack = struct.Struct(f"{self._order}II").unpack_from
                continue
            if length < SMALLEST or length % 4 or length > LARGEST:
                raise capture.damaged(f"the block at byte {at} claims {length} bytes")
            if kind in (PACKET, OLD_PACKET):
                positions.append(at)
            at += length
            if at > size:
                raise capture.cut_off(at - length)
        return positions, at

    def _describe(self, kind: int, at: int) -> int:
        """Take a section's or an interface's description; returns the position behind it."""
        capture = self._capture
        if kind == SECTION:
            self._order = self._section_order(at)
            self._section = len(self._interfaces)
        (length,) = struct.unpack_from(f"{self._order}I", capture.file, at + 4)
        if length < SMALLEST + 8 or length % 4 or length > LARGEST:
            raise capture.damaged(f"the block at byte {at} claims {length} bytes")
        if at + length > len(capture):
            raise capture.cut_off(at)
        if kind == INTERFACE:
            self._interfaces.append(self._interface(capture.file[at + 8 : at + length - 4]))
        return int(at + length)

    def _section_order(self, at: int) -> str:
        magic = self._capture.file[at + 8 : at + 12]
        for order in "<>":
            if magic == struct.pack(f"{order}I", MAGIC):
                return order
        raise self._capture.damaged(f"the section at byte {at} has no byte order")

    def _interface(self, body: bytes) -> Described:
        (link,) = struct.unpack_from(f"{self._order}H", body)
        options = dict(_options(body[8:], self._order))
        value = options.get(OPTION_RESOLUTION, bytes([DEFAULT_RESOLUTION]))
        offset = options.get(OPTION_OFFSET, bytes(8))
        fcs = options.get(OPTION_FCS)
        if len(value) < 1 or len(offset) < 8:
            raise self._capture.damaged("an interface's time options are too short")
        return Described(
            name=f"interface {len(self._interfaces) - self._section}",
            link=link,
            per_second=resolution(value[0]),
            offset_s=struct.unpack(f"{self._order}q", offset[:8])[0],
            fcs_bytes=fcs[0] if fcs else None,
        )

    def _frames(self, at: NDArray[np.int64]) -> Frames:
        """Frames of packet blocks."""
        capture, u4, u2 = self._capture, f"{self._order}u4", f"{self._order}u2"
        layout = np.dtype(
            [(n, u4) for n in ("kind", "length", "interface", "high", "low", "captured", "wire")]
        )
        short = np.flatnonzero(at > len(capture) - PACKET_BYTES)
        if len(short):
            raise capture.cut_off(int(at[short[0]]))
        head = capture.at(at, layout)
        if np.any(head["length"] < PACKET_BYTES + 4):
            raise capture.damaged("a packet block has no room for its header")
        captured = head["captured"].astype(np.int64)
        lies = np.flatnonzero(
            (captured > head["length"] - PACKET_BYTES - 4) | (captured > MAX_FRAME)
        )
        if len(lies):
            raise capture.damaged(
                f"the block at byte {at[lies[0]]} claims a frame that is not in it"
            )
        old = np.dtype([("interface", u2), ("drops", u2)])
        number = np.where(
            head["kind"] == OLD_PACKET, capture.at(at + 8, old)["interface"], head["interface"]
        ).astype(np.int64)
        if len(self._interfaces) - self._section <= number.max():
            raise capture.damaged(
                f"a packet names interface {number.max()}, which is not described"
            )
        ticks = (head["high"].astype(np.uint64) << np.uint64(32)) | head["low"].astype(np.uint64)
        interface = number + self._section
        return Frames(
            capture=capture,
            number=np.arange(self._first, self._first + len(at)),
            start=at + PACKET_BYTES,
            captured=captured,
            wire=head["wire"].astype(np.int64),
            times=self._times(ticks, interface),
            port=number.astype(np.int32),
            marks=np.zeros(len(at), np.uint16),
            interface=interface.astype(np.int32),
            interfaces=self._interfaces,
        )

    def _times(self, ticks: NDArray[np.uint64], number: NDArray[np.int64]) -> Times:
        """Times in the unit that all interfaces of these packets divide."""
        parts = []
        for n in np.unique(number):
            mine = np.flatnonzero(number == n)
            parts.append((mine, self._split(ticks[mine], self._interfaces[n])))
        times = merged(parts, len(ticks))
        if times is None:
            raise self._capture.damaged(
                "interfaces have resolutions without a common unit",
                "write each interface to a file of its own (tshark -Y 'frame.interface_id==0')",
            )
        return times

    def _split(self, ticks: NDArray[np.uint64], interface: Described) -> Times:
        """64-bit ticks to seconds and the rest."""
        per_second, offset = interface.per_second, interface.offset_s
        if per_second >= WORD:
            whole, fraction = np.zeros_like(ticks), ticks
        else:
            whole, fraction = np.divmod(ticks, np.uint64(per_second))
        if abs(offset) > LATEST_S or (len(whole) and int(whole.max()) > LATEST_S):
            raise self._capture.damaged("has times beyond any calendar")
        return Times(whole.astype(np.int64) + offset, fraction, per_second)


def _options(body: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, at)
        if code == OPTION_END:
            return
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
