"""A run whose queues share their memory: by queue and by class, figures, the page, tables."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.memory import (
    blame_plot,
    bursts_by_memory_plot,
    memory_by_queue,
    memory_over_time_plot,
    memory_shares_plot,
    thresholds,
)
from nashbed.analysis.measures import RunMeasures, measure_run
from nashbed.analysis.metrics.occupancy import By
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.report import build_report
from nashbed.analysis.results.bounds import Where, read
from nashbed.analysis.results.export import export_run
from nashbed.analysis.results.summary import summarise
from nashbed.analysis.results.sweep import beside_memories
from nashbed.analysis.sharing.of_run import RunSharing, share_run
from nashbed.analysis.sharing.of_trial import problem_of
from nashbed.controlplane.contract.bounds import AcceptanceBound
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.queues import Memory
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.store.errors import RunError
from nashbed.runs import open_run
from polars.testing import assert_frame_equal
from tests.support.drawn import labels_of, panels, points, texts
from tests.support.synthetic_run import SCENARIO, RunWriter, edit_json

THRESHOLD = DROP_REASONS.index("threshold")


@pytest.fixture(scope="module")
def measures(shared_run: Path) -> RunMeasures:
    return measure_run(shared_run)


@pytest.fixture(scope="module")
def sharing(measures: RunMeasures) -> RunSharing:
    return share_run(measures)


@pytest.mark.slow
def test_what_queues_hold_and_get(measures: RunMeasures, sharing: RunSharing) -> None:
    assert [(mix.setting.label, len(mix.trials)) for mix in sharing.mixes] == [
        ("alpha0.25", 2), ("alpha2", 2),
    ]  # fmt: skip
    for mix in sharing.mixes:
        for trial in mix.trials:
            assert trial.queues == ("bulk", "voice")
            assert trial.memory_shares.sum() == pytest.approx(1)
            # By queue it is what it is by flow.
            flows = trial.measures.per_flow["occupancy_share"]
            assert trial.memory_shares == pytest.approx([flows[:2].sum(), flows[2:].sum()])
            assert trial.blame.unexplained == 0


@pytest.mark.parametrize("by", [("queue", "flow"), ("queue",), ("strategy",), ()])
def test_occupancy_as_a_table(shared_run: Path, by: tuple[By, ...]) -> None:
    trial = open_run(shared_run).trials[0]
    held = trial.occupancy("100ms", by=by)
    assert held.columns == ["time_ns", *by, "bytes"]
    # Of each packet the part of its stay that lies in a bin, by its own queue.
    cards = trial.postcards.filter(pl.col("dequeue_ns") > pl.col("enqueue_ns")).collect()
    queue = pl.Series("queue", np.array(["bulk", "voice"])[cards["queue"].to_numpy()])
    cards = cards.with_columns(queue, strategy=trial.flows["strategy"][cards["flow"]])
    for start in (0, 500_000_000, 1_900_000_000):
        stay = pl.min_horizontal("dequeue_ns", start + 10**8) - pl.max_horizontal(
            "enqueue_ns", start
        )
        inside = pl.col("packet_bytes").cast(pl.Int64) * stay.clip(0) / 10**8
        expected = cards.group_by(by or pl.lit(0).alias("all")).agg(inside.sum().alias("held"))
        row = held.filter(time_ns=start)
        found = row.join(expected, on=list(by), how="left") if by else row.hstack(expected)
        assert found["bytes"].to_list() == pytest.approx(found["held"].fill_null(0).to_list())


def test_occupancy_of_bins_is_that_of_packets(tmp_path: Path) -> None:
    telemetry = {"postcards": {"bins": "10ms"}}
    for name, tables, more in (("packets", (), {}), ("bins", ("bins",), {"telemetry": telemetry})):
        writer = RunWriter(tmp_path / name, SCENARIO | {"duration": "2s"} | more)
        writer.add(writer.settings()[0], (2,), tables=tables)
        writer.finish()
    packets, bins = (open_run(tmp_path / name).trials[0] for name in ("packets", "bins"))
    names = ("strategy", "flow")
    assert_frame_equal(packets.occupancy("50ms", names), bins.occupancy("50ms", names))
    with pytest.raises(ConfigError, match="the trial kept bins of 10ms; write a multiple of them"):
        bins.occupancy("15ms")


def test_flows_name_their_queue(shared_run: Path) -> None:
    flows = open_run(shared_run).trials[0].flows
    assert flows["queue"].to_list() == ["bulk"] * 2 + ["voice"] * (len(flows) - 2)


def test_each_drop_is_split_among_its_holders(sharing: RunSharing) -> None:
    for mix in sharing.mixes:
        assert mix.classes == ((0, "cubic"), (1, "bbr"))
        assert np.nansum(mix.blame, axis=1) == pytest.approx(
            (mix.blamed_bytes.sum(axis=1) > 0).astype(float)
        )
        assert mix.blamed_bytes.sum() == pytest.approx(
            sum(t.blame.bytes.sum() - t.blame.unheld_bytes.sum() for t in mix.trials)
        )
        assert set(mix.dropped_by_reason()) == {"threshold"}
        assert mix.class_text(1) == "bbr in voice"


def test_reasons_are_those_of_the_metrics(sharing: RunSharing) -> None:
    trial = sharing.trials[0]
    rate = trial.measures.total["threshold_loss_rate"]
    assert rate == pytest.approx(trial.measures.total["loss_rate"])
    arrived = trial.by_queue.arrived_packets.sum()
    assert rate * arrived == pytest.approx(trial.blame.packets[:, THRESHOLD].sum())


def test_a_larger_threshold_absorbs_larger_bursts(sharing: RunSharing) -> None:
    """Voice's own limit is no part of the model: alpha alone decides."""
    small, large = (mix.reading("absorbed", 1) for mix in sharing.mixes)
    assert small is not None
    assert large is not None
    assert small.mean < large.mean
    flows = sharing.trials[0].measures.per_flow["absorbed_burst"]
    assert flows[2] == flows[3]


