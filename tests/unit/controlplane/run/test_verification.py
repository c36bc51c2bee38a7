"""Trials are run again over the fakes: equal ones are equal, a lie is found and named."""

import json
import re
import shutil
from functools import partialmethod
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.manifest import GuestKernelFacts, Manifest
from nashbed.controlplane.contract.target import Capabilities
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.machine.host.facts import cpu_family
from nashbed.controlplane.run import verification as module
from nashbed.controlplane.run.active_run import new_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.run.verification import TrialChoice, Verification, prepare
from nashbed.controlplane.store.comparison import Difference
from nashbed.controlplane.store.run_directory import RunDirectory
from nashbed.controlplane.study.adaptive import make_chooser
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.fakes.session import FakeSession
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of

Monkey = pytest.MonkeyPatch
Capture = pytest.CaptureFixture[str]
TRIAL = "b2bdp-k01-r0-a0"
ON_FAKES = ThisMachine(lambda request: FakeSession(), lambda testbed: Path("x"))


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one trial."""
    text = SCENARIO.replace("[0, 1, 3]}", "[1]}\nmax_attempts: 1")
    scenario, testbed = parse_scenario(text, "small.yaml"), parse_testbed(TESTBED, "fake.yaml")
    plan = plan_of(scenario.model, testbed.model)
    run = new_run(tmp_path_factory.mktemp("finished"), scenario, testbed, plan, make_chooser)
    execute(run, lambda snapshot: None, ON_FAKES)
    return run.directory.path


@pytest.fixture
def finished(finished_once: Path, tmp_path: Path) -> RunDirectory:
    """A copy of it that a test may change."""
    copy = tmp_path / finished_once.name
    shutil.copytree(finished_once, copy)
    return RunDirectory(copy)


@pytest.fixture(autouse=True)
def repeatable(monkeypatch: Monkey) -> None:
    """The fakes' traffic is the same each time."""

    def capabilities(testbed: Testbed) -> Capabilities:
        return dpdk_capabilities(testbed.dataplane).model_copy(update={"repeatable": True})

    monkeypatch.setattr(module, "capabilities_of", capabilities)


def verified(
    run: RunDirectory, folder: Path, choice: TrialChoice | None = None, keep: bool = False
) -> Verification:
    verification = prepare(run.path, folder, choice or TrialChoice(), keep)
    told = {verification.environment for _ in verification.progress(ON_FAKES)}
    assert told == {verification.environment}
    return verification


@pytest.mark.slow
def test_a_repeated_trial_is_equal(finished: RunDirectory, tmp_path: Path) -> None:
    verification = verified(finished, tmp_path / "again")
    assert [trial.differences for trial in verification.trials] == [()]
    assert verification.equal
    assert verification.environment == ()
    assert list(verification.run.directory.trials.iterdir()) == []
    (record,) = finished.sealed()
    assert record.digests is not None
    assert verification.trials[0].digest == record.digests.trial


@pytest.mark.slow
def test_what_is_kept_is_a_run_directory(finished: RunDirectory, tmp_path: Path) -> None:
    verification = verified(finished, tmp_path / "again", keep=True)
    (again,) = verification.run.directory.sealed()
    (before,) = finished.sealed()
    assert (again.id, again.seed, again.lane) == (before.id, before.seed, before.lane)
    assert again.digests == before.digests


@pytest.mark.slow
def test_a_lie_is_found_and_named(
    finished: RunDirectory, tmp_path: Path, monkeypatch: Monkey
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "other_flags")
    (trial,) = verified(finished, tmp_path / "again").trials
    place = "flow 2 at 0.199500000 s"
    flags = Difference("table", "postcards", 0x10, 0x18, row=100, column="tcp_flags", place=place)
    assert trial.differences == (flags,)
    assert str(flags) == f"table postcards, row 100 ({place}), tcp_flags: 16 recorded, 24 repeated"


@pytest.mark.slow
def test_a_fact_that_differs_is_named(
    finished: RunDirectory, tmp_path: Path, monkeypatch: Monkey
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "ring_loss")
    (trial,) = verified(finished, tmp_path / "again").trials
    assert trial.differences == (Difference("fact", "losses", 0, 3, column="ring no_memory"),)
    monkeypatch.setenv("FAKE_DATAPLANE", "")
    monkeypatch.setenv("FAKE_FLOWS", "sink_loss")
    (trial,) = verified(finished, tmp_path / "and again").trials
    table, sink = trial.differences
    assert (table.name, table.row, table.column) == ("flows", 0, "sink_bytes")
    assert table.recorded == table.repeated + 1
    assert (sink.kind, sink.name) == ("fact", "sink")


@pytest.mark.slow
def test_a_lateness_is_no_difference(
    finished: RunDirectory, tmp_path: Path, monkeypatch: Monkey
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "lateness")
    assert verified(finished, tmp_path / "again").equal


