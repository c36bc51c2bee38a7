"""A finished run from Python: measured once, the same for the command line and the report."""

import json
import re
from pathlib import Path
from unittest.mock import MagicMock

import nashbed as nb
import polars as pl
import pytest
from nashbed.analysis.results import summary as summaries
from nashbed.analysis.results.acceptance import AcceptanceResult
from nashbed.analysis.results.bounds import Span
from nashbed.controlplane.cli import run as run_command
from nashbed.controlplane.cli.result_text import bound_line, result_text, run_answer
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError
from nashbed.controlplane.store.errors import RunError
from nashbed.runs import Run, open_run
from polars.testing import assert_frame_equal
from tests.support.synthetic_run import write_run
from tests.unit.conftest import draw_none

DELAY = {"metric": "mean_queueing_delay", "min": "20ms", "max": "80ms"}
NO_DELAY = {"metric": "mean_queueing_delay", "min": "1us", "max": "2us"}


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of five mixes that meets its bound."""
    return write_run(tmp_path_factory.mktemp("results") / "run", acceptance=[DELAY])


@pytest.fixture(scope="module")
def results(run_dir: Path) -> Run:
    measured: list[Path] = []
    measure = summaries.measure_run

    def count(path: Path) -> summaries.RunMeasures:
        measured.append(path)
        return measure(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "measure_run", count)
        patch.setattr("nashbed.analysis.report.build.draw_all", draw_none)
        made = open_run(run_dir)
        made.report()
    assert measured == [run_dir]
    return made


@pytest.mark.slow
def test_report_and_answer_have_the_same_rows(results: Run, run_dir: Path) -> None:
    page = run_dir / "report" / "index.html"
    assert page.is_file()
    said = run_answer(results, page)
    answer = json.loads(json.dumps(said.model_dump(mode="json"), allow_nan=False))
    written = json.loads((run_dir / "report" / "summary.json").read_text())
    assert answer["rows"] == written["rows"]
    assert answer["acceptance"] == written["acceptance"]
    assert (answer["ok"], answer["exit_code"]) == (True, EXIT_OK)
    assert answer["report"] == str(page)


@pytest.mark.slow
def test_rows_are_typed(results: Run) -> None:
    assert [row.counts for row in results.rows] == [{"cubic": 4 - k, "bbr": k} for k in range(5)]
    assert [row.trials_valid for row in results.rows] == [1] * 5
    only_cubic = results.rows[0]
    assert only_cubic.per_flow_throughput["bbr"] is None
    assert only_cubic.per_flow_throughput["cubic"] is not None
    assert only_cubic.groups == ()


@pytest.mark.slow
def test_the_text_for_a_person(results: Run, run_dir: Path) -> None:
    page = run_dir / "report" / "index.html"
    text = result_text(results, page)
    assert "A synthetic run" in text
    lines = [line for line in text.splitlines() if "1/1" in line]
    assert len(lines) == 5
    row = results.rows[2]
    throughput = row.per_flow_throughput["bbr"]
    assert throughput is not None
    assert f"{throughput.mean / 1e6:.2f}" in text
    assert "met    b2bdp: mean queueing delay" in text
    (headline,) = results.headlines.values()
    assert run_answer(results, None).headlines == {"b2bdp": headline}
    (setting,) = results.summary.equilibria
    told = setting.headline()
    assert told.facts()
    facts = "".join(f"    {fact}\n" for fact in told.facts())
    assert f"equilibrium\n  b2bdp: {told.claim}\n{facts}" in text
    assert text.endswith(f"report: {page}\nrun directory: {run_dir}\n")


@pytest.mark.slow
def test_what_follows_the_last_trial_is_said(
    results: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running = MagicMock()
    running.finish.return_value = results
    monkeypatch.setattr(run_command, "carry_out", lambda running: None)
    assert run_command._finish(running, no_report=True).code == EXIT_OK
    assert capsys.readouterr().err == "measuring the trials\n"
    monkeypatch.setattr(Run, "report", lambda self, on_step: on_step("figures", 0, 9))
    assert run_command._finish(running, no_report=False).code == EXIT_OK
    assert capsys.readouterr().err == "measuring the trials\n0/9 figures\n"


@pytest.mark.slow
def test_a_missed_bound(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", acceptance=[DELAY, NO_DELAY])
    results = open_run(run)
    assert not results.passed
    assert run_answer(results, None).exit_code == EXIT_ACCEPTANCE
    assert not (run / "report").exists()
    text = result_text(results, None)
    assert "(allowed 0.001 to 0.002 ms)" in text
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
        open_run(tmp_path / "none")


@pytest.mark.slow
def test_trials_have_their_metrics_flows_and_tables(results: Run) -> None:
    trial = results.trials[2]
    assert (trial.mix, trial.valid, trial.counted) == ({"cubic": 2, "bbr": 2}, True, True)
    assert trial.metrics["utilisation"] == results.tables["trials"]["utilisation"][2]
    flows = trial.flows
    assert flows["strategy"].to_list().count("bbr") == 2
    mean = flows.filter(pl.col("strategy") == "bbr")["per_flow_throughput"].mean()
    bbr = results.rows[2].per_flow_throughput["bbr"]
    assert bbr is not None
    assert mean == pytest.approx(bbr.mean)
    cards = trial.postcards
    assert cards.select(pl.len()).collect().item() == trial.arrow("postcards").num_rows > 0
    with pytest.raises(KeyError, match=r"has no table 'packets'; it has .*postcards"):
        trial.table("packets")


@pytest.mark.slow
def test_a_trial_that_does_not_count_has_no_numbers(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    record = next((run / "trials").iterdir()) / "trial.json"
    record.write_text(record.read_text().replace('"valid": true', '"valid": false'))
    (trial,) = (each for each in open_run(run).trials if not each.valid)
    assert not trial.counted
    assert (trial.metrics, trial.settled, trial.flows.height) == ({}, None, 0)
    assert trial.postcards.select(pl.len()).collect().item() > 0


@pytest.mark.slow
def test_tables_are_those_that_are_exported(results: Run, tmp_path: Path) -> None:
    rows = results.export(tmp_path / "out", "parquet", ["goodput"])
    for name, table in results.tables.items():
        assert rows[name] == table.height
        assert_frame_equal(pl.read_parquet(tmp_path / "out" / f"{name}.parquet"), table)
    assert rows["goodput"] > 0


@pytest.mark.slow
def test_a_run_is_equivalent_to_itself(run_dir: Path, results: Run) -> None:
    assert not nb.compare(results, run_dir).unlike
    for margin in (0.0, 1.0):
        with pytest.raises(ConfigError, match="write more than 0 and less than 1"):
            nb.equivalence(run_dir, results, margin)


@pytest.mark.slow
def test_a_run_is_analysed_once(results: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [each.name for each in nb.figures.of_run(results)]
    for each in ("measures.measure_trial", "correlation.of_run.correlate_trial"):
        monkeypatch.setattr(f"nashbed.analysis.{each}", None)
    assert [each.name for each in nb.figures.of_run(results)] == drawn


@pytest.mark.slow
def test_a_figure_is_the_callers(results: Run) -> None:
    sketches = nb.figures.of_run(results)
    kinds = {each.kind for each in sketches}
    assert {"throughput_by_mix", "queue_over_time"} <= kinds
    figure = nb.figures.draw(results, "throughput_by_mix", setting="b2bdp")
    figure.axes[0].set_title("mine")
    assert figure.axes[0].get_title() == "mine"
    with pytest.raises(ConfigError, match=r"no figure 'nothing'; it has .*throughput_by_mix"):
        nb.figures.draw(results, "nothing")


@pytest.mark.slow
def test_a_figure_for_a_paper(results: Run, tmp_path: Path) -> None:
    name = "throughput_by_mix"
    assert results.figures[name].name == f"{name}-b2bdp"
    pdf, table = nb.figures.save(results, name, tmp_path, ["pdf", "csv"], width="84mm")
    assert (pdf.name, table.name) == (f"{name}-b2bdp.pdf", f"{name}-b2bdp.csv")
    page = pdf.read_bytes()
    (width,) = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ", page)
    assert float(width) == pytest.approx(84 / 25.4 * 72, abs=0.01)
    assert b"/FontFile2" in page  # fonts are embedded as TrueType
    assert b"/Type3" not in page
    assert table.read_text() == results.figures[name].table()
    for wrong, text in ({"width": "wide"}, "width: wide; write"), (
        {"formats": ["gif"]}, "formats: 'gif' is unknown; there are pdf, svg, png, csv",
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=re.escape(text)):
            nb.figures.save(results, name, tmp_path, **wrong)