def test_memory_over_time(measures: RunMeasures) -> None:
    trial = measures.trials[0]
    plot = memory_over_time_plot(trial)
    above, below = panels(plot)
    assert above.notes == ["memory 100 kB"]
    assert labels_of(plot)[:2] == ["bulk", "voice"]
    bins, held = memory_by_queue(trial, 2)
    line = points(below["what each queue may have"])
    assert line[0] == pytest.approx(bins.middles_ns / 1e9)
    assert line[1] == pytest.approx(0.25 * (100 - held.sum(axis=0) / 1e3))
    assert below["what voice may have"].y == [10.0] * bins.count


def test_thresholds_of_other_policies(measures: RunMeasures) -> None:
    applied = measures.trials[0].trial.record.applied.queues
    assert applied is not None
    plain = [queue.model_copy(update={"limit_bytes": 0}) for queue in applied.queues]
    held = np.zeros((2, 1))

    def lines(name: str, limits: tuple[int, ...] = ()) -> list[tuple[list[float], int | None]]:
        memory = Memory(name=name, parameters=(("limits_bytes", limits),) if limits else ())
        changed = applied.model_copy(update={"memory": memory, "queues": tuple(plain)})
        return [(line.tolist(), queue) for line, queue in thresholds(changed, 1000, held)]

    assert lines("complete_sharing") == []
    assert lines("complete_partitioning") == [([500.0], None)]
    assert lines("static", (700, 400)) == [([700.0], 0), ([400.0], 1)]


def test_blame_and_shares_are_drawn(sharing: RunSharing) -> None:
    trial = sharing.trials[0]
    plot = blame_plot(trial)
    assert plot is not None
    ax = draw(plot).axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["cubic in bulk", "bbr in voice"]
    among = trial.blame.among(trial.class_of, 2)
    shares = among / among.sum(axis=1, keepdims=True)
    assert texts(ax) == [f"{100 * v:.0f} %" for v in shares.ravel()]
    # The table has each two flows; of each that lost, all together are 100 %.
    of_flow: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(plot.table())):
        if row["series"]:
            of_flow[row["series"]] = of_flow.get(row["series"], 0.0) + float(row["y"])
    assert {"cubic in bulk, flow 1", "bbr in voice, flow 2"} <= set(of_flow)
    assert list(of_flow.values()) == pytest.approx([100.0] * len(of_flow))
    (panel,) = panels(memory_shares_plot(sharing.mixes[:1]))
    assert points(panel["bulk (n = 2 trials)"]) == (
        [pytest.approx(100 * t.memory_shares[0]) for t in sharing.mixes[0].trials],
        [pytest.approx(100 * t.throughput_shares[0]) for t in sharing.mixes[0].trials],
    )


