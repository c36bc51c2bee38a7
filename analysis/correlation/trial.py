"""One trial: how its telemetry goes with its throughput, and what CUBIC and BBR really did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..measures import TrialMeasures
from ..metrics.queue_occupancy import COLUMNS
from ..models.mishra2022 import k_of_synchrony
from .bbr_path import flight_in_bdp, mean_min_rtt
from .congestion_events import CongestionEvent, congestion_events, event_length_ns
from .cubic_cycle import cycle_minima, queue_and_flight_at
from .equation5 import equation5
from .lagged import fast_part, lagged_correlation
from .series import FlowSeries, load_series
from .synchronisation import losing_shares

CUBIC, BBR = "cubic", "bbr"
HEADER_BYTES = 66
"""Ethernet 14, IPv4 20, TCP with time stamps 32: frame bytes beside a segment's payload."""
MAX_LAGS = 25
MAX_FLOWS = 64
"""Flows of a trial whose lagged correlations are computed; more would only cost time."""
SAMPLES = ("t_ns", "flow", "cwnd_pkts", "mss", "inflight_bytes", "bbr_bw_bps", "bbr_min_rtt_us")


@dataclass(frozen=True)
class LaggedCorrelation:
    """Occupancy against departure rate over time, flow by flow, slow swings taken out.

    Attributes:
        lags_ns: Lags; positive: the rate follows the occupancy, shape (L,).
        values: Correlation of each flow that was looked at, shape (f, L).
        flows: Those flows, shape (f,).
        expected_ns: Half the mean queueing delay.
    """

    lags_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    flows: NDArray[np.int64]
    expected_ns: float


@dataclass(frozen=True)
class CubicLosses:
    """CUBIC's aggregate at its loss events. Bytes are of frames.

    Attributes:
        flows: Number of CUBIC flows.
        events_ns: Starts of the congestion events in which a CUBIC flow lost, shape (n,).
        shares: Share of the CUBIC flows that lost in each, shape (n,).
        b_max: Bytes in the queue at each event, shape (n,).
        window: Bytes in flight at each event, from postcards; empty without every postcard.
        window_tcp: Congestion windows at each event, from TCP_INFO; empty without samples.
        b_min: Least bytes in the queue from each event to the next, shape (n - 1,).
    """

    flows: int
    events_ns: NDArray[np.int64]
    shares: NDArray[np.float64]
    b_max: NDArray[np.float64]
    window: NDArray[np.float64]
    window_tcp: NDArray[np.float64]
    b_min: NDArray[np.float64]

    @property
    def k(self) -> float:
        """The model's k at the mean share of losing flows; NaN without events."""
        return k_of_synchrony(float(self.shares.mean())) if len(self.shares) else float("nan")


@dataclass(frozen=True)
class BbrPath:
    """What BBR estimated and did, averaged over its flows and samples.

    Attributes:
        flows: Number of BBR flows.
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
        measures: The trial's metrics.
        predicted: What equation (5) makes of each flow's occupancy, bit/s, shape (F,).
        lagged: Occupancy against rate over time.
        cubic: CUBIC's losses (None: no such flow, or drops are not known).
        bbr: BBR's path (None: no such flow, or no samples).
    """

    measures: TrialMeasures
    predicted: NDArray[np.float64] | None
    lagged: LaggedCorrelation | None
    cubic: CubicLosses | None
    bbr: BbrPath | None


def correlate_trial(measures: TrialMeasures, scenario: Scenario) -> TrialCorrelation:
    """Correlate one measured trial; its postcards are streamed twice.

    Args:
        measures: Its metrics.
        scenario: The run's scenario.

    Raises:
        RunError: A table of the trial is damaged.
    """
    trial, flows = measures.trial, len(measures.strategy)
    series = load_series(trial, scenario, flows)
    samples = trial.arrays("flow_samples", SAMPLES) if trial.has("flow_samples") else None
    if series is None:
        return TrialCorrelation(measures, None, None, None, _bbr(measures, samples, None))
    return TrialCorrelation(
        measures=measures,
        predicted=_predicted(measures, series),
        lagged=_lagged(measures, series),
        cubic=_cubic(measures, series, samples),
        bbr=_bbr(measures, samples, series),
    )


def base_rtts_ns(measures: TrialMeasures) -> NDArray[np.int64]:
    """Base RTT of each flow, shape (F,)."""
    return np.array(measures.trial.setting.base_rtt_ns, dtype=np.int64)[measures.group]


def _predicted(measures: TrialMeasures, series: FlowSeries) -> NDArray[np.float64] | None:
    """Equation (5) in goodput: queue bytes are scaled to the payload that they carry."""
    if "per_flow_throughput" not in measures.per_flow:
        return None
    low, high = measures.trial.record.window_ns
    rate = measures.per_flow["per_flow_throughput"] / 8
    wire = float(series.departed.sum()) * NS_PER_S / (high - low)
    delay = measures.value("mean_queueing_delay")
    if not wire > 0 or not np.isfinite(delay):
        return None
    occupancy = measures.per_flow["queue_occupancy"] * (float(rate.sum()) / wire)
    return 8 * equation5(rate, occupancy, base_rtts_ns(measures) / NS_PER_S, delay)


