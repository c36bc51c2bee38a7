"""Everything of a finished trial -> tables on disk and evidence for the gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.shared import CONSTANTS
from ..contract.steadiness import (
    LEAST_CYCLES,
    SteadinessRules,
    cycles_of_goodput,
    judge_steadiness,
)
from ..contract.trial import Steadiness
from ..machine.host.cores import lower_priority
from ..plan.attempt import Attempt, probe_rtt_cycle_ns
from ..store.postcards import (
    BinBatch,
    PostcardBatch,
    read_bins,
    read_postcards,
    write_bins,
    write_postcards,
)
from ..store.raw_files import LaneClock
from ..store.tables import (
    read_disturbances,
    read_flow_samples,
    read_goodput,
    read_pauses,
    write_counters,
    write_disturbances,
    write_flow_samples,
    write_flows,
    write_goodput,
    write_pauses,
)
from ..validity.measurement import Evidence, TrialMeasurement

SETTLED_WITHIN = 0.03
"""As by default of a trial that is to last until it is settled."""


def collect(measured: TrialMeasurement) -> Steadiness | None:
    """Convert an attempt's raw files to tables, feed the evidence from them, and remove them.

    Returns:
        Whether its shares were steady at the end; None: it was too short to tell.
    """
    attempt = measured.attempt
    folder, evidence = attempt.folder, measured.evidence
    with lower_priority():
        _collect_telemetry(attempt, measured.clock, evidence)
        _collect_disturbances(measured)
        samples = read_flow_samples(folder / CONSTANTS.flow_samples_file, measured.t0_ns)
        write_flow_samples(folder, samples)
        evidence.limits.feed(samples)
        goodput = read_goodput(folder / CONSTANTS.goodput_file, measured.t0_ns)
        write_goodput(folder, goodput)
        if evidence.postcards is None:
            _examine_goodput(goodput, evidence)
        write_flows(folder, attempt.flows, measured.sender.flows, measured.sink.flows)
        write_counters(folder, measured.counters.flows)
        for raw in [*folder.glob("*.bin"), attempt.raw_telemetry]:
            raw.unlink()
        return measured.steadiness or _steadiness(measured, goodput)


def _collect_disturbances(measured: TrialMeasurement) -> None:
    folder, disturbance = measured.attempt.folder, measured.evidence.disturbance
    bins = read_disturbances(folder / CONSTANTS.disturbances_file, measured.t0_ns)
    pauses = read_pauses(folder / CONSTANTS.pauses_file, measured.t0_ns)
    disturbance.feed(bins, pauses)
    write_disturbances(folder, bins)
    write_pauses(folder, pauses)


def _steadiness(measured: TrialMeasurement, goodput: NDArray[Any]) -> Steadiness | None:
    """Judge whether the shares of a fixed-length trial were steady."""
    attempt = measured.attempt
    kinds = [(flow.group, flow.cc) for flow in attempt.flows]
    cycle_ns = probe_rtt_cycle_ns(attempt.trial)
    end_ns = min(flow.end_ns or 0 for flow in measured.sender.flows)
    if end_ns // cycle_ns < LEAST_CYCLES:
        return None
    cycles = cycles_of_goodput(goodput, kinds, cycle_ns, end_ns)
    return judge_steadiness(cycles, SteadinessRules(SETTLED_WITHIN, cycle_ns))


def _collect_telemetry(attempt: Attempt, clock: LaneClock, evidence: Evidence) -> None:
    telemetry = attempt.telemetry()
    if telemetry.mode == "bins":
        bins = read_bins(attempt.raw_telemetry, clock, telemetry.bin_ns)
        write_bins(attempt.folder, _examined_bins(bins, evidence))
    else:
        postcards = read_postcards(attempt.raw_telemetry, clock)
        write_postcards(attempt.folder, _examined(postcards, evidence))


def _examined(batches: Iterable[PostcardBatch], evidence: Evidence) -> Iterator[PostcardBatch]:
    """Gather what the postcards prove on their way to the table."""
    for batch in batches:
        evidence.feed(batch)
        yield batch


def _examined_bins(batches: Iterable[BinBatch], evidence: Evidence) -> Iterator[BinBatch]:
    """Gather what the bins prove on their way to the table."""
    for batch in batches:
        evidence.edges.feed(batch.flow, batch.bin_start_ns)
        evidence.queueing.feed(batch.bin_start_ns, batch.qdelay_mean_ns, batch.departed_packets)
        yield batch


def _examine_goodput(goodput: NDArray[Any], evidence: Evidence) -> None:
    read = goodput[goodput["bytes"] > 0]
    evidence.edges.feed(read["flow"].astype(np.int64), read["t_ns"])
