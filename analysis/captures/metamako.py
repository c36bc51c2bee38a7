"""The Arista (Metamako) trailer: nanoseconds, and 2^-24 ns in an extension."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .frames import Frames, Mark
from .times import Times
from .trailer import ETHERNET_HEADER, Stamps, TrailerFormat, tail_positions

TAIL = np.dtype(
    [("seconds", ">u4"), ("ns", ">u4"), ("flags", "u1"), ("device", ">u2"), ("port", "u1")]
)
WORD = np.dtype([("word", ">u4")])
SUB_NS_BITS = 24
PER_SECOND = 10**9 << SUB_NS_BITS
NS_PER_SECOND = 10**9
FCS_VALID, EXTENSIONS, DUPLICATE, DEGRADED = 0x01, 0x02, 0x04, 0x10
LAST = 0x20
TAG = 0x1F
SUB_NS, SECONDARY = 1, 31


@dataclass
class _Walk:
    """Where the reading of each frame's extensions stands: backwards from the seconds field.

    Attributes:
        place: Position behind the next extension word, shape (n,).
        floor: Position that extensions must not go below: an FCS stands before them.
        sub_ns: What was found, shape (n,).
        sound: Where nothing was wrong so far, shape (n,).
    """

    place: NDArray[np.int64]
    floor: NDArray[np.int64]
    sub_ns: NDArray[np.uint64]
    sound: NDArray[np.bool_]

    def run(self, frames: Frames, active: NDArray[np.int64]) -> None:
        """Read all extensions of the frames that have some, one of each at a time."""
        while len(active):
            inside = self.place[active] - 4 >= self.floor[active]
            self.sound[active[~inside]] = False
            active = active[inside]
            word = frames.capture.at(self.place[active] - 4, WORD)["word"].astype(np.int64)
            tag = word & TAG
            more = np.where(tag == SECONDARY, (word >> 6 & 0x3FF) + 1, word >> 6 & 0x3)
            matches = tag == SUB_NS
            self.sub_ns[active[matches]] = (word[matches] >> 8).astype(np.uint64)
            self.place[active] -= 4 * (more + 1)
            active = active[(word & LAST) == 0]


def decode(frames: Frames, fcs_bytes: int) -> Stamps:
    """Read the trailers; see TrailerFormat."""
    at, sound = tail_positions(frames, TAIL.itemsize + fcs_bytes, TAIL.itemsize + fcs_bytes + 4)
    read = frames.capture.at(at, TAIL)
    sound = sound & (read["ns"] < NS_PER_SECOND)
    walk = _Walk(at.copy(), frames.start + ETHERNET_HEADER + 4, np.zeros(len(at), np.uint64), sound)
    walk.run(frames, np.flatnonzero(sound & (read["flags"] & EXTENSIONS != 0)))
    sound = walk.sound & (walk.place >= walk.floor)
    fcs_at = np.where(sound, walk.place - 4, 0)
    ns = read["ns"].astype(np.uint64) << np.uint64(SUB_NS_BITS)
    return Stamps(
        times=Times(read["seconds"].astype(np.int64), ns | walk.sub_ns, PER_SECOND),
        device=read["device"].astype(np.int32),
        port=read["port"].astype(np.int32),
        marks=_marks(read["flags"]),
        original_fcs=frames.capture.at(fcs_at, WORD)["word"].astype(np.uint32),
        trailer_bytes=frames.start + frames.captured - fcs_at,
        sound=sound,
    )


def _marks(flags: NDArray[np.uint8]) -> NDArray[np.uint16]:
    marks = np.where(flags & FCS_VALID, 0, int(Mark.NO_FCS)).astype(np.uint16)
    for bit, mark in ((DUPLICATE, Mark.DUPLICATE), (DEGRADED, Mark.DEGRADED)):
        marks |= np.where(flags & bit, int(mark), 0).astype(np.uint16)
    return marks


FORMAT = TrailerFormat("metamako", "Arista (Metamako) trailer", (0, 4), decode)
