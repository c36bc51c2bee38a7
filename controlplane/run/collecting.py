"""Everything of a finished trial -> tables on disk and evidence for the gates."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.shared import CONSTANTS
from ..plan.attempt import Attempt
from ..store.raw_records import LaneClock, Piece
from ..store.trial_tables import (
    bin_start_ns,
    collect_bins,
    collect_counters,
    collect_flow_samples,
    collect_flows,
    collect_goodput,
    collect_postcards,
)
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
        collect_flow_samples(folder / CONSTANTS.flow_samples_file, folder, measured.t0_ns)
        goodput = collect_goodput(folder / CONSTANTS.goodput_file, folder, measured.t0_ns)
        if evidence is None:
            _sight_goodput(edges, goodput)
        collect_flows(folder, measured.attempt.flows, measured.sender, measured.sink)
        collect_counters(folder, measured.counters.flows)
        for raw in [*folder.glob("*.bin"), measured.attempt.raw_telemetry]:
            raw.unlink()
    return Collected(evidence, edges)


def _telemetry(measured: Measured, edges: Edges) -> PostcardEvidence | None:
    attempt, clock = measured.attempt, measured.clock
    if attempt.telemetry().mode == "bins":
        _bins(attempt, clock, edges)
        return None
    applied, can = measured.applied, measured.can
    evidence = PostcardEvidence(
        clock.flows,
        applied.rate_bps,
        applied.overhead_bytes,
        applied.slot_bytes,
        can.departure_tolerance_ns,
        can.queue_tolerance_bytes,
    )
    whole = attempt.telemetry().mode == "all"

    def see(piece: Piece) -> None:
        edges.feed(piece.flow, piece.enqueue_ns)
        if whole:
            evidence.feed(piece)

    collect_postcards(attempt.raw_telemetry, attempt.folder, clock, see)
    return evidence if whole else None


def _bins(attempt: Attempt, clock: LaneClock, edges: Edges) -> None:
    bin_ns = attempt.telemetry().bin_ns

    def see(bins: NDArray[Any]) -> None:
        edges.feed(bins["flow"].astype(np.int64), bin_start_ns(bins, bin_ns, clock))

    collect_bins(attempt.raw_telemetry, attempt.folder, clock, bin_ns, see)


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
