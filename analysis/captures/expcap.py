"""The expcap footer, 16 bytes, little-endian: picoseconds. A flag says whether an FCS is in it."""

import numpy as np

from .frames import Frames, Mark
from .times import Times
from .trailer import Stamps, TrailerFormat, tail_positions

FOOTER = np.dtype(
    [
        ("seconds", "<u4"),
        ("ps_low", "<u4"),
        ("ps_high", "u1"),
        ("flags", "u1"),
        ("device", "u1"),
        ("port", "u1"),
        ("lost_or_fcs", "<u4"),
    ]
)
PER_SECOND = 10**12
NEW_FCS = 0x01
KNOWN_FLAGS = 0x3F
MARKS = {
    0x02: Mark.ABORTED,
    0x04: Mark.RX_ERROR,
    0x08: Mark.TRUNCATED,
    0x10: Mark.OVERFLOW,
    0x20: Mark.OVERFLOW,
}


def decode(frames: Frames, fcs_bytes: int) -> Stamps:
    """Read the footers; see TrailerFormat."""
    length = FOOTER.itemsize + fcs_bytes
    at, sound = tail_positions(frames, length, length)
    read = frames.capture.at(at, FOOTER)
    ps = (read["ps_high"].astype(np.uint64) << np.uint64(32)) | read["ps_low"]
    sound &= (ps < PER_SECOND) & (read["flags"] & ~np.uint8(KNOWN_FLAGS) == 0)
    lost = (read["lost_or_fcs"] & 0xFFFF > 0) & (read["flags"] & NEW_FCS == 0)
    marks = np.where(lost, int(Mark.OVERFLOW), 0).astype(np.uint16)
    for bit, mark in MARKS.items():
        marks |= np.where(read["flags"] & bit, int(mark), 0).astype(np.uint16)
    return Stamps(
        times=Times(read["seconds"].astype(np.int64), ps, PER_SECOND),
        device=read["device"].astype(np.int32),
        port=read["port"].astype(np.int32),
        marks=marks,
        original_fcs=np.zeros(len(frames), np.uint32),
        trailer_bytes=np.full(len(frames), length, np.int64),
        sound=sound,
    )


FORMAT = TrailerFormat("expcap", "expcap footer", (0,), decode)
