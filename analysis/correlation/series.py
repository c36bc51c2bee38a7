"""A trial over time: each flow's bytes in the queue and departures by bin, and every drop."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..align.load import bin_length_ns
from ..metrics.queue import COLUMNS, TimeBins, occupancy_bins

BIN_NS = 10_000_000
MAX_CELLS = 8_000_000
"""Most flows x bins that are held in memory: 64 MB for each series. Bins get longer beyond it."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Drops:
    """The packets that the queue dropped in the measured window.

    Attributes:
        t_ns: When, shape (n,).
        flow: Whose, shape (n,).
    """

    t_ns: NDArray[np.int64]
    flow: NDArray[np.int64]


@dataclass(frozen=True)
class FlowSeries:
    """The measured window over time.

    Attributes:
        occupancy: Mean bytes of each flow in the queue, shape (F, B).
        departed: Frame bytes of each flow that left, shape (F, B).
        exact: Whether instants can be rebuilt from postcards.
    """

    bins: TimeBins
    occupancy: NDArray[np.float64]
    departed: NDArray[np.float64]
    drops: Drops
    exact: bool


def load_series(trial: SealedTrial, scenario: Scenario, flows: int) -> FlowSeries | None:
    """Read a trial over time, streamed; None if it has neither postcards nor bins.

    Args:
        scenario: The run's scenario: it says which postcards were recorded.

    Raises:
        RunError: The table is damaged.
    """
    if trial.has("postcards"):
        return _from_postcards(trial, flows)
    return _from_bins(trial, bin_length_ns(scenario), flows) if trial.has("bins") else None


def window_bins(window_ns: tuple[int, int], flows: int, least_ns: int = BIN_NS) -> TimeBins:
    """Bins that cover the measured window: 10 ms, longer where that were too many."""
    low, high = window_ns
    length = max(least_ns, -(-(high - low) * flows // MAX_CELLS))
    return TimeBins.cover(low, high, -(-length // least_ns) * least_ns)


@dataclass
class _Notes:
    """What is collected beside the occupancy in one pass."""

    bins: TimeBins
    departed: NDArray[np.float64]
    drop_ns: list[NDArray[np.int64]] = field(default_factory=list)
    drop_flow: list[NDArray[np.int64]] = field(default_factory=list)

    def note(self, chunk: Arrays) -> None:
        dropped = chunk["kind"] == KIND_DROPPED
        lost = dropped & self._inside(chunk["enqueue_ns"])
        if lost.any():
            self.drop_ns.append(chunk["dequeue_ns"][lost])
            self.drop_flow.append(chunk["flow"][lost].astype(np.int64))
        left = ~dropped & self._inside(chunk["dequeue_ns"])
        column = (chunk["dequeue_ns"][left] - self.bins.start_ns) // self.bins.length_ns
        if len(column):
            self._add(chunk["flow"][left], column, chunk["packet_bytes"][left])

    def drops(self) -> Drops:
        return Drops(_joined(self.drop_ns), _joined(self.drop_flow))

    def _inside(self, t_ns: NDArray[Any]) -> NDArray[np.bool_]:
        inside: NDArray[np.bool_] = (t_ns >= self.bins.start_ns) & (t_ns < self.bins.end_ns)
        return inside

    def _add(self, flow: NDArray[Any], column: NDArray[Any], size: NDArray[Any]) -> None:
        """Postcards come nearly in time order, so only a few columns are touched."""
        first, flows = int(column.min()), len(self.departed)
        width = int(column.max()) + 1 - first
        cell = flow.astype(np.int64) * width + (column - first)
        counted = np.bincount(cell, weights=size, minlength=flows * width)
        self.departed[:, first : first + width] += counted.reshape(flows, width)


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _noted(chunks: Iterable[Arrays], notes: _Notes) -> Iterator[Arrays]:
    for chunk in chunks:
        notes.note(chunk)
        yield chunk


def _from_postcards(trial: SealedTrial, flows: int) -> FlowSeries:
    bins = window_bins(trial.record.window_ns, flows)
    notes = _Notes(bins, np.zeros((flows, bins.count)))
    chunks = _noted(trial.batches("postcards", COLUMNS), notes)
    occupancy = occupancy_bins(chunks, flows, bins)
    return FlowSeries(bins, occupancy, notes.departed, notes.drops(), exact=True)


def _from_bins(trial: SealedTrial, bin_ns: int, flows: int) -> FlowSeries:
    """The data plane's own bins; a drop is at its bin's start. Bins outside are left out."""
    bins = window_bins(trial.record.window_ns, flows, bin_ns)
    occupancy, departed = np.zeros((flows, bins.count)), np.zeros((flows, bins.count))
    drop_ns, drop_flow = [], []
    for chunk in trial.batches("bins"):
        column = (chunk["bin_start_ns"] - bins.start_ns) // bins.length_ns
        keep = (column >= 0) & (column < bins.count)
        cell = (chunk["flow"][keep], column[keep])
        part = bin_ns / bins.length_ns
        np.add.at(occupancy, cell, chunk["occupancy_bytes_mean"][keep] * part)
        np.add.at(departed, cell, chunk["departed_bytes"][keep].astype(np.float64))
        lost = keep & (chunk["dropped_packets"] > 0)
        drop_ns.append(chunk["bin_start_ns"][lost])
        drop_flow.append(chunk["flow"][lost].astype(np.int64))
    drops = Drops(_joined(drop_ns), _joined(drop_flow))
    return FlowSeries(bins, occupancy, departed, drops, exact=False)