@pytest.mark.slow
def test_a_sealed_table_that_was_changed(finished: RunDirectory, tmp_path: Path) -> None:
    file = finished.trials / TRIAL / "goodput.parquet"
    table = pq.read_table(file)
    pq.write_table(table.set_column(2, "bytes", pa.array([1] * len(table), pa.uint64())), file)
    (trial,) = verified(finished, tmp_path / "again").trials
    assert [str(each) for each in trial.differences] == [
        "goodput.parquet was changed after the trial was sealed"
    ]


@pytest.mark.slow
def test_another_kernel_or_program_is_said_first(finished: RunDirectory, tmp_path: Path) -> None:
    manifest = finished.read("manifest.json", Manifest)
    facts = GuestKernelFacts(release="6.1.176", package="linux", digest="d", binary_digest="b")
    changes = {
        "guest_kernels": {"": facts},
        "artefact_digest": "11" * 32,
        "guest_programs": {"nashbed-flows": "22" * 32},
        "host": manifest.host | {"cpu_family": "x86_64, vendor_id Another"},
    }
    finished.write("manifest.json", manifest.model_copy(update=changes))
    verification = verified(finished, tmp_path / "again")
    assert [str(each) for each in verification.environment] == [
        f"P4 artefact: {'11' * 32} recorded, {'00' * 32} repeated",
        "guest kernel: 6.1.176 (binary b) recorded, nothing repeated",
        f"nashbed-flows: {'22' * 32} recorded, nothing repeated",
        f"CPU: x86_64, vendor_id Another recorded, {cpu_family()} repeated",
    ]
    assert verification.equal


@pytest.mark.slow
def test_an_attempt_that_fails_ends_it(
    finished: RunDirectory, tmp_path: Path, monkeypatch: Monkey
) -> None:
    monkeypatch.setenv("FAKE_FLOWS", "no_connect")
    with pytest.raises(HostError, match="flow 0: connection timed out"):
        verified(finished, tmp_path / "again")


def test_real_time_is_refused(finished: RunDirectory, tmp_path: Path, monkeypatch: Monkey) -> None:
    monkeypatch.undo()
    with pytest.raises(ConfigError, match="target dpdk runs in real time, which is not rep") as e:
        prepare(finished.path, tmp_path / "again", TrialChoice())
    assert "\n" not in e.value.message
    assert not (tmp_path / "again").exists()


def record(name: str) -> TrialRecord:
    return TrialRecord.model_construct(id=name)


def test_the_choice() -> None:
    records = [record(f"b2bdp-k{k:02d}-r0-a0") for k in range(20)]
    run = Path("results/run")

    def chosen(**options: Any) -> list[str]:
        return [each.id for each in TrialChoice(**options).of(records, run)]

    assert len(chosen()) == 1
    assert len(chosen(count=None)) == len(chosen(count=99)) == 20
    assert chosen(count=5, seed=1) == chosen(count=5, seed=1) != chosen(count=5, seed=2)
    assert chosen(trials=("b2bdp-k03-r0-a0", "b2bdp-k03-r0-a0")) == ["b2bdp-k03-r0-a0"]
    with pytest.raises(ConfigError, match="has no sealed trial b9"):
        chosen(trials=("b9",))
    with pytest.raises(ConfigError, match="no trial is sealed; `nashbed resume results/run`"):
        TrialChoice().of([], run)


@pytest.fixture
def on_fakes(monkeypatch: Monkey) -> None:
    """The command runs the fakes, and asks nothing of this machine."""
    monkeypatch.setattr("nashbed.running.check_host", lambda *args: None)
    on_fakes = partialmethod(Verification.progress, executor=ON_FAKES)
    monkeypatch.setattr(Verification, "progress", on_fakes)


@pytest.mark.slow
@pytest.mark.usefixtures("on_fakes")
def test_the_command(finished: RunDirectory, monkeypatch: Monkey, capsys: Capture) -> None:
    run_dir = str(finished.path)
    assert cli(["verify", run_dir, "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    assert "1 trial to run again, drawn with --seed 7" in err
    assert "1/1 trials done" in err
    assert re.fullmatch(rf"{TRIAL}: equal \(sha256 [0-9a-f]{{16}}\)\n1 of 1 trial equal\n", out)
    monkeypatch.setenv("FAKE_DATAPLANE", "other_flags")
    assert cli(["verify", run_dir, "--all", "--json"]) == 20
    answer = json.loads(capsys.readouterr().out)
    (trial,) = answer["trials"]
    assert (answer["ok"], trial["equal"]) == (False, False)
    assert trial["differences"][0]["column"] == "tcp_flags"
    assert cli(["verify", run_dir, "--trial", TRIAL]) == 20
    said = capsys.readouterr().out
    assert (
        f"{TRIAL}: differs\n  table postcards, row 100 (flow 2 at 0.199500000 s), tcp_flags: "
        in said
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--all", "--count", "2"], "--trial, --all, --count and --files exclude each other"),
        (["--trial", "b9"], "has no sealed trial b9"),
        (["--count", "0"], "Invalid value for '--count'"),
    ],
)
def test_wrong_options(
    finished: RunDirectory, options: list[str], line: str, capsys: Capture
) -> None:
    assert cli(["verify", str(finished.path), *options]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert line in err
