"""Read a trial's tables and bring them onto common axes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import BinnedPostcards
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from .arrived import (
    FIRST_COLUMNS,
    are_all,
    look_ahead,
    several_queues,
    with_outlook,
)
from .bursts import COLUMNS as BURST_COLUMNS
from .bursts import BurstFinder
from .course import course_of
from .data import FloatArray, FlowSamples, Goodput, QueueTotals, TrialData
from .totals import BIN_COLUMNS, POSTCARD_COLUMNS, Link, sum_bins, sum_postcards
from .traffic import (
    known_flows,
    load_datagrams,
    load_segments,
    load_transfers,
    table_of_flows,
    who_always_sends,
    whose_data_returns,
)

SAMPLE_COLUMNS = ("t_ns", "flow", "srtt_us", "bytes_sent", "bytes_retrans")


def load_trial(trial: SealedTrial, scenario: Scenario) -> TrialData:
    """Read what the metrics need of a trial; postcards are streamed.

    Args:
        scenario: The run's scenario: it says which postcards were recorded.

    Raises:
        RunError: A table is damaged.
    """
    data = load_flows(trial, scenario)
    if are_all(trial) and several_queues(trial):
        return _with_queues(trial, data)
    return replace(data, queue=_queue(trial, scenario, data))


def link_of(trial: SealedTrial) -> Link:
    """The window and the bottleneck of a trial."""
    applied = trial.record.applied
    return Link(trial.record.window_ns, applied.rate_bps, applied.overhead_bytes)


def _with_queues(trial: SealedTrial, data: TrialData) -> TrialData:
    """Sums of several queues, and the bursts that came to each: two passes over the postcards."""

    def cards(columns: Sequence[str]) -> Iterator[Arrays]:
        return _chunks(trial, "postcards", columns, data.flows)

    outlook = look_ahead(cards(FIRST_COLUMNS), data.flows)
    finder = BurstFinder(outlook, data.base_rtt_ns, trial.record.window_ns)

    def looked_at(columns: Sequence[str]) -> Iterator[Arrays]:
        for chunk, arrival_ns, _ in with_outlook(cards(columns), outlook):
            finder.add(chunk, arrival_ns)
            yield chunk

    columns = tuple(dict.fromkeys((*POSTCARD_COLUMNS, *BURST_COLUMNS)))
    link = replace(link_of(trial), over_time=data.path_changes)
    totals = sum_postcards(looked_at(columns), data.flows, link)
    return replace(data, queue=totals, bursts=finder.bursts())


def load_flows(trial: SealedTrial, scenario: Scenario) -> TrialData:
    """Read what end hosts tell of a trial, and nothing of its queue: no postcard is read.

    Raises:
        RunError: A table is damaged.
    """
    record, flows = trial.record, trial.arrays("flows")
    order = np.argsort(flows["flow"])
    return TrialData(
        window_ns=record.window_ns,
        spans_ns=_spans(record, flows["cc"][order], flows["group"][order]),
        rate_bps=record.applied.rate_bps,
        buffer_bytes=record.applied.buffer_bytes,
        overhead_bytes=record.applied.overhead_bytes,
        strategy=tuple(str(cc) for cc in flows["cc"][order]),
        group=flows["group"][order].astype(np.int64),
        base_rtt_ns=flows["base_rtt_ns"][order].astype(np.int64),
        goodput=_goodput(trial, scenario, len(order)),
        queue=None,
        samples=_samples(trial, len(order)),
        transfers=load_transfers(trial, len(order)),
        datagrams=load_datagrams(trial, len(order)),
        course=course_of(trial.record, scenario),
        always_sends=who_always_sends(scenario, flows["group"][order].astype(np.int64)),
        reverse=whose_data_returns(scenario, flows["group"][order].astype(np.int64)),
        segments=load_segments(trial, len(order)),
        mixed_groups=len(record.mix),
    )


def _spans(record: TrialRecord, cc: NDArray[Any], group: NDArray[Any]) -> FloatArray | None:
    """Length of each flow's own span, where that is what throughput is measured over."""
    if record.window != "whole":
        return None
    lengths = {
        span.kind: span.last_byte_ns - span.first_byte_ns
        for span in record.spans
        if span.first_byte_ns is not None and span.last_byte_ns is not None
    }
    kinds = zip(group, cc, strict=True)
    spans = np.array([lengths.get((int(g), str(c)), np.nan) for g, c in kinds], float)
    spans[group >= len(record.mix)] = record.duration_ns
    return spans


def bin_length_ns(scenario: Scenario) -> int:
    """Length of the data plane's bins (10 ms where the scenario does not keep bins)."""
    postcards = scenario.telemetry.postcards
    return postcards.bins.ns if isinstance(postcards, BinnedPostcards) else 10_000_000


def _queue(trial: SealedTrial, scenario: Scenario, data: TrialData) -> QueueTotals | None:
    link, flows = replace(link_of(trial), over_time=data.path_changes), data.flows
    if trial.has("postcards"):
        return sum_postcards(_chunks(trial, "postcards", POSTCARD_COLUMNS, flows), flows, link)
    if trial.has("bins"):
        chunks = _chunks(trial, "bins", BIN_COLUMNS, flows)
        return sum_bins(chunks, flows, link, bin_length_ns(scenario))
    return None


def _chunks(trial: SealedTrial, name: str, columns: Sequence[str], flows: int) -> Iterator[Arrays]:
    path = trial.path / f"{name}.parquet"
    return (known_flows(chunk, flows, path) for chunk in trial.batches(name, columns))


def _goodput(trial: SealedTrial, scenario: Scenario, flows: int) -> Goodput | None:
    if not trial.has("goodput"):
        return None
    table = table_of_flows(trial, "goodput", flows)
    t_ns, column = np.unique(table["t_ns"], return_inverse=True)
    grid = np.zeros((flows, len(t_ns)))
    np.add.at(grid, (table["flow"], column), table["bytes"].astype(np.float64))
    return Goodput(t_ns.astype(np.int64), grid, scenario.telemetry.goodput.ns)


def _samples(trial: SealedTrial, flows: int) -> FlowSamples | None:
    if not trial.has("flow_samples"):
        return None
    table = table_of_flows(trial, "flow_samples", flows, SAMPLE_COLUMNS)
    order = np.lexsort((table["t_ns"], table["flow"]))
    columns = {name: values[order] for name, values in table.items()}
    first = np.searchsorted(columns["flow"], np.arange(flows + 1))
    return FlowSamples(first.astype(np.int64), columns)
