"""The results of a run: measured once, the same for the command line, a script and the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashbed.analysis.results import summary as summaries
from nashbed.analysis.results.acceptance import AcceptanceResult
from nashbed.analysis.results.bounds import Span
from nashbed.controlplane.cli.result_text import bound_line, result_text
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.study.results import RunResults, results_of_run
from tests.support.synthetic_run import write_run
from tests.unit.conftest import draw_none

DELAY = {"metric": "mean_queueing_delay", "min": "20ms", "max": "80ms"}
NO_DELAY = {"metric": "mean_queueing_delay", "min": "1us", "max": "2us"}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of five mixes that meets its bound."""
    return write_run(tmp_path_factory.mktemp("results") / "run", acceptance=[DELAY])


@pytest.fixture(scope="module")
def results(run_dir: Path) -> RunResults:
    """Its results, with the report."""
    measured: list[Path] = []
    measure = summaries.measure_run

    def count(path: Path) -> summaries.RunMeasures:
        measured.append(path)
        return measure(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "measure_run", count)
        patch.setattr("nashbed.analysis.report.build.draw_all", draw_none)
        made = results_of_run(run_dir, with_report=True)
    assert measured == [run_dir]
    return made


@pytest.mark.slow
def test_report_and_answer_have_the_same_rows(results: RunResults, run_dir: Path) -> None:
    assert results.report == run_dir / "report" / "index.html"
    assert results.report.is_file()
    answer = json.loads(json.dumps(results.answer().model_dump(mode="json"), allow_nan=False))
    written = json.loads((run_dir / "report" / "summary.json").read_text())
    assert answer["rows"] == written["rows"]
    assert answer["acceptance"] == written["acceptance"]
    assert (answer["ok"], answer["exit_code"]) == (True, EXIT_OK)
    assert answer["report"] == str(results.report)


@pytest.mark.slow
def test_rows_are_typed(results: RunResults) -> None:
    assert [row.counts for row in results.rows] == [{"cubic": 4 - k, "bbr": k} for k in range(5)]
    assert [row.trials_valid for row in results.rows] == [1] * 5
    only_cubic = results.rows[0]
    assert only_cubic.per_flow_throughput["bbr"] is None
    assert only_cubic.per_flow_throughput["cubic"] is not None
    assert only_cubic.groups == ()


@pytest.mark.slow
def test_the_text_for_a_person(results: RunResults, run_dir: Path) -> None:
    text = result_text(results)
    assert "A synthetic run" in text
    lines = [line for line in text.splitlines() if "1/1" in line]
    assert len(lines) == 5
    row = results.rows[2]
    throughput = row.per_flow_throughput["bbr"]
    assert throughput is not None
    assert f"{throughput.mean / 1e6:.2f}" in text
    assert "met    b2bdp: mean queueing delay" in text
    (headline,) = results.headlines.values()
    assert results.answer().model_dump(mode="json")["headlines"] == {"b2bdp": headline}
    (setting,) = results.summary.equilibria
    told = setting.headline()
    assert told.facts()
    facts = "".join(f"    {fact}\n" for fact in told.facts())
    assert f"equilibrium\n  b2bdp: {told.claim}\n{facts}" in text
    assert text.endswith(f"report: {results.report}\nrun directory: {run_dir}\n")


@pytest.mark.slow
def test_a_missed_bound(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", acceptance=[DELAY, NO_DELAY])
    results = results_of_run(run, with_report=False)
    assert not results.passed
    assert results.exit_code == EXIT_ACCEPTANCE
    assert results.report is None
    assert not (run / "report").exists()
    text = result_text(results)
    assert "MISSED b2bdp: mean queueing delay 1us to 2us" in text
    assert "report:" not in text


def test_a_bound_that_is_undecided_shows_its_interval() -> None:
    bound = AcceptanceResult(
        metric="equilibrium", setting="b2bdp", description="cubic flows at the equilibrium",
        value=3.7, low=3, high=5, unit="flows", allowed="3 to 5 flows", verdict="undecided",
        passed=False, spans=(Span(2, 4),), detail="",
    )  # fmt: skip
    assert bound_line(bound) == (
        "UNDECIDED b2bdp: cubic flows at the equilibrium: 3.7 flows, 95 %: 2 to 4 "
        "(allowed 3 to 5 flows)"
    )


@pytest.mark.slow
def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        results_of_run(tmp_path / "none", with_report=True)