def test_bursts_by_alpha(measures: RunMeasures, sharing: RunSharing) -> None:
    (settings,) = beside_memories(measures.run.settings)
    assert [s.label for s in settings] == ["alpha0.25", "alpha2"]
    (panel,) = panels(bursts_by_memory_plot(sharing, settings, sharing.mixes[0].state))
    assert panel.x.ticks == {0: "$\\alpha$ = 0.25", 1: "$\\alpha$ = 2"}
    x, y = points(panel["voice: largest without loss"])
    means = [mix.reading("absorbed", 1) for mix in sharing.mixes]
    assert (x, y) == ([0, 1], [pytest.approx(m.mean) for m in means if m is not None])
    memory = measures.trials[0].buffer_bytes
    # One long queue beside it: alpha B / (1 + alpha)^2.
    theory = [item.y[0] for item in panel.items if "theory" in (item.label or "")]
    assert theory == pytest.approx([0.16 * memory / 1e3, 2 / 9 * memory / 1e3])


def test_a_bound_on_bursts(measures: RunMeasures) -> None:
    setting = measures.run.settings[0]
    per_flow = [t.per_flow["absorbed_burst"] for t in measures.trials if t.trial.setting == setting]
    expected = np.mean([np.nanmean(flows) for flows in per_flow])
    bound = AcceptanceBound(metric="absorbed_burst", max=Size(1))
    found = read(bound, Where(measures, setting, equilibria_of_measures(measures)[0]))
    assert found.value == pytest.approx(expected)
    assert bound.limits == (0, 1)


@pytest.mark.slow
def test_the_page_has_a_section(
    shared_run: Path, tmp_path: Path, unsaved_figures: list[str]
) -> None:
    page = build_report(shared_run, ("html",), tmp_path).read_text()
    assert "<h2>Who held the queue</h2>" in page
    assert "bbr in voice" in page
    assert "add up to what the data plane says that it found" in page
    assert "blame-alpha0.25-k02-r0-a0" in unsaved_figures
    json.loads((tmp_path / "summary.json").read_text())


def test_tables(shared_run: Path, tmp_path: Path, sharing: RunSharing) -> None:
    rows = export_run(summarise(shared_run), tmp_path / "out", "csv", ["blame", "holders"])
    blame = pl.read_csv(tmp_path / "out" / "blame.csv")
    assert len(blame) == rows["blame"]
    mine = blame.filter(pl.col("trial") == sharing.trials[0].measures.trial.id)
    assert mine["blamed_bytes"].sum() == pytest.approx(sharing.trials[0].blame.blamed_bytes.sum())
    assert mine.group_by("flow").agg(pl.col("share").sum())["share"].to_list() == pytest.approx(
        [1.0] * mine["flow"].n_unique()
    )
    holders = pl.read_csv(tmp_path / "out" / "holders.csv")
    assert set(holders["holder_queue"]) == {"bulk", "voice"}
    assert (holders["held_bytes"] > 0).all()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "blame.csv", "flows.csv", "holders.csv", "mixes.csv", "trials.csv",
    ]  # fmt: skip


def test_one_queue(whole_run: Path) -> None:
    """Who held it is known of flows and strategies; nothing is said of queues."""
    measures = measure_run(whole_run)
    sharing = share_run(measures)
    assert {mix.queues for mix in sharing.mixes} == {("queue",)}
    assert sum(trial.blame.unexplained for trial in sharing.trials) == 0
    mixed = next(mix for mix in sharing.mixes if len(mix.classes) == 2)
    assert mixed.class_text(0) == "cubic"
    trial = mixed.trials[0]
    cards = trial.measures.trial.arrays("postcards", ("kind", "enqueue_ns"))
    low, high = trial.measures.trial.record.window_ns
    inside = (cards["enqueue_ns"] >= low) & (cards["enqueue_ns"] < high)
    assert trial.dropped_packets == (inside & (cards["kind"] == KIND_DROPPED)).sum() > 0
    assert memory_over_time_plot(trial.measures) is None
    assert memory_shares_plot([mixed]) is None
    assert "absorbed_burst" in trial.measures.missing


def test_what_bins_cannot_tell(tmp_path: Path) -> None:
    raw = {**SCENARIO, "telemetry": {"postcards": {"bins": "10ms"}}, "duration": "2s"}
    writer = RunWriter(tmp_path / "run", raw)
    (setting,) = writer.settings()
    trial = writer.add(setting, (2,), tables=("bins", "goodput", "flow_samples"))
    edit_json(trial / "trial.json", postcards="bins")
    run = writer.finish()
    measures = measure_run(run)
    problem = problem_of(measures.trials[0].trial)
    assert problem is not None
    assert "the trials keep bins" in problem
    assert share_run(measures).mixes == ()
    with pytest.raises(RunError, match="takes the postcards of all packets"):
        export_run(summarise(run), tmp_path / "out", "csv", ["blame"])
