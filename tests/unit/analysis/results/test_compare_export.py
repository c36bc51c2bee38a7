"""Comparing runs, exporting them, and reading a results folder with other tools."""

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from nashbed.analysis.measures import measure_run
from nashbed.analysis.results.compare import (
    RunComparison,
    ShareComparison,
    Spread,
    compare_runs,
    paired_runs,
    summarise_shares,
)
from nashbed.controlplane.cli.comparison_text import MOST_ROWS, comparison_text
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.tables import TABLES
from nashbed.runs import open_run
from tests.support.synthetic_run import MARKS, SCENARIO, RunWriter, edit_json
from tests.unit.analysis.made_measures import made

Capture = pytest.CaptureFixture[str]


def _repeated(path: Path, scale: float, repetitions: int = 3) -> Path:
    """Two buffers, one even mix, a few repetitions; `scale` multiplies the goodput."""
    raw = {**SCENARIO, "duration": "3s", "sweep": {"buffer": ["1bdp", "2bdp"], "mixes": [2]}}
    writer = RunWriter(path, {**raw, "trials": repetitions})
    for setting in writer.settings():
        for repetition in range(repetitions):
            writer.add(setting, (2,), repetition, scale=scale)
    return writer.finish()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compared")
    return _repeated(folder / "one", 1.0), _repeated(folder / "half", 0.5)


def compared(first: Path, second: Path, *settings: str, **named: str) -> RunComparison:
    return compare_runs(measure_run(first), measure_run(second), *settings, **named)


@pytest.mark.slow
def test_runs_that_differ(runs: tuple[Path, Path]) -> None:
    found = compared(*runs)
    assert {c.setting for c in found.comparisons} == {"b1bdp", "b2bdp"}
    rates = [c for c in found.comparisons if c.metric == "per_flow_throughput"]
    assert len(rates) == 4
    for each in rates:
        assert each.difference == pytest.approx(-each.first.mean / 2, rel=0.01)
    # The same simulation, so only the goodput differs.
    delays = [c for c in found.comparisons if c.metric == "mean_queueing_delay"]
    assert all(c.difference == 0 and not c.differs for c in delays)
    json.dumps(found.model_dump(), allow_nan=False)


def test_shares_side_by_side(runs: tuple[Path, Path]) -> None:
    shares = compared(*runs).shares
    assert [(s.setting, s.mix) for s in shares] == [
        ("b1bdp", "2 cubic + 2 bbr"), ("b2bdp", "2 cubic + 2 bbr"),
    ]  # fmt: skip
    for each in shares:
        # All goodput is halved in the second run: nobody's share changes.
        assert each.second.mean == pytest.approx(each.first.mean, abs=1e-3)
        assert 0 < each.first.low <= each.first.mean <= each.first.high < 1
        assert each.first.n == 3


def test_counterparts_on_the_command_line(runs: tuple[Path, Path], capsys: Capture) -> None:
    """An even mix and the same with its names exchanged: what was BBR's share is CUBIC's."""
    args = ["compare", str(runs[0]), str(runs[0]), "--as", "bbr=cubic"]
    assert cli([*args, "--as", "cubic=bbr", "--json"]) == 0
    for each in json.loads(capsys.readouterr().out)["shares"]:
        assert each["first"]["mean"] + each["second"]["mean"] == pytest.approx(1)
    assert cli([*args[:-1], "bbr"]) == 2
    assert "--as: write FIRST=SECOND" in capsys.readouterr().err
    assert cli([*args[:-1], "vegas=bbr"]) == 2
    assert "no strategy 'vegas'; there are cubic, bbr" in capsys.readouterr().err


def share(setting: str, mix: str, first: Spread, second: Spread) -> ShareComparison:
    return ShareComparison(
        setting=setting, against=setting, mix=mix, strategy="bbr", first=first, second=second,
        difference=second.mean - first.mean, overlap=first.overlaps(second),
    )  # fmt: skip


