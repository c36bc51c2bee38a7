"""Transfers, media and changes of the path: from a run directory to rows, tables, figures, page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from nashbed.analysis.align.course import course_of
from nashbed.analysis.figures.around_change import around_change_plot, departed_bins, span_around
from nashbed.analysis.figures.traffic import setting_sketches, trial_sketches
from nashbed.analysis.measures import RunMeasures, measure_run
from nashbed.analysis.metrics.queue import TimeBins
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.report import build_report
from nashbed.analysis.results.acceptance import AcceptanceResult, check_measures
from nashbed.analysis.results.changes import responses_of_run
from nashbed.analysis.results.export import export_run
from nashbed.analysis.results.frames import made_table
from nashbed.analysis.results.summary import RunSummary, summarise
from nashbed.analysis.results.transfers import transfers_of_run
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.store.errors import RunError
from tests.support.drawn import panels
from tests.support.synthetic_run import SCENARIO, RunWriter, write_table

S, MS = 1_000_000_000, 1_000_000
CHANGES = {"changes": [{"at": "3s", "base_rtt": "80ms"}]}
WITH_CHANGE = {"flows": [{"name": "main", "count": 4, "base_rtt": "40ms", **CHANGES}]}
TRANSFERS = {
    "transfer": np.arange(5), "flow": np.array([0, 0, 3, 3, 3]), "group": np.zeros(5, np.int64),
    "arrival_ns": np.array([0, 2, 2, 3, 4]) * S, "start_ns": np.array([0, 2, 2, 3, 4]) * S,
    "size_bytes": np.array([1448, 1448, 20_000, 1448, 1448]),
    "first_byte_ns": [None] * 5, "acked_ns": [None] * 5,
    "completed_ns": [S, 2 * S + 100 * MS, 2 * S + 300 * MS, 3 * S + 200 * MS, None],
}  # fmt: skip
DATAGRAMS = {
    "flow": np.full(4, 1), "seq": np.arange(4), "bytes": np.full(4, 200),
    "sent_ns": np.array([0, 2, 3, 4]) * S,
    "arrived_ns": [1, 2 * S + 30 * MS, 3 * S + 50 * MS, None],
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One mix of two CUBIC and two BBR flows, whose base RTT doubles at 3 s of 6."""
    writer = RunWriter(tmp_path_factory.mktemp("traffic") / "run", {**SCENARIO, **WITH_CHANGE})
    (setting,) = writer.settings()
    trial = writer.add(setting, (2,))
    write_table(trial, "transfers", TRANSFERS)
    write_table(trial, "datagrams", DATAGRAMS)
    return writer.finish()


@pytest.fixture(scope="module")
def measures(run: Path) -> RunMeasures:
    return measure_run(run)


def test_transfers_by_group_strategy_and_size(measures: RunMeasures) -> None:
    # The first arrives in the warm-up. Flows 0 and 1 run CUBIC, 2 and 3 BBR: of flow 3 one of
    # 20 kB after 300 ms, one small one after 200, and one that is not completed.
    rows = {(row.strategy, row.sizes): row for row in transfers_of_run(measures)}
    assert list(rows) == [
        ("cubic", "up to 10 kB"), ("cubic", "all sizes"), ("bbr", "up to 10 kB"),
        ("bbr", "10 to 100 kB"), ("bbr", "all sizes"),
    ]  # fmt: skip
    small, every = rows["bbr", "up to 10 kB"], rows["bbr", "all sizes"]
    assert (small.transfers, small.unfinished, every.transfers) == (2, 1, 3)
    assert small.readings["median_s"] is not None
    assert small.readings["median_s"].mean == pytest.approx(0.2)
    assert small.readings["p99_s"] is None
    assert every.readings["mean_s"] is not None
    assert every.readings["mean_s"].mean == pytest.approx(0.25)
    # The path changes, so that there is no one ideal.
    assert every.readings["median_slowdown"] is None


def test_changes_of_the_path(measures: RunMeasures) -> None:
    rows = responses_of_run(measures)
    assert {(r.number, r.change.text, r.change.at_ns, r.length_ns) for r in rows} == {
        (0, "base RTT 80 ms", 3 * S, 3 * S)
    }
    assert [(r.strategy, r.metric, r.trials) for r in rows] == [
        ("cubic", "convergence_time", 1), ("bbr", "convergence_time", 1),
    ]  # fmt: skip
    # All flows together have the link, before and after.
    (trial,) = measures.trials
    left = departed_bins(trial, TimeBins(2 * S, S, 4)).sum(axis=0)
    assert left == pytest.approx(np.full(4, 10e6), rel=0.05)


def test_what_is_shown_around_a_change(measures: RunMeasures) -> None:
    (trial,) = measures.trials
    course = course_of(trial.trial.record, measures.run.scenario)
    assert course is not None
    assert span_around(course, 0, 6 * S) == (2 * S, 6 * S)
    plain = Scenario.model_validate(SCENARIO)
    assert course_of(trial.trial.record, plain) is None


