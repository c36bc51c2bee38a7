"""CUBIC in one trial: its aggregate at loss events and between them.

Its sawtooth is its bytes in the queue at each loss event and the least between two; a flow's cut is
what it keeps of its window when it loses packets, by TCP_INFO.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..measures import TrialMeasures
from ..metrics.queue import COLUMNS, TimeBins, occupancy_at
from ..models.mishra2022 import k_of_synchrony
from ..models.starts import CUBIC
from .congestion_events import (
    ShiftedNull,
    congestion_events,
    event_length_ns,
    losing_shares,
    shifted_null,
)
from .series import Drops, FlowSeries

HEADER_BYTES = 66
"""Ethernet 14, IPv4 20, TCP with time stamps 32: frame bytes beside a segment's payload."""
OPEN, RECOVERY = 0, 3
"""Values of `ca_state`: no loss; a loss is being repaired (larger: after a timeout)."""


@dataclass(frozen=True)
class CubicLosses:
    """CUBIC's aggregate at its loss events. Bytes are of frames.

    Attributes:
        events_ns: Starts of the congestion events in which a CUBIC flow lost, shape (n,).
        shares: Share of the CUBIC flows that lose in each, shape (n,).
        null: That share by chance; None with fewer than two flows that lose.
        b_max: Bytes in the queue at each event, shape (n,).
        window: Bytes in flight at each event, from postcards; empty without every postcard.
        window_tcp: Congestion windows at each event, from TCP_INFO; empty without samples.
        b_min: Least bytes in the queue from each event to the next, shape (n - 1,).
        share_min: CUBIC's share of the link around each least, shape (n - 1,).
        cuts: Window after by window before each flow's recoveries; empty without samples.
    """

    flows: int
    events_ns: NDArray[np.int64]
    shares: NDArray[np.float64]
    null: ShiftedNull | None
    b_max: NDArray[np.float64]
    window: NDArray[np.float64]
    window_tcp: NDArray[np.float64]
    b_min: NDArray[np.float64]
    share_min: NDArray[np.float64]
    cuts: NDArray[np.float64]

    @property
    def k(self) -> float:
        """The model's k at the mean share of losing flows; NaN without events."""
        return k_of_synchrony(float(self.shares.mean())) if len(self.shares) else float("nan")


def base_rtts_ns(measures: TrialMeasures) -> NDArray[np.int64]:
    """Base RTT of each flow, shape (F,)."""
    return np.array(measures.trial.setting.base_rtt_ns, dtype=np.int64)[measures.group]


def cubic_losses(
    measures: TrialMeasures, series: FlowSeries, samples: Arrays | None
) -> CubicLosses | None:
    """Read a trial's losses; None without a CUBIC flow.

    Args:
        samples: Its TCP_INFO samples, if it has any.

    Raises:
        RunError: A table of the trial is damaged.
    """
    mask = measures.flow_mask(CUBIC)
    if not mask.any():
        return None
    flows = np.flatnonzero(mask).tolist()
    lost = _drops_of(series.drops, mask)
    length = _event_length_ns(measures, mask)
    events = congestion_events(lost.t_ns, lost.flow, length)
    at = np.array([event.start_ns for event in events], dtype=np.int64)
    together, departed = series.occupancy[mask].sum(axis=0), series.departed[mask].sum(axis=0)
    least = least_bins(together, series.bins, at)
    width = int(base_rtts_ns(measures)[mask].max()) // series.bins.length_ns
    b_max, window = _at_events(measures, series, mask, at)
    return CubicLosses(
        flows=len(flows),
        events_ns=at,
        shares=losing_shares(events, flows),
        null=shifted_null(lost.t_ns, lost.flow, flows, length, measures.trial.record.window_ns),
        b_max=b_max,
        window=window,
        window_tcp=_tcp_windows(samples, mask, at),
        b_min=together[least],
        share_min=share_around(departed, series.departed.sum(axis=0), least, width),
        cuts=_cuts(samples, flows, measures.trial.record.window_ns),
    )


def _drops_of(drops: Drops, mask: NDArray[np.bool_]) -> Drops:
    lost = mask[drops.flow]
    return Drops(drops.t_ns[lost], drops.flow[lost])


def _event_length_ns(measures: TrialMeasures, mask: NDArray[np.bool_]) -> int:
    full_ns = measures.buffer_bytes * 8 * NS_PER_S // measures.rate_bps
    return event_length_ns(int(base_rtts_ns(measures)[mask].max()), full_ns)


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


def _cuts(
    samples: Arrays | None, flows: list[int], window_ns: tuple[int, int]
) -> NDArray[np.float64]:
    """The cuts of every flow in the measured window, one flow after the other."""
    if samples is None:
        return np.empty(0)
    inside = (samples["t_ns"] >= window_ns[0]) & (samples["t_ns"] < window_ns[1])
    found = [np.empty(0)]
    for flow in flows:
        mine = inside & (samples["flow"] == flow)
        found.append(window_cuts(*(samples[n][mine] for n in ("t_ns", "cwnd_pkts", "ca_state"))))
    return np.concatenate(found)


