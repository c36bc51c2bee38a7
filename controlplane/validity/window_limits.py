"""For how much of the measured window each flow was held back by its sockets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.strain import SocketLimit

COLUMNS: dict[SocketLimit, str] = {
    "receive window": "rwnd_limited_us",
    "send buffer": "sndbuf_limited_us",
}
"""What the kernel counts in TCP_INFO since the connection was made (struct tcp_info)."""


class WindowLimits:
    """Shares of a window, from the samples of TCP_INFO.

    The kernel calls a flow limited by its send buffer while everything that it was given has
    been sent, the congestion window has room, and the buffer takes no more. A limit of unsent
    bytes (TCP_NOTSENT_LOWAT) that keeps the buffer closed counts as well, but with nothing left
    to send such a buffer is open again with the next ACK at the latest.

    Args:
        flows: Number of flows.
        window_ns: The measured window (from, to), after t0.
    """

    def __init__(self, flows: int, window_ns: tuple[int, int]) -> None:
        self._window_ns = window_ns
        self.shares: dict[SocketLimit, NDArray[np.float64]] = {
            by: np.zeros(flows) for by in COLUMNS
        }
        """Of each flow, by what held it back."""

    def feed(self, samples: NDArray[Any]) -> None:
        """Take all samples of a trial in.

        Args:
            samples: Records of FLOW_SAMPLE in the order of time, with times after t0.
        """
        for flow in range(len(self.shares["send buffer"])):
            own = samples[samples["flow"] == flow]
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
