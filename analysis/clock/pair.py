"""Two captures of the same packets, wherever they were made: how their clocks stand."""

from pathlib import Path

import numpy as np

from ..captures import TimestampSource
from .alignment import Alignment, align
from .match import CapturedPackets, common, read_seen
from .timebase import ClockError


def align_captures(reference: Path, other: Path, form: str | None = None) -> Alignment:
    """Align the clock of a capture to that of another one.

    Which of the two a packet met first is not known, and may differ by direction. So each
    direction is tried both ways, and the one with the smallest error counts. The shortest way
    between the two places is in the offset: nothing in the captures shows it.

    Args:
        reference: The capture whose clock is taken as true.
        other: The capture whose clock is described.
        form: Format of the time stamps of both; None: found out for each.

    Raises:
        RunError: A capture cannot be read, its clock ran backwards, or the two have too little
            in common.
    """
    one, two = (read_seen(TimestampSource(path, form)) for path in (reference, other))
    alignments: list[Alignment] = []
    problem: ClockError | None = None
    for up in (True, False):
        mine, theirs = _direction(one, up), _direction(two, up)
        at_one, at_two = common(mine, theirs)
        here, there = mine.times.take(at_one), theirs.times.take(at_two)
        for backwards in (False, True):
            try:
                alignments.append(
                    align(there, here).inverted() if backwards else align(here, there)
                )
            except ClockError as error:
                problem = problem or error
    if not alignments:
        assert problem is not None
        raise problem
    return min(alignments, key=lambda alignment: alignment.offset_error_ps)


def _direction(seen: CapturedPackets, up: bool) -> CapturedPackets:
    """The packets from lower to higher addresses, or the others; their clock is checked."""
    ours = seen.take(np.flatnonzero((seen.src < seen.dst) == up))
    ours.times.check_monotonic()
    return ours
