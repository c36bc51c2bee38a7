"""Examiners of what held flows up in the window: queue, lateness, pauses, sizes of sockets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.shared import CONSTANTS
from ..contract.trial import SocketLimit
from ..store.raw_files import Ints
from ..store.tables import Disturbances
from .postcard_evidence import Sightings

COLUMNS: dict[SocketLimit, str] = {
    "receive window": "rwnd_limited_us",
    "send buffer": "sndbuf_limited_us",
}
"""What the kernel counts in TCP_INFO since the connection was made (struct tcp_info)."""


class QueueingDelay:
    """The mean queueing delay of the packets of a window.

    Args:
        window_ns: The window (from, to), after t0.
    """

    def __init__(self, window_ns: tuple[int, int]) -> None:
        self._begin_ns, self._end_ns = window_ns
        self._sum_ns = 0.0
        self._packets = 0

    @property
    def mean_ns(self) -> float:
        """The mean; 0 where no packet left in the window."""
        return self._sum_ns / self._packets if self._packets else 0.0

    def examine(self, batch: Sightings) -> None:
        """Take a batch in."""
        times_ns, packets = batch.seen_ns, batch.departures
        inside = (times_ns >= self._begin_ns) & (times_ns < self._end_ns) & (packets > 0)
        self._sum_ns += float(np.sum(batch.delay_ns[inside] * packets[inside].astype(np.float64)))
        self._packets += int(np.sum(packets[inside], dtype=np.int64))


@dataclass(frozen=True)
class HoldUps:
    """How often something was held up, and for how long.

    Attributes:
        total_ns: For how long in all.
        longest_ns: The longest; 0 where there was none.
    """

    count: int = 0
    total_ns: int = 0
    longest_ns: int = 0

    @property
    def mean_ns(self) -> float:
        """Total over count; 0 where there was none."""
        return self.total_ns / self.count if self.count else 0.0


class DisturbanceEvidence:
    """Lateness, errors of round trips, responses and pauses of the bins that overlap a window.

    Args:
        window_ns: The window (from, to), after t0.

    Attributes:
        departures: By how much departures were late.
        returns: By how much round trips were too long.
        responses: How long receivers took to answer.
        pauses: For how long the packet loop did not run.
    """

    def __init__(self, window_ns: tuple[int, int]) -> None:
        self._begin_ns, self._end_ns = window_ns
        self.departures = self.returns = self.responses = self.pauses = HoldUps()

    def examine(self, batch: Disturbances) -> None:
        """Take all records of the trial in, once."""
        bins, pauses = batch
        bins = bins[self._overlaps(bins["t_ns"], CONSTANTS.disturbance_bin_ns)]
        pauses = pauses[self._overlaps(pauses["t_ns"], pauses["length_ns"].astype(np.int64))]
        self.departures = _hold_ups(bins, "departures", "late")
        self.returns = _hold_ups(bins, "returns", "error")
        self.responses = _hold_ups(bins, "responses", "response")
        lengths = pauses["length_ns"]
        self.pauses = HoldUps(len(lengths), int(lengths.sum()), int(lengths.max(initial=0)))

    def _overlaps(self, begin_ns: Ints, length_ns: Ints | int) -> NDArray[np.bool_]:
        return np.asarray((begin_ns < self._end_ns) & (begin_ns + length_ns > self._begin_ns))


def _hold_ups(bins: NDArray[Any], count: str, stem: str) -> HoldUps:
    return HoldUps(
        int(bins[count].sum(dtype=np.int64)),
        int(bins[f"{stem}_sum_ns"].sum()),
        int(bins[f"{stem}_max_ns"].max(initial=0)),
    )


class WindowLimits:
    """Shares of a window, from the samples of TCP_INFO.

    The kernel calls a flow limited by its send buffer while everything that it was given has
    been sent, the congestion window has room, and the buffer takes no more. A limit of unsent
    bytes (TCP_NOTSENT_LOWAT) that keeps the buffer closed counts as well, but with nothing left
    to send such a buffer is open again with the next ACK at the latest.

    Args:
        window_ns: The measured window (from, to), after t0.
    """

    def __init__(self, flows: int, window_ns: tuple[int, int]) -> None:
        self._window_ns = window_ns
        self.shares: dict[SocketLimit, NDArray[np.float64]] = {
            by: np.zeros(flows) for by in COLUMNS
        }
        """Share of the window in which each flow was limited, by what limited it."""

    def examine(self, batch: NDArray[Any]) -> None:
        """Take all samples of a trial in, once.

        Args:
            batch: Records of FLOW_SAMPLE in the order of time, with times after t0.
        """
        for flow in range(len(self.shares["send buffer"])):
            own = batch[batch["flow"] == flow]
            for by, column in COLUMNS.items():
                self.shares[by][flow] = _share(own["t_ns"], own[column], self._window_ns)


def _share(times_ns: NDArray[Any], limited_us: NDArray[Any], window_ns: tuple[int, int]) -> float:
    """Growth of a sum of time over the part of a window that samples cover, relative to it."""
    if len(times_ns) == 0:
        return 0.0
    begin, end = np.clip(window_ns, times_ns[0], times_ns[-1])
    if end <= begin:
        return 0.0
    first, last = np.interp((begin, end), times_ns, limited_us.astype(np.float64))
    return float((last - first) * 1000 / (end - begin))
