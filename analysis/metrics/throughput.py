"""Throughput: of each flow, as shares, how settled, and how busy the link is."""

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import Goodput, TrialData
from ..errors import NotMeasuredError
from .metric import Metric

SETTLED_WITHIN = 0.15
"""Largest drift of a trial that counts as settled, where it is too short for its record to tell.

BBR probes every 10 s and CUBIC's cycle lasts seconds, so that half a minute drifts in any case.
"""


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


def _throughput_of_flows(trial: TrialData) -> NDArray[np.float64]:
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


PER_FLOW = Metric(
    name="per_flow_throughput",
    title="Throughput per flow",
    unit="bit/s",
    scope="flow",
    definition="Payload bytes that the flow's sink read in the measured window, per second; "
    "with `window: whole` all that it read, per second from the first to the last byte of any "
    "flow of its strategy and group.",
    source="Mishra, Tiu, Leong, IMC 2022; Srivastava, Fund, Panwar, CNERT 2023",
    compute=_throughput_of_flows,
)


def shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each value's part of the sum (unit 1).

    Args:
        values: Non-negative values, shape (F,).

    Returns:
        Shares that add up to 1, shape (F,); NaN where the sum is 0.
    """
    total = float(values.sum())
    return values / total if total > 0 else np.full_like(values, np.nan, dtype=np.float64)


def _share_of_trial(trial: TrialData) -> NDArray[np.float64]:
    values = np.asarray(PER_FLOW.compute(trial))
    if trial.reverse is None:
        return shares(values)
    parts = np.full_like(values, np.nan, dtype=np.float64)
    parts[~trial.reverse] = shares(values[~trial.reverse])
    return parts


SHARE = Metric(
    name="throughput_share",
    title="Share of the throughput",
    unit="1",
    scope="flow",
    definition="The flow's throughput divided by that of all flows whose data crosses the queue.",
    source="nashbed",
    compute=_share_of_trial,
)


def drift(
    t_ns: NDArray[np.int64],
    interval_bytes: NDArray[np.float64],
    interval_ns: int,
    window_ns: tuple[int, int],
) -> float:
    """Mean rate in the second half of a window less that in the first, relative to the whole mean.

    Bytes are taken as spread evenly over their interval. Arguments are as `per_flow_throughput` has
    them.

    Args:
        interval_bytes: Bytes in each interval, shape (K,).

    Returns:
        The drift, unit 1, -2 to 2; 0 where nothing arrived.
    """
    edges = np.concatenate(([t_ns[0] - interval_ns], t_ns)).astype(np.float64)
    total = np.concatenate(([0.0], np.cumsum(interval_bytes))) * 8 * NS_PER_S
    low, high = window_ns
    begin, middle, end = np.interp([low, (low + high) / 2, high], edges, total)
    if end == begin:
        return 0.0
    return float(2 * (end - 2 * middle + begin) / (end - begin))


def _drift_of_trial(trial: TrialData) -> float:
    goodput = trial.need_goodput()
    if trial.spans_ns is None:
        check_cover(goodput, trial.window_ns)
    if not trial.mixed.any():
        raise NotMeasuredError("no flow of the trial is part of the mix")
    mine = np.where(trial.mixed, np.array(trial.strategy), "")
    drifts = [
        drift(
            goodput.t_ns,
            goodput.bytes[mine == strategy].sum(axis=0),
            goodput.interval_ns,
            trial.window_ns,
        )
        for strategy in dict.fromkeys(mine[trial.mixed].tolist())
    ]
    return max(drifts, key=abs)


DRIFT = Metric(
    name="throughput_drift",
    title="Drift of the throughput",
    unit="1",
    scope="trial",
    definition="Mean throughput of a congestion control in the second half of the window, less "
    "that in the first half, relative to its own mean; the largest of any congestion control. "
    "The record of a trial of 82 s and more says whether it was settled at its end; a shorter "
    f"one counts as settled up to {SETTLED_WITHIN:.2f}.",
    source="nashbed",
    compute=_drift_of_trial,
)


def utilisation(busy_ns: float, window_length_ns: int) -> float:
    """Time in which the link was serialising, by the window's length (unit 1).

    A packet is being serialised for (frame bytes + overhead) x 8 / applied rate up to its
    dequeue time; what of that lies in the window counts.

    Args:
        busy_ns: Time in which the link was serialising, in the window.
    """
    return busy_ns / window_length_ns


def _utilisation_of_trial(trial: TrialData) -> float:
    busy_ns = trial.need_queue().busy_ns
    if trial.course is None:
        return utilisation(busy_ns, trial.length_ns)
    # Of a link that changes, `busy_ns` is what left at the rate of t0: here it is bits again.
    edges = np.array(trial.window_ns, np.int64)
    return busy_ns * trial.rate_bps / NS_PER_S / float(trial.capacity_bits(edges)[0])


UTILISATION = Metric(
    name="utilisation",
    title="Utilisation",
    unit="1",
    scope="trial",
    definition="Share of the measured window in which the link was serialising a packet.",
    source="nashbed",
    compute=_utilisation_of_trial,
)
