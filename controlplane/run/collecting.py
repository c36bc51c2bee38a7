"""Everything of a finished trial -> tables on disk and evidence for the gates.

Each raw file goes one way: it is read in batches, examined on its way, and written as a table.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

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
from ..lane.programs import FOLDER as PROGRAMS
from ..machine.host.cores import lower_priority
from ..plan.attempt import REVERSE, probe_rtt_cycle_ns
from ..store.applications import (
    read_datagrams,
    read_segments,
    write_datagrams,
    write_segments,
)
from ..store.postcards import (
    read_bins,
    read_postcards,
    say_queues,
    write_bins,
    write_postcards,
)
from ..store.tables import (
    read_disturbances,
    read_flow_samples,
    read_goodput,
    write_counters,
    write_disturbances,
    write_flow_samples,
    write_flows,
    write_goodput,
    write_return_queue,
)
from ..store.transfers import write_transfers
from ..validity.measurement import TrialMeasurement
from ..validity.postcard_evidence import Examiner, SinkSightings, SocketSightings

SETTLED_WITHIN = 0.03
"""As by default of a trial that is to last until it is settled."""
B = TypeVar("B")


@dataclass(frozen=True)
class Stage(Generic[B]):
    """The way of one raw file.

    Attributes:
        batches: Its content, read as it is asked for.
        examiners: What gathers evidence from it.
        write: What writes its table into a folder.
    """

    batches: Iterable[B]
    examiners: Iterable[Examiner[B]]
    write: Callable[[Path, Iterator[B]], int]

    def carry_out(self, folder: Path) -> None:
        """Read, examine and write it."""
        self.write(folder, self._examined(tuple(self.examiners)))

    def _examined(self, examiners: tuple[Examiner[B], ...]) -> Iterator[B]:
        for batch in self.batches:
            for examiner in examiners:
                examiner.examine(batch)
            yield batch


def collect(measured: TrialMeasurement) -> Steadiness | None:
    """Convert an attempt's raw files to tables, gather the evidence in them, and remove them.

    Returns:
        Whether its shares were steady at the end; None: it was too short to tell.
    """
    attempt = measured.attempt
    folder = attempt.folder
    with lower_priority():
        goodput = _of_all(measured, CONSTANTS.goodput_file, read_goodput)
        for stage in _stages(measured, goodput):
            stage.carry_out(folder)
        write_transfers(folder, attempt.flows, measured.sink.flows, measured.t0_ns)
        write_flows(folder, attempt.flows, measured.sender.flows, measured.sink.flows)
        write_counters(folder, measured.counters.flows, marks=attempt.can_mark)
        if measured.return_queue is not None:
            write_return_queue(folder, measured.t0_ns)
        reverse = folder / REVERSE
        for raw in [*folder.glob("*.bin"), *reverse.glob("*.bin"), attempt.raw_telemetry]:
            raw.unlink()
        if attempt.has_reverse:
            reverse.rmdir()
        shutil.rmtree(folder / PROGRAMS, ignore_errors=True)
        return measured.steadiness or _steadiness(measured, goodput)


def _of_all(
    measured: TrialMeasurement, name: str, read: Callable[[Path, int], NDArray[Any]]
) -> NDArray[Any]:
    """What all generators of a kind recorded, in the order of time."""
    attempt, t0_ns = measured.attempt, measured.t0_ns
    records = read(attempt.folder / name, t0_ns)
    if not attempt.has_reverse:
        return records
    both = np.concatenate((records, read(attempt.folder / REVERSE / name, t0_ns)))
    return both[np.argsort(both["t_ns"], kind="stable")]


def _telemetry(measured: TrialMeasurement) -> Stage[Any]:
    """The bottleneck's postcards, or their sums in bins."""
    evidence, raw = measured.evidence, measured.attempt.raw_telemetry
    plan = measured.attempt.telemetry()
    always = (evidence.edges, evidence.queueing)
    marks = measured.attempt.can_mark
    if plan.mode == "bins":
        bins = read_bins(raw, measured.clock, plan.bin_ns)
        return Stage(bins, always, partial(write_bins, marks=marks))
    examiners = (*always, *(evidence.postcards or ()))
    cards = read_postcards(raw, measured.clock)
    write = partial(write_postcards, marks=marks, queues=say_queues(raw))
    return Stage(cards, examiners, write)


def _stages(measured: TrialMeasurement, goodput: NDArray[Any]) -> Iterator[Stage[Any]]:
    """What the bottleneck, the hosts' data plane and the flow generator recorded, one by one."""
    yield _telemetry(measured)
    evidence, folder, t0_ns = measured.evidence, measured.attempt.folder, measured.t0_ns
    disturbances = read_disturbances(folder, t0_ns)
    yield Stage([disturbances], [evidence.disturbance], write_disturbances)
    samples = _of_all(measured, CONSTANTS.flow_samples_file, read_flow_samples)
    alive = SocketSightings(evidence.edges)
    yield Stage([samples], [evidence.limits, alive], write_flow_samples)
    sightings = [SinkSightings(evidence.edges)] if evidence.postcards is None else []
    yield Stage([goodput], [evidence.read, *sightings], write_goodput)
    if (folder / CONSTANTS.segments_file).exists():
        yield Stage([read_segments(folder, t0_ns)], [], write_segments)
    if (folder / CONSTANTS.sent_file).exists():
        datagrams = read_datagrams(folder, t0_ns)
        yield Stage([datagrams], [evidence.datagrams], write_datagrams)


def _steadiness(measured: TrialMeasurement, goodput: NDArray[Any]) -> Steadiness | None:
    """Judge whether the shares of a fixed-length trial were steady; None without any shares."""
    attempt = measured.attempt
    kinds = [(flow.group, flow.cc) for flow in attempt.flows if flow.mixed]
    if not kinds or any(group.ends for group in attempt.scenario.flows):
        return None
    goodput = goodput[goodput["flow"] < len(kinds)]
    cycle_ns = probe_rtt_cycle_ns(attempt.trial)
    end_ns = min(flow.end_ns or 0 for flow in measured.sender.flows[: len(kinds)])
    if end_ns // cycle_ns < LEAST_CYCLES:
        return None
    cycles = cycles_of_goodput(goodput, kinds, cycle_ns, end_ns)
    return judge_steadiness(cycles, SteadinessRules(SETTLED_WITHIN, cycle_ns))
