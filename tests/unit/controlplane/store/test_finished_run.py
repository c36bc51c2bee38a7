"""Opening run directories: sound, foreign, damaged, of another version."""

import shutil
from pathlib import Path

import nashbed
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nashbed.analysis.measures import measure_run
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.sealed_trial import open_trial
from tests.support.synthetic_run import SCENARIO, RunWriter, edit_json, write_run

ONE_LINE = "\n"


def first_trial(run: Path) -> Path:
    return sorted((run / "trials").iterdir())[0]


def fails(path: Path) -> str:
    with pytest.raises(RunError) as caught:
        open_run(path)
    assert ONE_LINE not in caught.value.message
    assert caught.value.exit_code == 2
    return caught.value.message


def test_a_whole_run(whole_run: Path) -> None:
    run = open_run(whole_run)
    assert [t.id for t in run.trials] == [f"b2bdp-k0{k}-r0-a0" for k in range(5)]
    assert run.planned_trials == 5
    assert not run.damaged
    assert [s.label for s in run.settings] == ["b2bdp"]


def test_a_mix_without_a_valid_trial_is_named_with_the_gate_that_refused(run_copy: Path) -> None:
    assert open_run(run_copy).without_result == ()
    gate, *others = open_run(run_copy).trials[0].record.gates
    refused = gate.model_copy(update={"passed": False, "detail": "snd X 4"})
    gates = [each.model_dump(mode="json") for each in (refused, *others)]
    edit_json(first_trial(run_copy) / "trial.json", gates=gates, valid=False)
    run = open_run(run_copy)
    assert run.without_result == ("b2bdp-k00",)
    assert run.without_result_sentence == (
        f"not one valid trial of 1 mix (b2bdp-k00): gate {gate.name} refused 1 of 1 attempt "
        "(snd X 4); change in the scenario or on the machine what it names, and run again"
    )
    assert not nashbed.open_run(run_copy).passed


def test_chunks_are_the_table(whole_run: Path) -> None:
    trial = open_run(whole_run).trials[2]
    chunks = list(trial.batches("postcards", ("flow", "dequeue_ns"), rows=1000))
    assert max(len(c["flow"]) for c in chunks) == 1000
    whole = trial.arrays("postcards", ["dequeue_ns"])["dequeue_ns"]
    assert np.concatenate([c["dequeue_ns"] for c in chunks]).tolist() == whole.tolist()
    counted = trial.lazy("postcards").select("flow").collect()
    assert counted.height == len(whole)


def test_unfinished_trials_are_not_looked_at(run_copy: Path) -> None:
    aside = run_copy / "trials" / ".b2bdp-k09-r0-a0.0123abcd.tmp"
    shutil.copytree(first_trial(run_copy), aside / "b2bdp-k09-r0-a0")
    (run_copy / "trials" / "note.txt").write_text("hello")
    assert len(open_run(run_copy).trials) == 5