def spread(mean: float, low: float, high: float, n: int) -> Spread:
    return Spread(mean=mean, low=low, high=high, n=n)


def once(value: float) -> Spread:
    return spread(value, value, value, 1)


def test_ranges_with_nothing_in_common() -> None:
    low, middle, high = spread(0.2, 0.1, 0.3, 3), once(0.3), spread(0.5, 0.4, 0.6, 2)
    assert share("b1bdp", "1 + 1", low, middle).overlap
    assert not share("b1bdp", "1 + 1", low, high).overlap
    assert not share("b1bdp", "1 + 1", high, middle).overlap
    assert share("b1bdp", "1 + 1", low, high).repeated
    assert not share("b1bdp", "1 + 1", high, middle).repeated


def test_shares_summarised_by_setting() -> None:
    shares = [
        share("b1bdp", "3 + 1", once(0.5), once(0.6)),
        share("b1bdp", "2 + 2", once(0.5), once(0.2)),
        share("b2bdp", "2 + 2", once(0.4), once(0.4)),
    ]
    one, other = summarise_shares(shares)
    assert (one.setting, one.strategy, one.mixes) == ("b1bdp", "bbr", 2)
    assert (one.mean, one.mean_absolute) == pytest.approx((-0.1, 0.2))
    assert (one.largest.mix, one.largest.difference) == ("2 + 2", pytest.approx(-0.3))
    assert (other.setting, other.mean) == ("b2bdp", 0)


def test_a_long_table_shows_what_differs_most() -> None:
    shares = [share("b1bdp", f"mix {i}", once(0), once(i / 100)) for i in range(MOST_ROWS + 5)]
    runs = RunComparison(
        first="one", second="two", comparisons=(), share_summary=tuple(summarise_shares(shares)),
        shares=tuple(shares), left_out=tuple("x" for _ in shares), unlike=(),
    )  # fmt: skip
    short, whole = comparison_text(runs, False), comparison_text(runs, True)
    assert f"the {MOST_ROWS} of {MOST_ROWS + 5} that differ most; --all shows every one" in short
    assert "mix 4 " not in short
    assert "mix 5 " in short
    assert "mix 4 " in whole
    assert "--all" not in whole
    # One row for the setting, and what no repetition can say.
    assert "+22.0 │          22.0 │   +44.0 │ mix 44" in short
    assert "no mix has two valid trials in both" in short


def test_two_settings_of_one_run(runs: tuple[Path, Path]) -> None:
    found = compared(runs[0], runs[0], "b1bdp", "b2bdp")
    delay = next(c for c in found.comparisons if c.metric == "mean_queueing_delay")
    assert (delay.setting, delay.against) == ("b1bdp", "b2bdp")
    assert delay.difference > 0
    assert delay.differs


