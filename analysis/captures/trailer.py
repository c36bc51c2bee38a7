"""What every trailer decoder answers, and the table that a new one goes into."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from .frames import Frames
from .times import Times, merged

ETHERNET_HEADER = 14


@dataclass(frozen=True)
class Stamps:
    """Hardware time stamps of n frames.

    Attributes:
        times: When; the frame's first bit, by the device's clock.
        device: Device number, shape (n,); NOWHERE: the format has none.
        port: Port number, likewise.
        marks: Remarks about each, of Mark, shape (n,).
        original_fcs: As on the wire, read big-endian, shape (n,); 0: the format keeps none.
        trailer_bytes: What was appended to the frame, shape (n,), a new FCS included.
        sound: Where the bytes can be a trailer of this format at all; elsewhere the rest is
            meaningless, shape (n,).
    """

    times: Times
    device: NDArray[np.int32]
    port: NDArray[np.int32]
    marks: NDArray[np.uint16]
    original_fcs: NDArray[np.uint32]
    trailer_bytes: NDArray[np.int64]
    sound: NDArray[np.bool_]


def joined(parts: Sequence[tuple[NDArray[np.intp], Stamps]], count: int) -> Stamps | None:
    """One series of stamps from several; arguments and result as in `times.merged`."""
    if len(parts) == 1:
        return parts[0][1]
    times = merged([(where, stamps.times) for where, stamps in parts], count)
    if times is None:
        return None
    columns = {}
    for name in (each.name for each in fields(Stamps) if each.name != "times"):
        whole = np.zeros(count, getattr(parts[0][1], name).dtype)
        for where, stamps in parts:
            whole[where] = getattr(stamps, name)
        columns[name] = whole
    return Stamps(times, **columns)


@dataclass(frozen=True)
class TrailerFormat:
    """A trailer's layout.

    Attributes:
        fcs_choices: Lengths of a new FCS behind it that are to be tried.
        decode: Reads the trailers of frames, given the length of the new FCS.
    """

    name: str
    title: str
    fcs_choices: tuple[int, ...]
    decode: Callable[[Frames, int], Stamps]


def tail_positions(
    frames: Frames, before_end: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where a structure that ends each frame starts, and which frames are long enough for it.

    Args:
        before_end: Bytes from the start of the structure to the frame's end.
        least: Bytes of the whole trailer behind an Ethernet header.

    Returns:
        Positions (of frames that are too short: 0, to be ignored) and which are long enough.
    """
    enough = frames.captured >= ETHERNET_HEADER + least
    return np.where(enough, frames.start + frames.captured - before_end, 0), enough