def test_foreign_directories(tmp_path: Path) -> None:
    assert "is not a directory" in fails(tmp_path / "missing")
    assert "not a nashbed run directory" in fails(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', "\x00\xff", '{"format": "1"}'])
def test_damaged_manifest(run_copy: Path, text: str) -> None:
    (run_copy / "manifest.json").write_text(text)
    assert "manifest.json" in fails(run_copy)


def test_another_version(run_copy: Path) -> None:
    """A run of version 0.1.0 had format 1."""
    edit_json(run_copy / "manifest.json", format=1)
    assert fails(run_copy) == (
        f"{run_copy}/manifest.json: has format 1, this version reads 2; use the version that wrote "
        "it, or run again"
    )


@pytest.mark.parametrize("text", ["", "a: [", "title: x", "\t"])
def test_damaged_scenario(run_copy: Path, text: str) -> None:
    (run_copy / "scenario.yaml").write_text(text)
    assert "scenario.yaml" in fails(run_copy)


def test_missing_scenario(run_copy: Path) -> None:
    (run_copy / "scenario.yaml").unlink()
    assert "scenario.yaml: is missing" in fails(run_copy)


def only_damage(run: Path) -> str:
    """The one damaged trial's problem; the others are still measured."""
    measures = measure_run(run)
    assert len(measures.trials) == 4
    (damage,) = measures.damaged
    assert ONE_LINE not in damage.problem
    return damage.problem


@pytest.mark.parametrize("table", ["flows", "postcards", "goodput", "flow_samples", "counters"])
@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_truncated_tables(run_copy: Path, table: str, keep: int) -> None:
    file = first_trial(run_copy) / f"{table}.parquet"
    file.write_bytes(file.read_bytes()[:keep])
    assert f"{table}.parquet: is damaged" in only_damage(run_copy)


def test_damage_in_the_middle_is_found_when_read(run_copy: Path) -> None:
    file = first_trial(run_copy) / "postcards.parquet"
    raw = bytearray(file.read_bytes())
    raw[40:4000] = b"\xa5" * 3960
    file.write_bytes(raw)
    assert "postcards.parquet: is damaged" in only_damage(run_copy)


def test_missing_column(run_copy: Path) -> None:
    file = first_trial(run_copy) / "goodput.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["bytes"]), file)
    assert "goodput.parquet: has no column bytes" in only_damage(run_copy)


def test_columns_of_marks_are_nulls_where_nothing_can_be_marked(run_copy: Path) -> None:
    folder = first_trial(run_copy)
    table = pq.read_table(folder / "counters.parquet")
    assert "marked_packets" not in table.column_names
    trial = open_trial(folder)
    read = trial.arrays("counters", ["marked_packets", "flow"])
    assert read["flow"].tolist() == table["flow"].to_pylist()
    assert np.isnan(read["marked_packets"]).all()
    (batch,) = trial.batches("counters", ["flow", "marked_packets"])
    assert len(batch["marked_packets"]) == len(batch["flow"]) == len(table)
    assert np.isnan(batch["marked_packets"]).all()
    with pytest.raises(RunError):
        trial.arrays("counters", ["marked_packets", "no_such"])


def test_wrong_type(run_copy: Path) -> None:
    file = first_trial(run_copy) / "goodput.parquet"
    table = pq.read_table(file)
    pq.write_table(table.set_column(2, "bytes", table["bytes"].cast("double")), file)
    assert "column bytes is double, not uint64" in only_damage(run_copy)


def test_missing_flows_and_record(run_copy: Path) -> None:
    (first_trial(run_copy) / "flows.parquet").unlink()
    assert "flows.parquet: is missing" in only_damage(run_copy)
    (first_trial(run_copy) / "trial.json").unlink()
    assert "trial.json: is missing" in only_damage(run_copy)


def test_flows_that_do_not_fit_the_mix(run_copy: Path) -> None:
    file = first_trial(run_copy) / "flows.parquet"
    pq.write_table(pq.read_table(file).slice(1), file)
    assert "does not hold the flows 0 to 3" in only_damage(run_copy)


def test_rows_of_unknown_flows(run_copy: Path) -> None:
    file = first_trial(run_copy) / "goodput.parquet"
    table = pq.read_table(file)
    flow = (table["flow"].to_numpy() + 7).astype(np.uint32)
    pq.write_table(table.set_column(1, "flow", [flow]), file)
    assert "holds flow 10, but the trial has 4 flows" in only_damage(run_copy)


@pytest.mark.slow
@given(st.binary(max_size=300))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_as_a_table(run_copy: Path, noise: bytes) -> None:
    (first_trial(run_copy) / "postcards.parquet").write_bytes(noise)
    assert "postcards.parquet: is damaged" in only_damage(run_copy)


def test_only_the_last_valid_attempt_counts(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run", {**SCENARIO, "duration": "2s"})
    (setting,) = writer.settings()
    for attempt, valid in enumerate([True, False, True]):
        writer.add(setting, (2,), 0, attempt, valid)
    run = open_run(writer.finish())
    assert len(run.trials) == 3
    assert [t.record.attempt for t in run.valid_trials] == [2]


def test_measures_are_kept_until_the_run_changes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", duration="2s")
    first = measure_run(run)
    assert measure_run(run) is first
    shutil.rmtree(first_trial(run))
    assert len(measure_run(run).trials) == 4


def test_trials_without_tables_say_what_is_missing(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path / "run", {**SCENARIO, "duration": "2s"})
    (setting,) = writer.settings()
    writer.add(setting, (2,), tables=("counters",))
    (trial,) = measure_run(writer.finish()).trials
    assert trial.missing["utilisation"] == "the trial has neither postcards nor bins"
    assert trial.missing["per_flow_throughput"] == "the trial has no goodput table"
    assert trial.missing["mean_rtt"] == "the trial has no flow_samples table"
    assert not trial.total
    assert np.isnan(trial.value("utilisation"))


def test_bins_agree_with_postcards(tmp_path: Path) -> None:
    """The same trial kept as postcards and as 10 ms bins."""
    values = []
    for table in ("postcards", "bins"):
        writer = RunWriter(tmp_path / table, {**SCENARIO, "duration": "4s"})
        (setting,) = writer.settings()
        writer.add(setting, (2,), tables=(table, "goodput"))
        values.append(measure_run(writer.finish()).trials[0])
    exact, binned = values
    for name in ("mean_queueing_delay", "time_mean_queueing_delay", "utilisation"):
        assert binned.total[name] == pytest.approx(exact.total[name], rel=2e-3)
    occupancy = "queue_occupancy"
    assert binned.per_flow[occupancy] == pytest.approx(exact.per_flow[occupancy], rel=1e-6)
    assert binned.missing["p95_queueing_delay"] == "percentiles need postcards; this trial has bins"


def test_a_goodput_table_that_ends_early_is_no_mean(run_copy: Path) -> None:
    file = first_trial(run_copy) / "goodput.parquet"
    pq.write_table(pq.read_table(file).slice(0, 100), file)
    trial = measure_run(run_copy).trials[0]
    assert "did not count for the whole" in trial.missing["per_flow_throughput"]