def test_swept_settings_are_alike_by_flows_and_length() -> None:
    def rate(setting: Setting, strategy: str, second: int) -> float:
        return 1e6

    swept = made({"sweep": {"flows": {"count": [2, 4]}, "duration": ["30s", "60s"]}}, rate)
    plain = made({"flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}]}, rate)
    pairs = paired_runs(plain, swept, None, None).settings
    assert [(one.label, other.label) for one, other in pairs] == [("b2bdp", "d60s-count4-b2bdp")]
    pairs = paired_runs(swept, swept, None, None).settings
    assert len(pairs) == 4
    assert all(one == other for one, other in pairs)


def test_without_repetitions_there_are_shares_alone(whole_run: Path, capsys: Capture) -> None:
    assert cli(["compare", str(whole_run), str(whole_run)]) == 0
    text = capsys.readouterr().out
    assert "Differences of shares, second minus first, in points" in text
    assert "no mix has two valid trials in both" in text
    assert "trials: 2" in text
    assert "Welch" not in text
    found = compared(whole_run, whole_run)
    assert [s.mix for s in found.shares] == [
        "3 cubic + 1 bbr",
        "2 cubic + 2 bbr",
        "1 cubic + 3 bbr",
    ]
    assert all(s.difference == 0 for s in found.shares)
    assert not found.comparisons
    assert len(found.left_out) == 5


def test_without_repetitions_and_shares_it_refuses(tmp_path: Path, capsys: Capture) -> None:
    writer = RunWriter(tmp_path / "alone", {**SCENARIO, "sweep": {"mixes": [0]}})
    writer.add(writer.settings()[0], (0,))
    run = str(writer.finish())
    assert cli(["compare", run, run]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "no mix has two valid trials in both" in line
    assert "trials: 2" in line


@pytest.mark.slow
def test_one_scenario_on_testbeds_that_apply_it_differently(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    """A target that rounds rates applies another one: it is the same setting, and is named."""
    other = _repeated(tmp_path / "rounded", 1.0)
    for path in (other / "trials").glob("b1bdp-*/trial.json"):
        applied = json.loads(path.read_text())["applied"]
        edit_json(path, applied={**applied, "rate_bps": 9_990_000})
    found = compared(runs[0], other)
    assert [s.setting for s in found.shares] == ["b1bdp", "b2bdp"]
    assert found.unlike == ("b1bdp: 10 Mbit/s, 50 kB against 9.99 Mbit/s, 50 kB",)
    assert f"not applied alike: {found.unlike[0]}" in comparison_text(found, False)
    assert compared(*runs).unlike == ()


def test_what_cannot_be_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(RunError, match="has no setting 'b9bdp'; there are b1bdp, b2bdp"):
        compared(*runs, "b9bdp")
    with pytest.raises(RunError, match="say also which setting of the first run"):
        compared(*runs, against="b1bdp")
    other = {**SCENARIO, "bottleneck": {"rate": "5mbit", "buffer": "2bdp"}}
    writer = RunWriter(tmp_path / "other", {**other, "sweep": {"mixes": [2]}})
    writer.add(writer.settings()[0], (2,))
    with pytest.raises(RunError, match="no setting and mix in common"):
        compared(runs[0], writer.finish())


def test_compare_on_the_command_line(runs: tuple[Path, Path], capsys: Capture) -> None:
    args = ["compare", *map(str, runs)]
    assert cli(args) == 0
    text = capsys.readouterr().out
    assert "half minus one" in text
    assert "Differences of shares, second minus first, in points" in text
    assert "Share of the throughput in per cent: mean (lowest to highest of n trials)" in text
    assert "differ by more than chance" in text
    assert cli([*args, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["comparisons"]) == 14
    assert [share["strategy"] for share in answer["shares"]] == ["bbr", "bbr"]
    assert [each["setting"] for each in answer["share_summary"]] == ["b1bdp", "b2bdp"]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_export(whole_run: Path, tmp_path: Path, form: str) -> None:
    rows = open_run(whole_run).export(tmp_path / "out", form, ("goodput",))
    read = pl.read_csv if form == "csv" else pl.read_parquet
    tables = {name: read(tmp_path / "out" / f"{name}.{form}") for name in rows}
    assert {name: table.height for name, table in tables.items()} == rows
    assert rows["trials"] == 5
    assert rows["flows"] == 20
    trial = measure_run(whole_run).trials[2]
    mine = tables["flows"].filter(pl.col("trial") == trial.trial.id).sort("flow")
    expected = trial.per_flow["per_flow_throughput"].tolist()
    assert mine["per_flow_throughput"].to_list() == pytest.approx(expected)
    one = tables["trials"].filter(pl.col("trial") == trial.trial.id)
    assert one["utilisation"].item() == pytest.approx(trial.total["utilisation"])
    assert set(tables["goodput"].columns) == {"trial", "t_ns", "flow", "bytes"}
    # Three mixes have both; of the model's assumptions the trials are too short for BBR's 10 s.
    full = tables["ledger"].filter(pl.col("assumption") == "full")
    assert full["mix"].to_list() == ["3 cubic + 1 bbr", "2 cubic + 2 bbr", "1 cubic + 3 bbr"]
    assert (full["measured"] / full["says_synchronised"]).to_list() == pytest.approx(
        full["ratio_synchronised"].to_list()
    )
    assert "rtt_plus" not in tables["ledger"]["assumption"]
    # Again over what is there.
    assert open_run(whole_run).export(tmp_path / "out", form)["trials"] == 5
    assert not (tmp_path / "out" / f"goodput.{form}").exists()


def test_export_says_what_is_wrong(whole_run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="format 'xls' is unknown"):
        open_run(whole_run).export(tmp_path / "out", "xls")
    with pytest.raises(RunError, match="no table 'packets'; there are postcards"):
        open_run(whole_run).export(tmp_path / "out", "csv", ("packets",))
    with pytest.raises(RunError, match="no valid trial has the table bins"):
        open_run(whole_run).export(tmp_path / "out", "csv", ("bins",))
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(RunError, match="holds other files"):
        open_run(whole_run).export(tmp_path)
    assert (tmp_path / "mine.txt").exists()
    assert not (tmp_path / "out").exists()


def test_export_on_the_command_line(whole_run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert cli(["export", str(whole_run), "--out", str(tmp_path / "o"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"]["trials"] == 5
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == [
        "flows.csv", "ledger.csv", "mixes.csv", "trials.csv",
    ]  # fmt: skip


def test_polars_reads_a_results_folder_directly(whole_run: Path) -> None:
    """The query of docs/reference/run-directory.md: goodput of each CCA by trial, files alone."""
    trial = pl.col("path").str.extract(r"trials/([^/]+)/")
    where = str(whole_run.parent / "*" / "trials" / "*")
    flows = pl.scan_parquet(f"{where}/flows.parquet", include_file_paths="path")
    goodput = pl.scan_parquet(f"{where}/goodput.parquet", include_file_paths="path")
    query = (
        goodput.with_columns(trial=trial)
        .join(flows.with_columns(trial=trial).select("trial", "flow", "cc"), on=["trial", "flow"])
        .filter(pl.col("t_ns").is_between(1_000_000_000, 6_000_000_000, closed="right"))
        .group_by("trial", "cc")
        .agg(mbit=pl.col("bytes").sum() * 8 / 5e6)
    )
    found = {(t, cc): mbit for t, cc, mbit in query.collect().iter_rows()}
    for measured in measure_run(whole_run).trials:
        for strategy in set(measured.strategy):
            total = measured.per_flow["per_flow_throughput"][measured.flow_mask(strategy)].sum()
            assert found[measured.trial.id, strategy] == pytest.approx(total / 1e6)


def test_files_are_as_their_layouts_say(whole_run: Path) -> None:
    first = next((whole_run / "trials").iterdir())
    for name in ("flows", "goodput", "counters"):
        left_out = MARKS.get(name, ())  # nothing can be marked in it
        names = [column for column in TABLES[name].names if column not in left_out]
        assert pq.read_schema(first / f"{name}.parquet").names == names


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_run_without_a_valid_trial_has_tables_without_rows(
    form: str, whole_run: Path, run_copy: Path
) -> None:
    full = open_run(whole_run).tables
    for record in run_copy.glob("trials/*/trial.json"):
        content = json.loads(record.read_text())
        content["gates"][0]["passed"] = content["valid"] = False
        record.write_text(json.dumps(content))
    run = open_run(run_copy)
    rows = run.export(run_copy / "export", form)
    assert (rows["flows"], rows["trials"]) == (0, 5)
    assert run.tables["flows"].schema["per_flow_throughput"] == pl.Float64
    assert run.tables["flows"].columns == [
        name for name in full["flows"].columns if name in run.tables["flows"].columns
    ]
    assert run.tables["mixes"].schema == full["mixes"].schema
    assert {row["values"][1] for row in run.section("mixes")["rows"]} == {("0/1 (1 invalid)", "")}
    for table in ("postcards", "harm"):
        with pytest.raises(RunError, match="no valid trial"):
            run.export(run_copy / "export", form, [table])
