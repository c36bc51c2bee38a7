"""Which frames make a train: the reference that hosts/dpdk/core/train.c must equal.

Written from the rules, frame by frame from the train's whole list, without any state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
MOST_PACKETS = 64
MOST_BYTES = 65_535 + 14
"""Most bytes of a train merged into one frame."""


@dataclass(frozen=True)
class Segment:
    """What a frame carries.

    Attributes:
        seq: TCP sequence number, modulo 2**32.
        payload: Bytes of payload.
    """

    flow: int
    seq: int
    payload: int
    flags: int = ACK


@dataclass(frozen=True)
class Frame:
    """A frame as it comes to the traffic manager.

    Attributes:
        size: Ethernet frame bytes without FCS.
    """

    time_ns: int
    lane: int
    size: int
    segment: Segment


def is_train(frames: Sequence[Frame]) -> bool:
    """Whether adjacent frames are one train."""
    first = frames[0]
    pairs = list(pairwise(frames))
    together = {(frame.time_ns, frame.lane, frame.segment.flow) for frame in frames}
    in_sequence = all(
        b.segment.seq == (a.segment.seq + a.segment.payload) % 2**32 for a, b in pairs
    )
    data = all(frame.segment.payload > 0 for frame in frames)
    other_flags = {frame.segment.flags & ~(PSH | FIN) for frame in frames}
    inner = [frame.segment for frame in frames[:-1]]
    whole = all(
        each.payload == first.segment.payload and not each.flags & (PSH | FIN) for each in inner
    )
    merged = first.size + sum(frame.segment.payload for frame in frames[1:])
    return len(frames) == 1 or (
        len(together) == 1
        and in_sequence
        and data
        and other_flags in ({ACK}, {ACK | ECE})
        and whole
        and frames[-1].segment.payload <= first.segment.payload
        and merged <= MOST_BYTES
        and len(frames) <= MOST_PACKETS
    )


def trains(frames: Sequence[Frame]) -> list[list[Frame]]:
    """Frames in the order of their arrival, as trains; each as long as it can be."""
    made: list[list[Frame]] = []
    for frame in frames:
        if made and is_train([*made[-1], frame]):
            made[-1].append(frame)
        else:
            made.append([frame])
    return made
