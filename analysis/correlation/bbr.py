"""What BBR believes of its path and keeps in flight, beside CUBIC's queue in the same windows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter1d

from ..measures import TrialMeasures
from ..metrics.rtt import US_PER_S
from ..models.starts import CUBIC
from .competition import bbr_of
from .cubic_losses import HEADER_BYTES
from .series import FlowSeries

MIN_RTT_WINDOW_NS = 10_000_000_000
"""BBR's estimate of the base RTT is the least RTT of so long (Linux: bbr_min_rtt_win_sec)."""


def mean_min_rtt(min_rtt_us: NDArray[Any]) -> float:
    """BBR's estimate of the base RTT, averaged over samples, in seconds.

    It is the model's R+: BBR drains its own packets while probing, so what it sees is the
    base RTT and CUBIC's part of the queue.

    Args:
        min_rtt_us: `bbr_min_rtt_us` of the samples; NaN and 0 (no estimate) are left out.

    Returns:
        Seconds; NaN without an estimate.

    Source: Mishra, Tiu, Leong, IMC 2022, equation (9).
    """
    known = min_rtt_us[np.isfinite(min_rtt_us) & (min_rtt_us > 0)]
    return float(known.mean()) / US_PER_S if len(known) else float("nan")


def rtt_plus(base_rtt_s: float, cubic_minimum: float, rate_bps: float) -> float:
    """The model's R+ = R + b_cmin / C in seconds.

    Args:
        base_rtt_s: R.
        cubic_minimum: b_cmin, bytes.
        rate_bps: C.

    Source: Mishra, Tiu, Leong, IMC 2022, equation (9).
    """
    return base_rtt_s + cubic_minimum * 8 / rate_bps


def least_before(occupancy: NDArray[np.float64], length_ns: int) -> NDArray[np.float64]:
    """The least of a binned series over the 10 s that end with each bin.

    Args:
        occupancy: Mean bytes in each bin, shape (B,).

    Returns:
        Bytes, shape (B,); NaN in the first 10 s, for which nothing is known of what was before.
    """
    half = max(1, MIN_RTT_WINDOW_NS // length_ns // 2)
    least = np.full(len(occupancy), np.nan)
    if len(occupancy) > 2 * half:
        least[2 * half :] = minimum_filter1d(occupancy, 2 * half + 1)[half:-half]
    return least


def flight_in_bdp(
    inflight_bytes: NDArray[Any], bandwidth_bps: NDArray[Any], min_rtt_us: NDArray[Any]
) -> float:
    """Bytes in flight by BBR's own bandwidth-delay product, averaged over samples (unit 1).

    Args:
        inflight_bytes: Bytes in flight, shape (n,).
        bandwidth_bps: BBR's bandwidth estimate, shape (n,).
        min_rtt_us: BBR's RTT estimate, shape (n,).

    Returns:
        The mean; NaN without a sample that has both estimates.

    Source: Mishra, Tiu, Leong, IMC 2022, equation (7): 2 with competitors.
    """
    bdp = bandwidth_bps * min_rtt_us / US_PER_S / 8
    known = np.isfinite(bdp) & (bdp > 0)
    return float((inflight_bytes[known] / bdp[known]).mean()) if known.any() else float("nan")


@dataclass(frozen=True)
class BbrWindows:
    """Means over windows of 10 s, one after the other, from 10 s after the start of measuring.

    Attributes:
        min_rtt_s: BBR's estimate of the base RTT, over its flows and samples, shape (n,).
        flight: Frame bytes of all BBR flows in flight, by TCP_INFO, shape (n,).
        rate: Frame bytes of all BBR flows that left, a second, shape (n,).
        least: Least bytes of all CUBIC flows in the queue over the 10 s before each instant:
            what BBR's estimate is of, shape (n,).
        queue: Bytes of all flows in the queue, shape (n,).
    """

    min_rtt_s: NDArray[np.float64]
    flight: NDArray[np.float64]
    rate: NDArray[np.float64]
    least: NDArray[np.float64]
    queue: NDArray[np.float64]


def bbr_windows(measures: TrialMeasures, series: FlowSeries, samples: Arrays) -> BbrWindows | None:
    """Read a trial window by window.

    Returns:
        The windows; None without BBR flows or with less than 20 s of measured time.
    """
    low, high = measures.trial.record.window_ns
    count = (high - low) // MIN_RTT_WINDOW_NS - 1
    mask = measures.flow_mask(bbr_of(measures))
    if count < 1 or not mask.any():
        return None
    starts = low + MIN_RTT_WINDOW_NS * np.arange(1, count + 2)
    rows = mask[samples["flow"]] & (samples["bbr_min_rtt_us"] > 0)
    rows &= (samples["t_ns"] >= starts[0]) & (samples["t_ns"] < starts[-1])
    window = (samples["t_ns"][rows] - starts[0]) // MIN_RTT_WINDOW_NS
    edges = np.searchsorted(series.bins.middles_ns, starts)
    cubic = series.occupancy[measures.flow_mask(CUBIC)].sum(axis=0)
    flight = samples["inflight_bytes"][rows] * frame_ratio(samples["mss"][rows])
    per_second = NS_PER_S / series.bins.length_ns
    return BbrWindows(
        min_rtt_s=_mean_of(samples["bbr_min_rtt_us"][rows] / US_PER_S, window, count),
        flight=_mean_of(flight, window, count) * mask.sum(),
        rate=_mean_between(series.departed[mask].sum(axis=0), edges) * per_second,
        least=_mean_between(least_before(cubic, series.bins.length_ns), edges),
        queue=_mean_between(series.occupancy.sum(axis=0), edges),
    )


def frame_ratio(mss: NDArray[np.uint32]) -> float:
    """Frame bytes for each payload byte of full segments; NaN where the size is not known."""
    mean = float(mss.mean()) if len(mss) else 0.0
    return (mean + HEADER_BYTES) / mean if mean > 0 else float("nan")


def _mean_of(
    values: NDArray[np.float64], window: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """Means of the samples of each window; NaN where there is none."""
    samples = np.bincount(window, minlength=count)
    sums = np.bincount(window, weights=values, minlength=count)
    means = np.full(count, np.nan)
    np.divide(sums, samples, out=means, where=samples > 0)
    return means


def _mean_between(values: NDArray[np.float64], edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means of the bins from each edge to the next."""
    parts = np.split(values, edges)[1:-1]
    return np.array([float(part.mean()) if len(part) else np.nan for part in parts])
