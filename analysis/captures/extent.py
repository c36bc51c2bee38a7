"""Where a frame ends by its own account: the lengths in its headers, and its FCS."""

import zlib

import numpy as np
from numpy.typing import NDArray

from .frames import NOWHERE, Frames
from .trailer import ETHERNET_HEADER

TAGS = (0x8100, 0x88A8, 0x9100, 0x9200)
"""802.1Q, 802.1ad and what came before it: an Ethernet type follows behind four bytes."""
MOST_TAGS = 4
IPV4, IPV6, ARP, PTP, PPPOE = 0x0800, 0x86DD, 0x0806, 0x88F7, 0x8864
LLDP, FLOW_CONTROL, SLOW = 0x88CC, 0x8808, 0x8809
LARGEST_LENGTH = 1500
"""A smaller Ethernet type is the length of an 802.3 frame's payload."""
MIN_FRAME, MIN_TAGGED = 60, 64
"""Frames are padded to 60 bytes; some switches leave 64 where they add a tag."""
FIXED = {FLOW_CONTROL: 46, SLOW: 110}
"""Ethernet type -> bytes of every message (PAUSE with its padding, LACP)."""
FCS_BYTES = 4
U1, U2 = np.dtype([("v", "u1")]), np.dtype([("v", ">u2")])


def network_headers(frames: Frames) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ethernet type behind all VLAN tags, and where what it names begins in the frame.

    Returns:
        The type, shape (n,), NOWHERE where the frame ends before it; the offset, shape (n,).
    """
    kind = _read(frames, np.full(len(frames), 12, np.int64), U2)
    offset = np.full(len(frames), ETHERNET_HEADER, np.int64)
    for _ in range(MOST_TAGS):
        tagged = np.flatnonzero(np.isin(kind, TAGS))
        if len(tagged) == 0:
            break
        kind[tagged] = _read(frames.take(tagged), offset[tagged] + 2, U2)
        offset[tagged] += 4
    return kind, offset


def message_ends(frames: Frames) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How long each frame is by its message, and with the padding that a link demands.

    Returns:
        Bytes from the frame's start to the message's end, shape (n,), NOWHERE: it does not say.
        Least bytes of such a frame, shape (n,).
    """
    kind, at = network_headers(frames)

    def u1(offset: int) -> NDArray[np.int64]:
        return _read(frames, at + offset, U1)

    def u2(offset: int) -> NDArray[np.int64]:
        return _read(frames, at + offset, U2)

    version, second = u1(0) >> 4, u2(2)
    lengths = [
        ((kind == IPV4) & (version == 4) & (second >= 20), second),
        ((kind == IPV6) & (version == 6) & (u2(4) > 0), 40 + u2(4)),
        ((kind == PTP) & (second > 0), second),
        ((kind == ARP) & (u2(4) > 0), 8 + 2 * (u1(4) + u1(5))),
        ((kind == PPPOE) & (u2(4) > 0), 6 + u2(4)),
        ((kind > 0) & (kind <= LARGEST_LENGTH), kind),
        *((kind == each, np.full(len(at), length)) for each, length in FIXED.items()),
    ]
    length = np.select([where for where, _ in lengths], [n for _, n in lengths], NOWHERE)
    for n in np.flatnonzero(kind == LLDP):
        length[n] = _lldp_bytes(frames, int(n), int(at[n]))
    ends = np.where(length == NOWHERE, NOWHERE, at + length)
    return ends, np.where(at > ETHERNET_HEADER, MIN_TAGGED, MIN_FRAME)


def fcs_fits(frames: Frames, own: NDArray[np.int64], fcs: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Frames whose first `own` bytes have this FCS, or end in their own.

    A receiver that saw a wrong FCS may write the complement. Random bytes fit with a probability
    of 3 x 2^-32.
    """
    file, found = frames.capture.file, np.zeros(len(frames), np.bool_)
    for n, (start, size) in enumerate(zip(frames.start.tolist(), own.tolist(), strict=True)):
        kept = int(fcs[n]).to_bytes(4, "big")
        whole = zlib.crc32(file[start : start + size])
        inside = file[start + size - FCS_BYTES : start + size]
        right = kept in (_wire(whole), _wire(~whole))
        found[n] = size > 0 and (
            right or _wire(zlib.crc32(file[start : start + size - FCS_BYTES])) == inside
        )
    return found


def _wire(crc: int) -> bytes:
    return (crc & 0xFFFFFFFF).to_bytes(4, "little")


def _read(
    frames: Frames, offset: NDArray[np.int64], layout: np.dtype[np.void]
) -> NDArray[np.int64]:
    """Numbers at an offset of each frame, shape (n,); NOWHERE in frames that end before."""
    inside = np.flatnonzero(frames.captured >= offset + layout.itemsize)
    result = np.full(len(frames), NOWHERE, np.int64)
    result[inside] = frames.capture.at(frames.start[inside] + offset[inside], layout)["v"]
    return result


def _lldp_bytes(frames: Frames, n: int, at: int) -> int:
    """Length of an LLDP message: of its TLVs up to the one that says that it ends."""
    start, captured = int(frames.start[n]), int(frames.captured[n])
    message = frames.capture.file[start + at : start + captured]
    place = 0
    while place + 2 <= len(message):
        head = int.from_bytes(message[place : place + 2], "big")
        place += 2 + (head & 0x1FF)
        if head == 0:
            return place
    return NOWHERE
