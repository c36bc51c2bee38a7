"""How much of a TCP stream has left the bottleneck without a hole, from its start on."""

from __future__ import annotations

import numpy as np

from ..store.raw_files import Ints

WRAP = 2**32


class StreamCoverage:
    """The contiguous beginning of one flow's byte stream.

    Sequence numbers wrap at 2**32; they are unwrapped around the end of what is covered,
    which is right as long as a flow has less than 2 GiB under way.
    """

    def __init__(self) -> None:
        self._start: int | None = None
        self._covered = 0
        self._fed = 0
        self._islands: Ints = np.empty((0, 2), np.int64)

    @property
    def contiguous(self) -> int | None:
        """Bytes covered from the start without a hole; None before the SYN was seen."""
        return None if self._start is None else self._covered

    @property
    def repeated(self) -> int:
        """Bytes that were fed again, once for each further time; those before the SYN are not."""
        islands = int(np.sum(self._islands[:, 1] - self._islands[:, 0]))
        return self._fed - self._covered - islands

    def begin(self, syn_seq: int) -> None:
        """The SYN's sequence number; the first byte follows it. A repeated SYN is ignored."""
        if self._start is None:
            self._start = (syn_seq + 1) % WRAP

    def feed(self, seq: Ints, length: Ints) -> Ints | None:
        """Take segments in.

        Args:
            seq: Sequence numbers, 32 bits.
            length: Payload bytes, of the same length.

        Returns:
            Where in the stream each of them begins; None before the SYN was seen.
        """
        if self._start is None:
            return None
        if len(seq) == 0:
            return seq
        self._fed += int(length.sum())
        ahead = (seq - (self._start + self._covered)) % WRAP
        begin = self._covered + np.where(ahead >= WRAP // 2, ahead - WRAP, ahead)
        new = np.stack((begin, begin + length), axis=1)
        merged = merge(np.concatenate((self._islands, new)))
        reached = merged[merged[:, 0] <= self._covered]
        if len(reached):
            self._covered = max(self._covered, int(reached[:, 1].max()))
        self._islands = merged[merged[:, 0] > self._covered]
        return begin


def merge(intervals: Ints) -> Ints:
    """Merge half-open intervals that touch or overlap.

    Args:
        intervals: Shape (n, 2), begin and end, in any order.

    Returns:
        Shape (m, 2), sorted and apart from each other.
    """
    if len(intervals) == 0:
        return intervals
    ordered = intervals[np.argsort(intervals[:, 0], kind="stable")]
    reach = np.maximum.accumulate(ordered[:, 1])
    starts = np.concatenate(([True], ordered[1:, 0] > reach[:-1]))
    ends = np.concatenate((np.flatnonzero(starts)[1:] - 1, [len(ordered) - 1]))
    return np.stack((ordered[starts, 0], reach[ends]), axis=1)
