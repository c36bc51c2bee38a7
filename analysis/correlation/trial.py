"""One trial: what CUBIC and BBR really did, and how far the model's assumptions hold."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays

from ..measures import TrialMeasures
from .assumptions import AssumptionCheck, check_assumptions
from .bbr import BbrWindows, bbr_windows, flight_in_bdp, frame_ratio, mean_min_rtt
from .competition import bbr_of
from .cubic_losses import CubicLosses, cubic_losses
from .series import FlowSeries, load_series

SAMPLES = (
    "t_ns", "flow", "ca_state", "cwnd_pkts", "mss", "inflight_bytes", "bbr_bw_bps",
    "bbr_min_rtt_us",
)  # fmt: skip


@dataclass(frozen=True)
class BbrPath:
    """What BBR estimated and did, averaged over its flows and samples.

    Attributes:
        min_rtt_s: Its estimate of the base RTT.
        flight_own: Bytes in flight, in its own bandwidth-delay products.
        flight_real: Bytes in flight by (its throughput x its RTT estimate), frames.
    """

    flows: int
    min_rtt_s: float
    flight_own: float
    flight_real: float


@dataclass(frozen=True)
class TrialCorrelation:
    """One trial. F is its number of flows; what could not be had is None.

    Attributes:
        cubic: CUBIC's losses (None: no such flow, or drops are not known).
        bbr: BBR's path (None: no such flow, or no samples).
        held: The model's assumptions that could be held against it, by key.
    """

    measures: TrialMeasures
    cubic: CubicLosses | None
    bbr: BbrPath | None
    held: Mapping[str, AssumptionCheck]


def correlate_trial(measures: TrialMeasures, scenario: Scenario) -> TrialCorrelation:
    """Read one measured trial; its postcards are streamed twice.

    Raises:
        RunError: A table of the trial is damaged.
    """
    trial, flows = measures.trial, len(measures.strategy)
    series = load_series(trial, scenario, flows)
    samples = trial.arrays("flow_samples", SAMPLES) if trial.has("flow_samples") else None
    path = _bbr(measures, samples, series)
    if series is None:
        return TrialCorrelation(measures, None, path, {})
    cubic = cubic_losses(measures, series, samples)
    windows: BbrWindows | None = None
    if samples is not None:
        windows = bbr_windows(measures, series, samples)
    return TrialCorrelation(
        measures, cubic, path, check_assumptions(measures, series, cubic, windows)
    )


def _bbr(
    measures: TrialMeasures, samples: Arrays | None, series: FlowSeries | None
) -> BbrPath | None:
    mask = measures.flow_mask(bbr_of(measures))
    if not mask.any() or samples is None:
        return None
    low, high = measures.trial.record.window_ns
    rows = mask[samples["flow"]] & (samples["t_ns"] >= low) & (samples["t_ns"] < high)
    rtt_us, flight = samples["bbr_min_rtt_us"][rows], samples["inflight_bytes"][rows]
    min_rtt_s = mean_min_rtt(rtt_us)
    rate = float("nan")
    if series is not None:
        rate = float(series.departed[mask].mean(axis=0).sum()) * NS_PER_S / (high - low)
    frames = float(flight.mean()) * frame_ratio(samples["mss"][rows]) if rows.any() else np.nan
    return BbrPath(
        flows=int(mask.sum()),
        min_rtt_s=min_rtt_s,
        flight_own=flight_in_bdp(flight, samples["bbr_bw_bps"][rows], rtt_us),
        flight_real=frames / (rate * min_rtt_s) if rate > 0 and min_rtt_s > 0 else float("nan"),
    )
