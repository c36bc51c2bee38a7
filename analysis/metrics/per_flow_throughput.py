"""Per-flow throughput: what arrived at the application, over the measured window."""

from __future__ import annotations

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import Goodput, TrialData
from ..errors import NotMeasuredError
from .registry import Metric, register


def per_flow_throughput(
    t_ns: NDArray[np.int64],
    interval_bytes: NDArray[np.float64],
    interval_ns: int,
    window_ns: tuple[int, int],
) -> NDArray[np.float64]:
    """Goodput of each flow in bit/s: payload bytes read by its sink in the window / length.

    An interval that the window cuts counts in proportion (bytes are taken as spread evenly
    over their interval). TCP and IP headers and retransmitted bytes are not in it: at most
    1448 / 1514 of the rate on the wire.

    Args:
        t_ns: Ends of the intervals, increasing, shape (K,).
        interval_bytes: Payload bytes in each interval, shape (F, K).
        interval_ns: Length of the first interval; the others last from the end before.
        window_ns: The window (from, to).

    Returns:
        Throughput in bit/s, shape (F,).

    Source: "throughput" of Mishra, Tiu, Leong, IMC 2022; Srivastava et al., CNERT 2023.
    """
    low, high = window_ns
    starts = np.concatenate(([t_ns[0] - interval_ns], t_ns[:-1]))
    inside = np.clip(t_ns, low, high) - np.clip(starts, low, high)
    share = inside / (t_ns - starts)
    received: NDArray[np.float64] = interval_bytes @ share
    return received * (8 * NS_PER_S / (high - low))


def throughput_of_spans(
    interval_bytes: NDArray[np.float64], spans_ns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Goodput of each flow in bit/s over the span of its strategy, as iperf3's sum_received is.

    The spans of two strategies overlap, and what drains from the queue at the end counts: all flows
    together can have more than the link carries.

    Args:
        interval_bytes: Payload bytes in each interval, shape (F, K).
        spans_ns: From the first to the last byte of each flow's strategy, shape (F,).

    Returns:
        Throughput in bit/s, shape (F,); 0 where nothing arrived.
    """
    rates = interval_bytes.sum(axis=1) * 8 * NS_PER_S / spans_ns
    filled: NDArray[np.float64] = np.nan_to_num(rates, nan=0.0)
    return filled


def _of_trial(trial: TrialData) -> NDArray[np.float64]:
    goodput = trial.need_goodput()
    if trial.spans_ns is not None:
        return throughput_of_spans(goodput.bytes, trial.spans_ns)
    check_cover(goodput, trial.window_ns)
    return per_flow_throughput(goodput.t_ns, goodput.bytes, goodput.interval_ns, trial.window_ns)


def check_cover(goodput: Goodput, window_ns: tuple[int, int]) -> None:
    """Refuse a window that the sinks did not count for as a whole: a part of it is no mean.

    Raises:
        NotMeasuredError: They began late or ended early.
    """
    if len(goodput.t_ns) == 0:
        raise NotMeasuredError("the goodput table is empty")
    first, last = int(goodput.t_ns[0]) - goodput.interval_ns, int(goodput.t_ns[-1])
    if first > window_ns[0] or last < window_ns[1]:
        raise NotMeasuredError("the sinks did not count for the whole measured window")


METRIC = register(
    Metric(
        name="per_flow_throughput",
        title="Throughput per flow",
        unit="bit/s",
        scope="flow",
        definition="Payload bytes that the flow's sink read in the measured window, per second; "
        "with `window: whole` all that it read, per second from the first to the last byte of any "
        "flow of its strategy and group.",
        source="Mishra, Tiu, Leong, IMC 2022; Srivastava, Fund, Panwar, CNERT 2023",
        compute=_of_trial,
    )
)