def test_media(measures: RunMeasures) -> None:
    (trial,) = measures.trials
    assert trial.per_flow["one_way_delay"][1] == pytest.approx(0.04)
    assert trial.per_flow["p95_one_way_delay"][1] == pytest.approx(0.05)
    assert trial.per_flow["datagram_loss_rate"][1] == pytest.approx(1 / 3)


def test_figures(measures: RunMeasures) -> None:
    (trial,), (setting,) = measures.trials, measures.run.settings
    sketches = [*setting_sketches(measures, setting), *trial_sketches(measures, trial)]
    assert [sketch.name for sketch in sketches] == [
        "slowdown_by_size-b2bdp-main-cubic", "slowdown_by_size-b2bdp-main-bbr",
        "media_delay-b2bdp", "around_change-b2bdp-k02-r0-a0-0",
    ]  # fmt: skip
    (times,), _, (media,), around = (panels(sketch.made()) for sketch in sketches)
    assert times.y.title == "completion time (s)"
    assert media["2 cubic + 2 bbr"].x == pytest.approx([30, 50])
    assert [panel.y.title for panel in around] == ["left the queue (Mbit/s)", "queue (kB)"]


def test_nothing_is_drawn_of_nothing(measures: RunMeasures) -> None:
    (trial,) = measures.trials
    assert around_change_plot(measures, trial, (7 * S, 8 * S)) is None


def test_tables_and_page(
    run: Path, measures: RunMeasures, tmp_path: Path, no_figures: None
) -> None:
    asked = ("completions", "changes", "media", "gates")
    rows = export_run(summarise(run), tmp_path / "tables", raw=asked)
    (trial,) = measures.run.trials
    assert [rows[name] for name in asked] == [5, 2, 1, len(trial.record.gates)]
    media = pl.read_csv(tmp_path / "tables" / "media.csv").to_dicts()
    assert media[0]["one_way_delay"] == pytest.approx(0.04)
    found = pl.read_csv(tmp_path / "tables" / "completions.csv")
    assert found["unfinished"].to_list() == [0, 0, 1, 0, 1]
    trials = pl.read_csv(tmp_path / "tables" / "trials.csv")
    assert trials["unfinished_transfers"].to_list() == [0.25]
    page = build_report(run, ("html",), tmp_path / "report").read_text()
    for section in ("completions", "media", "changes"):
        assert f'<section id="{section}">' in page
    assert '<section id="harm">' not in page


def bound(run: Path, **what: Any) -> AcceptanceResult:
    measures = measure_run(run)
    scenario = Scenario.model_validate({**SCENARIO, **WITH_CHANGE, "acceptance": [what]})
    with_bound = replace(measures, run=replace(measures.run, scenario=scenario))
    (found,) = check_measures(with_bound, equilibria_of_measures(with_bound))
    return found


@pytest.mark.parametrize(
    ("what", "value", "passed"),
    [
        ({"metric": "one_way_delay", "group": "main", "max": "41ms"}, 40, True),
        ({"metric": "p95_one_way_delay", "mix": {"bbr": 2}, "max": "41ms"}, 50, False),
        ({"metric": "flow_completion_time", "min": "150ms"}, 200, True),
        ({"metric": "unfinished_transfers", "max": "10%"}, 25, False),
        ({"metric": "convergence_time", "strategy": "cubic", "max": "1s"}, 0, True),
        # The last of them was not completed, BBR has not converged, and there is no slowdown.
        ({"metric": "p99_flow_completion_time", "max": "10s"}, None, False),
        ({"metric": "convergence_time", "strategy": "bbr", "max": "3s"}, None, False),
        ({"metric": "slowdown", "max": 100}, None, False),
    ],
)
def test_bounds(run: Path, what: dict[str, Any], value: float | None, passed: bool) -> None:
    found = bound(run, **what)
    assert found.value == (None if value is None else pytest.approx(value, rel=1e-6))
    assert found.passed is passed


def test_a_bound_on_the_whole_trial_names_no_flows() -> None:
    wrong = {"metric": "p95_slowdown", "group": "main", "max": 2}
    with pytest.raises(ValueError, match="group: a bound on p95_slowdown has none"):
        Scenario.model_validate({**SCENARIO, "acceptance": [wrong]})


def test_other_runs_have_none_of_it(whole_run: Path) -> None:
    plain = measure_run(whole_run)
    assert "slowdown" not in plain.metrics
    assert "starved_share" in plain.metrics
    lacking = {"completions": "finite transfers", "changes": "no path", "bounds": "no `acceptance`"}
    for name, what in lacking.items():
        with pytest.raises(RunError, match=what):
            made_table(RunSummary(plain, [], [], []), name)
