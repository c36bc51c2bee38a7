"""BBA-0 (Huang et al., SIGCOMM 2014, algorithm 1) as plain as it can be written."""

from fractions import Fraction


class Player:
    """A player; times in ns.

    Args:
        ladder: Bitrates, ascending.
        buffer_ns: What its buffer holds.
    """

    def __init__(self, ladder: list[int], segment_ns: int, buffer_ns: int) -> None:
        self.ladder, self.segment_ns = ladder, segment_ns
        most = buffer_ns - segment_ns
        self.reservoir, self.end = most * 3 // 8, most * 9 // 10
        self.rate = ladder[0]
        self.level_ns = 0
        self.at_ns: int | None = None

    def ask(self, now_ns: int) -> int:
        """The bitrate of the segment that is asked for now."""
        level = 0 if self.at_ns is None else max(0, self.level_ns - (now_ns - self.at_ns))
        self.rate = self.choose(level)
        return self.rate

    def choose(self, level: int) -> int:
        low, high = self.ladder[0], self.ladder[-1]
        if level <= self.reservoir:
            return low
        if level >= self.end:
            return high
        line = low + (high - low) * Fraction(level - self.reservoir, self.end - self.reservoir)
        place = self.ladder.index(self.rate)
        up = self.ladder[min(place + 1, len(self.ladder) - 1)]
        down = self.ladder[max(place - 1, 0)]
        if line >= up:
            return max(rung for rung in self.ladder if rung < line)
        if line <= down:
            return min(rung for rung in self.ladder if rung > line)
        return self.rate

    def arrive(self, now_ns: int) -> int:
        """A segment is there; returns for how long the picture had stood still."""
        stalled = 0
        if self.at_ns is not None:
            stalled = max(0, now_ns - self.at_ns - self.level_ns)
            self.level_ns = max(0, self.level_ns - (now_ns - self.at_ns))
        self.level_ns += self.segment_ns
        self.at_ns = now_ns
        return stalled
