"""Everything of a finished trial -> tables on disk and evidence for the gates."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.shared import CONSTANTS
from ..store.bins import BinBatch, read_bins, write_bins
from ..store.counters import write_counters
from ..store.flow_samples import read_flow_samples, write_flow_samples
from ..store.flows import write_flows
from ..store.goodput import read_goodput, write_goodput
from ..store.postcards import PostcardBatch, read_postcards, write_postcards
from ..validity.postcard_evidence import Edges, PostcardEvidence
from .record import Collected, Measured

NICE = 10


def collect(measured: Measured) -> Collected:
    """Convert an attempt's raw files to tables, and remove them."""
    folder, scenario, clock = measured.attempt.folder, measured.attempt.scenario, measured.clock
    window = (scenario.warmup.ns, scenario.duration.ns)
    edges = Edges(clock.flows, window, scenario.gates.overlap.fraction)
    with lower_priority():
        evidence = _telemetry(measured, edges)
        samples = read_flow_samples(folder / CONSTANTS.flow_samples_file, measured.t0_ns)
        write_flow_samples(folder, samples)
        goodput = read_goodput(folder / CONSTANTS.goodput_file, measured.t0_ns)
        write_goodput(folder, goodput)
        if evidence is None:
            _sight_goodput(edges, goodput)
        write_flows(folder, measured.attempt.flows, measured.sender, measured.sink)
        write_counters(folder, measured.counters.flows)
        for raw in [*folder.glob("*.bin"), measured.attempt.raw_telemetry]:
            raw.unlink()
    return Collected(evidence, edges)


def _telemetry(measured: Measured, edges: Edges) -> PostcardEvidence | None:
    """Write the postcards or bins; returns what they prove where every postcard was kept."""
    attempt, clock = measured.attempt, measured.clock
    telemetry = attempt.telemetry()
    if telemetry.mode == "bins":
        bins = read_bins(attempt.raw_telemetry, clock, telemetry.bin_ns)
        write_bins(attempt.folder, _examined_bins(bins, edges))
        return None
    evidence = _new_evidence(measured) if telemetry.mode == "all" else None
    postcards = read_postcards(attempt.raw_telemetry, clock)
    write_postcards(attempt.folder, _examined(postcards, edges, evidence))
    return evidence


def _new_evidence(measured: Measured) -> PostcardEvidence:
    applied, can = measured.applied, measured.can
    return PostcardEvidence(
        measured.clock.flows,
        applied.rate_bps,
        applied.overhead_bytes,
        applied.slot_bytes,
        can.departure_tolerance_ns,
        can.queue_tolerance_bytes,
    )


def _examined(
    batches: Iterable[PostcardBatch], edges: Edges, evidence: PostcardEvidence | None
) -> Iterator[PostcardBatch]:
    """Gather what the postcards prove on their way to the table."""
    for batch in batches:
        edges.feed(batch.flow, batch.enqueue_ns)
        if evidence is not None:
            evidence.feed(batch)
        yield batch


def _examined_bins(batches: Iterable[BinBatch], edges: Edges) -> Iterator[BinBatch]:
    """Gather what the bins prove on their way to the table."""
    for batch in batches:
        edges.feed(batch.flow, batch.bin_start_ns)
        yield batch


def _sight_goodput(edges: Edges, goodput: NDArray[Any]) -> None:
    read = goodput[goodput["bytes"] > 0]
    edges.feed(read["flow"].astype(np.int64), read["t_ns"])


@contextmanager
def lower_priority(nice: int = NICE) -> Iterator[None]:
    """Let the measuring trials go first while this thread computes.

    Only the calling thread is made nicer (on Linux a thread has its own), so that the flow
    generators started by others are not.
    """
    thread = threading.get_native_id()
    usual = os.getpriority(os.PRIO_PROCESS, thread)
    os.setpriority(os.PRIO_PROCESS, thread, min(19, usual + nice))
    try:
        yield
    finally:
        _restore_priority(thread, usual)


def _restore_priority(thread: int, usual: int) -> None:
    """Only root may become less nice again; without root nothing is measured anyway."""
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, thread, usual)
