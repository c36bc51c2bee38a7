"""The Cisco (Exablaze) trailer, 16 bytes: 2^-40 s. The FPGA cores of hosts/fpga append it too."""

import numpy as np

from .frames import Frames, Mark
from .times import Times
from .trailer import Stamps, TrailerFormat, tail_positions

TRAILER = np.dtype(
    [
        ("fcs", ">u4"),
        ("device", "u1"),
        ("port", "u1"),
        ("seconds", ">u4"),
        ("fraction_high", "u1"),
        ("fraction_low", ">u4"),
        ("reserved", "u1"),
    ]
)
PER_SECOND = 1 << 40
OURS = {0x01: Mark.RX_ERROR, 0x02: Mark.RUNT}
"""What hosts/fpga says in the reserved byte."""


def decode(frames: Frames, fcs_bytes: int) -> Stamps:
    """Read the trailers; see TrailerFormat."""
    length = TRAILER.itemsize + fcs_bytes
    at, sound = tail_positions(frames, length, length)
    read = frames.capture.at(at, TRAILER)
    high = read["fraction_high"].astype(np.uint64) << np.uint64(32)
    marks = np.zeros(len(frames), np.uint16)
    for bit, mark in OURS.items():
        marks |= np.where(read["reserved"] & bit, int(mark), 0).astype(np.uint16)
    return Stamps(
        times=Times(read["seconds"].astype(np.int64), high | read["fraction_low"], PER_SECOND),
        device=read["device"].astype(np.int32),
        port=read["port"].astype(np.int32),
        marks=marks,
        original_fcs=read["fcs"].astype(np.uint32),
        trailer_bytes=np.full(len(frames), length, np.int64),
        sound=sound,
    )


FORMAT = TrailerFormat("exablaze", "Cisco (Exablaze) trailer", (0, 4), decode)
