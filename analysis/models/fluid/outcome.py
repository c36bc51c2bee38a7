"""What the fluid model answers for one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .competition import Competition

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Course:
    """How a competition went, in bins of equal length.

    Attributes:
        bin_s: Length of a bin in seconds; bin i is from i to i + 1 times that.
        departed_bytes: What left the queue of each kind of flows, shape (T, G).
        queue_s: Mean time that the queue would have taken to drain, in seconds, shape (T,).
    """

    bin_s: float
    departed_bytes: FloatArray
    queue_s: FloatArray


@dataclass(frozen=True)
class Outcome:
    """One simulated competition, over its measured time.

    Attributes:
        competition: What was simulated.
        seed: Its seed.
        throughput_bps: Of all flows of each kind together, shape (G,).
        sent_bps: What they sent to the queue, shape (G,).
        loss: Part of what each kind sent that was dropped, shape (G,).
        min_rtt_s: Mean smallest round-trip time that the flows of each kind believe in, shape (G,).
        queueing_delay_s: Mean queueing delay in seconds.
        utilisation: Part of the rate that was used.
        losing: Mean share of the flows of each kind that lose in a congestion event of that kind;
            NaN without one, shape (G,).
        course: From the start to the end, with what was not measured.
    """

    competition: Competition
    seed: int
    throughput_bps: FloatArray
    sent_bps: FloatArray
    loss: FloatArray
    min_rtt_s: FloatArray
    queueing_delay_s: float
    utilisation: float
    losing: FloatArray
    course: Course

    def share_of(self, control: str) -> float:
        """Part of the throughput of all flows that the flows of a control have."""
        of = np.array([kind.control == control for kind in self.competition.kinds])
        total = self.throughput_bps.sum()
        return float(self.throughput_bps[of].sum() / total) if total > 0 else 0.0