def _lagged(measures: TrialMeasures, series: FlowSeries) -> LaggedCorrelation | None:
    delay_ns = measures.value("mean_queueing_delay") * NS_PER_S
    if not np.isfinite(delay_ns):
        return None
    reach = int(max(2 * delay_ns, 4 * series.bins.length_ns) // series.bins.length_ns) + 1
    lags = np.unique(np.linspace(-reach, reach, min(2 * reach, 2 * MAX_LAGS) + 1).astype(int))
    flows = np.arange(min(len(measures.strategy), MAX_FLOWS))
    width = 4 * reach
    pairs = [
        (fast_part(series.occupancy[f], width), fast_part(series.departed[f], width)) for f in flows
    ]
    values = [lagged_correlation(x, y, lags) for x, y in pairs]
    return LaggedCorrelation(lags * series.bins.length_ns, np.array(values), flows, delay_ns / 2)


def cubic_events(measures: TrialMeasures, series: FlowSeries) -> list[CongestionEvent]:
    """The congestion events in which at least one CUBIC flow lost."""
    if series.drops is None:
        return []
    full_ns = measures.buffer_bytes * 8 * NS_PER_S // measures.rate_bps
    mask = measures.flow_mask(CUBIC)
    length = event_length_ns(int(base_rtts_ns(measures)[mask].max()), full_ns)
    lost = mask[series.drops.flow]
    return congestion_events(series.drops.t_ns[lost], series.drops.flow[lost], length)


def _cubic(
    measures: TrialMeasures, series: FlowSeries, samples: Arrays | None
) -> CubicLosses | None:
    mask = measures.flow_mask(CUBIC)
    if not mask.any() or series.drops is None:
        return None
    events = cubic_events(measures, series)
    at = np.array([event.start_ns for event in events], dtype=np.int64)
    together = series.occupancy[mask].sum(axis=0)
    b_max, window = _at_events(measures, series, mask, at)
    return CubicLosses(
        flows=int(mask.sum()),
        events_ns=at,
        shares=losing_shares(events, np.flatnonzero(mask).tolist()),
        b_max=b_max,
        window=window,
        window_tcp=_tcp_windows(samples, mask, at),
        b_min=cycle_minima(together, series.bins, at),
    )


def _at_events(
    measures: TrialMeasures, series: FlowSeries, mask: NDArray[np.bool_], at: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """CUBIC's bytes in the queue and in flight at instants: exact, or the queue's by bin."""
    if series.exact and len(at):
        chunks = measures.trial.batches("postcards", COLUMNS)
        queue, flight = queue_and_flight_at(chunks, base_rtts_ns(measures), at)
        return queue[mask].sum(axis=0).astype(float), flight[mask].sum(axis=0).astype(float)
    index = np.clip((at - series.bins.start_ns) // series.bins.length_ns, 0, series.bins.count - 1)
    return series.occupancy[mask].sum(axis=0)[index], np.empty(0)


def _tcp_windows(
    samples: Arrays | None, mask: NDArray[np.bool_], at: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Sum of the flows' congestion windows by their last samples before each instant."""
    if samples is None:
        return np.empty(0)
    total = np.zeros(len(at))
    for flow in np.flatnonzero(mask):
        mine = samples["flow"] == flow
        t_ns, window = samples["t_ns"][mine], _frames(samples, "cwnd_pkts", mine)
        order = np.argsort(t_ns, kind="stable")
        index = np.searchsorted(t_ns[order], at, side="right") - 1
        known = np.where(index >= 0, window[order][np.maximum(index, 0)], np.nan)
        total += known
    return total


def _frames(samples: Arrays, packets: str, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Packets of full segments as frame bytes."""
    frame = samples["mss"][rows].astype(np.float64) + HEADER_BYTES
    return samples[packets][rows] * frame


def _bbr(
    measures: TrialMeasures, samples: Arrays | None, series: FlowSeries | None
) -> BbrPath | None:
    mask = measures.flow_mask(BBR)
    if not mask.any() or samples is None:
        return None
    low, high = measures.trial.record.window_ns
    rows = mask[samples["flow"]] & (samples["t_ns"] >= low) & (samples["t_ns"] < high)
    rtt_us, flight = samples["bbr_min_rtt_us"][rows], samples["inflight_bytes"][rows]
    min_rtt_s = mean_min_rtt(rtt_us)
    rate = float("nan")
    if series is not None:
        rate = float(series.departed[mask].mean(axis=0).sum()) * NS_PER_S / (high - low)
    frames = float(flight.mean()) * _frame_ratio(samples["mss"][rows]) if rows.any() else np.nan
    return BbrPath(
        flows=int(mask.sum()),
        min_rtt_s=min_rtt_s,
        flight_own=flight_in_bdp(flight, samples["bbr_bw_bps"][rows], rtt_us),
        flight_real=frames / (rate * min_rtt_s) if rate > 0 and min_rtt_s > 0 else float("nan"),
    )


def _frame_ratio(mss: NDArray[np.uint32]) -> float:
    """Frame bytes for each payload byte of full segments; NaN where the size is not known."""
    mean = float(mss.mean())
    return (mean + HEADER_BYTES) / mean if mean > 0 else float("nan")