def least_bins(
    occupancy: NDArray[np.float64], bins: TimeBins, events_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The bin of the smallest occupancy from each event to the next.

    The last event has no end and gives none; a cycle shorter than a bin takes the bin it
    lies in.

    Args:
        occupancy: Mean bytes in each bin, shape (B,).
        events_ns: Starts of the events, increasing, inside the bins, shape (n,).

    Returns:
        Indices of bins, shape (max(n - 1, 0),).
    """
    index = np.clip((events_ns - bins.start_ns) // bins.length_ns, 0, bins.count - 1)
    pairs = zip(index[:-1].tolist(), index[1:].tolist(), strict=True)
    least = [low + int(np.argmin(occupancy[low : max(high, low + 1)])) for low, high in pairs]
    return np.array(least, dtype=np.int64)


def share_around(
    mine: NDArray[np.float64], everything: NDArray[np.float64], at: NDArray[np.int64], width: int
) -> NDArray[np.float64]:
    """Some flows' share of what left around given bins (unit 1).

    Args:
        mine: Bytes of those flows that left in each bin, shape (B,).
        everything: Bytes of all flows, shape (B,).
        at: The bins, shape (n,).
        width: Over how many bins, about, with each in the middle.

    Returns:
        Shares, shape (n,); NaN where nothing left.
    """
    sums = np.concatenate(([[0.0], [0.0]], np.cumsum((mine, everything), axis=1)), axis=1).T
    low = np.maximum(at - width // 2, 0)
    high = np.minimum(at + width // 2 + 1, len(mine))
    part, whole = (sums[high] - sums[low]).T
    shares = np.full(len(at), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def queue_and_flight_at(
    chunks: Iterable[Arrays],
    base_rtt_ns: NDArray[np.int64],
    instants_ns: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes of each flow in the queue and in flight at given instants, in one pass.

    A packet is in flight from half a base RTT before it reaches the queue (the delay line is
    split evenly) until its ACK is back, half a base RTT after it left. Dropped packets are
    not counted.

    Args:
        chunks: Postcards in any order and chunking: the arrays of COLUMNS.
        base_rtt_ns: Base RTT of each flow, shape (F,).
        instants_ns: The instants, increasing, shape (T,).

    Returns:
        Frame bytes in the queue, and in flight (queue included); shape (F, T) each.
    """
    flows = len(base_rtt_ns)
    both = occupancy_at(_doubled(chunks, base_rtt_ns), 2 * flows, instants_ns)
    return both[:flows], both[flows:]


def _doubled(chunks: Iterable[Arrays], base_rtt_ns: NDArray[np.int64]) -> Iterator[Arrays]:
    """Each packet twice: as in the queue, and as flow + F for its whole time in flight."""
    half = base_rtt_ns // 2
    for chunk in chunks:
        stayed = chunk["kind"] != KIND_DROPPED
        columns = {name: chunk[name][stayed] for name in COLUMNS}
        flow = columns["flow"].astype(np.int64)
        out = {
            "flow": flow + len(base_rtt_ns),
            "enqueue_ns": columns["enqueue_ns"] - half[flow],
            "dequeue_ns": columns["dequeue_ns"] + (base_rtt_ns - half)[flow],
        }
        yield {
            name: np.concatenate((columns[name], out.get(name, columns[name]))) for name in COLUMNS
        }


def window_cuts(
    t_ns: NDArray[np.int64], window: NDArray[Any], state: NDArray[Any]
) -> NDArray[np.float64]:
    """One flow's window after each of its recoveries by its window before (unit 1).

    Before is the last sample that was not in recovery, after the first one that is open again:
    in between the kernel shrinks the window step by step. A recovery shorter than the time
    between samples is not seen, and one that does not end gives none.

    Args:
        t_ns: Times of the flow's samples, in any order, shape (n,).
        window: Its congestion window, shape (n,).
        state: Its `ca_state`, shape (n,).

    Returns:
        A ratio for each recovery, in order of time.

    Source: RFC 9438, section 4.6: 0.7 of the window remains.
    """
    order = np.argsort(t_ns, kind="stable")
    window, state = window[order].astype(np.float64), state[order]
    repairing = state >= RECOVERY
    starts = np.flatnonzero(~repairing[:-1] & repairing[1:]) + 1
    ends = np.flatnonzero(state == OPEN)
    after = np.searchsorted(ends, starts)
    done = after < len(ends)
    ratios: NDArray[np.float64] = window[ends[after[done]]] / window[starts[done] - 1]
    return ratios
