"""Views of a queue: bins of any width, exact totals, and single packets."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.analysis.align.totals import POSTCARD_COLUMNS, Link, sum_postcards
from nashbed.analysis.pyramid.levels import SUMS, make_pyramid
from nashbed.analysis.pyramid.view import BinnedQueue, PostcardQueue, TrialQueue
from nashbed.analysis.results.export import flat_tables
from nashbed.analysis.results.summary import summarise
from nashbed.controlplane.store.sealed_trial import SealedTrial, open_trial
from tests.support.synthetic_run import bins_of, write_table

S = 1_000_000_000
BIN_NS = 10_000_000
SPANS = [(0, 6 * S), (1 * S, 6 * S), (1_234_567_891, 1_300_000_003), (2 * S, 2 * S + 1), (-S, 0)]


@pytest.fixture
def trial(run_copy: Path) -> SealedTrial:
    trial = open_trial(sorted((run_copy / "trials").iterdir())[2])
    path = trial.path / "postcards.parquet"
    pq.write_table(pq.read_table(path), path, row_group_size=500)
    return trial


@pytest.fixture
def queue(trial: SealedTrial, tmp_path: Path) -> PostcardQueue:
    return PostcardQueue(trial, *make_pyramid(trial, tmp_path))


def direct(trial: SealedTrial, span: tuple[int, int]) -> dict[str, list[int]]:
    """The sums over a span from all packets, as the metrics take them."""
    link = Link(span, trial.record.applied.rate_bps, trial.record.applied.overhead_bytes)
    totals = sum_postcards(trial.batches("postcards", POSTCARD_COLUMNS), 4, link)
    assert totals.marked_packets is None  # a drop-tail queue's
    names = set(SUMS) - {"marked_packets"}
    return {name: getattr(totals, name).astype(np.int64).tolist() for name in names}


@pytest.mark.parametrize("span", SPANS)
def test_totals_are_those_of_all_packets(
    trial: SealedTrial, queue: PostcardQueue, span: tuple[int, int]
) -> None:
    totals = queue.totals(*span)
    for name, expected in direct(trial, span).items():
        assert getattr(totals, name).tolist() == expected, name


@pytest.mark.parametrize(("pixels", "source"), [(20, "pyramid"), (1000, "packets")])
def test_bins_of_a_view_add_up_to_all_packets(
    trial: SealedTrial, queue: PostcardQueue, pixels: int, source: str
) -> None:
    view = queue.view(1 * S, 6 * S, pixels)
    assert (view.source, view.bins.count <= pixels + 1) == (source, True)
    assert view.bins.start_ns % view.bins.length_ns == 0
    for name, expected in direct(trial, (view.bins.start_ns, view.bins.end_ns)).items():
        assert view.cells[name].sum(axis=0).tolist() == expected, name


def test_totals_of_the_measured_window_are_what_is_exported(
    trial: SealedTrial, queue: PostcardQueue
) -> None:
    run = trial.path.parent.parent
    exported = flat_tables(summarise(run))
    flows = exported["flows"].filter(exported["flows"]["trial"] == trial.id)
    start, end = trial.record.window_ns
    totals = queue.totals(start, end)
    held = (totals.occupancy_byte_ns / (end - start)).tolist()
    assert flows["queue_occupancy"].to_list() == held
    delay = totals.delay_sum_ns / totals.departed_packets / S
    assert flows["per_flow_queueing_delay"].to_list() == delay.tolist()
    loss = totals.dropped_packets / totals.arrived_packets
    assert flows["per_flow_loss_rate"].to_list() == loss.tolist()


def test_few_packets_are_shown_one_by_one(trial: SealedTrial, queue: PostcardQueue) -> None:
    table = pq.read_table(trial.path / "postcards.parquet").to_pydict()
    found = queue.packets(2 * S, 2 * S + 50_000_000)
    assert found is not None
    ends = zip(table["enqueue_ns"], table["dequeue_ns"], table["seq"], strict=True)
    expected = [seq for low, high, seq in ends if low < 2 * S + 50_000_000 and high >= 2 * S]
    assert len(expected) > 0
    assert found["seq"].tolist() == expected
    assert queue.packets(0, 6 * S) is None


def test_a_trial_with_bins_is_shown_in_bins(trial: SealedTrial, queue: PostcardQueue) -> None:
    table = pq.read_table(trial.path / "postcards.parquet").to_pydict()
    bins = bins_of({name: np.array(values) for name, values in table.items()}, BIN_NS)
    write_table(trial.path, "bins", bins)
    binned: TrialQueue = BinnedQueue(trial, BIN_NS)
    view = binned.view(0, 6 * S, 100_000)
    assert (view.source, view.bins.length_ns) == ("bins", BIN_NS)
    span = (view.bins.start_ns, view.bins.end_ns)
    for name in ("departed_bytes", "dropped_packets", "occupancy_byte_ns", "delay_sum_ns"):
        expected = direct(trial, span)[name]
        assert view.cells[name].sum(axis=0).tolist() == pytest.approx(expected, rel=1e-9), name
    assert binned.totals(*span).departed_bytes.tolist() == direct(trial, span)["departed_bytes"]
    assert binned.packets(0, 1) is None
