"""What BBR believes of the path, and how much it keeps in flight."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import minimum_filter1d

from ..metrics.rtt import US_PER_S

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
        length_ns: Length of a bin.

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
