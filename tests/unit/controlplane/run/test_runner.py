"""Whole runs against the fakes: state machine, gates, repetition, resume, restore."""

import json
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.errors import ConfigError, HostError, NashbedError, TargetError
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.run.active_run import ActiveRun, resumed_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.run.work import Job, Work
from nashbed.controlplane.store.digests import table_digest
from nashbed.controlplane.store.documents import read_document
from nashbed.controlplane.store.errors import DiskFullError
from nashbed.controlplane.store.postcards import POSTCARDS
from nashbed.controlplane.store.sealed_trial import open_trial
from nashbed.controlplane.store.tables import COUNTERS, TABLES
from nashbed.controlplane.study.adaptive import make_chooser
from tests.fakes.session import FakeSession
from tests.fakes.traffic import stream_bytes
from tests.support.damage import forget_digests
from tests.unit.controlplane.conftest import TESTBED, MakeRun, new_run_in

USUAL = {
    table.name: table.without_marks().without_queues().schema for table in (POSTCARDS, COUNTERS)
}
"""Of a trial in which nothing can be marked, with one queue."""

pytestmark = pytest.mark.slow

ONE_ATTEMPT = "sweep: {mixes: [1]}\nmax_attempts: 1"
UNSTAMPED = TESTBED.replace("af_xdp", "af_packet")
MS = 10**6


def run_fake(run: ActiveRun) -> tuple[list[TrialRecord], FakeSession]:
    """Run everything with the fakes; nothing of them may be left."""
    session = FakeSession()
    try:
        records = execute(
            run, lambda snapshot: None, ThisMachine(lambda r: session, lambda _: Path("x"))
        )
    finally:
        assert session.calls[-1] == "close"
        assert all(process.poll() is not None for process in session.processes)
        assert list(run.directory.trials.glob(".*")) == []
    return records, session


def failed_gates(record: TrialRecord) -> list[str]:
    return [gate.name for gate in record.gates if not gate.passed]


@dataclass(frozen=True)
class Finished:
    """A run that has ended. Read only."""

    run: ActiveRun
    records: list[TrialRecord]
    session: FakeSession


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    run = new_run_in(tmp_path_factory.mktemp("finished"))
    return Finished(run, *run_fake(run))


def test_a_whole_run_is_valid_and_sealed(finished: Finished) -> None:
    run, records, session = finished.run, finished.records, finished.session
    assert [r.id for r in records] == [f"b2bdp-k0{k}-r0-a0" for k in (0, 1, 3)]
    assert [r.invalid_reasons for r in records] == [(), (), ()]
    assert all(r.valid for r in records)
    assert session.calls[:3] == ["open", "start dataplane", "connect_hosts"]
    assert run.directory.read("manifest.json", Manifest).status == "complete"


def test_a_run_of_several_queues_says_what_was_applied(make_run: MakeRun) -> None:
    queues = "queues: [{name: fast, flows: [bbr], weight: 3, limit: 0.5bdp}, {name: rest}]"
    shared = "shared_buffer: {dynamic_threshold: {alpha: 2}}"
    run = make_run("buffer: 2bdp", f"buffer: 2bdp, {queues}, {shared}")
    records, _ = run_fake(run)
    assert [r.id for r in records] == [f"b2bdp-k0{k}-r0-a0" for k in (0, 1, 3)]
    for record in records:
        applied = record.applied.queues
        assert applied is not None
        assert (applied.scheduler, applied.memory.model_dump()) == (
            "drr",
            {"name": "dynamic_threshold", "alpha": 2.0},
        )
        assert [(q.name, q.takes, q.limit_bytes, q.weight) for q in applied.queues] == [
            ("fast", ("bbr",), 62_500, 3),
            ("rest", (), 0, 1),
        ]
        assert record.setting.queues == applied


def test_the_tables_follow_the_contract(finished: Finished) -> None:
    folder = finished.run.directory.trials / "b2bdp-k01-r0-a0"
    names = {path.name for path in folder.iterdir()}
    not_used = {"bins", "segments", "datagrams", "transfers", "return_queue"}
    tables = {name for name in TABLES if name not in not_used}
    assert names == {f"{name}.parquet" for name in tables} | {
        "trial.json", "sender.json", "sink.json", "SHA256SUMS",
    }  # fmt: skip
    for name in tables:
        schema = USUAL.get(name, TABLES[name])
        assert pq.read_schema(folder / f"{name}.parquet").equals(schema), name
    flows = pq.read_table(folder / "flows.parquet").to_pydict()
    assert flows["cc"] == flows["cc_applied"] == ["cubic", "cubic", "bbr"]
    assert flows["sink_bytes"] == [stream_bytes()] * 3
    samples = pq.read_table(folder / "flow_samples.parquet").to_pydict()
    assert samples["bbr_pacing_gain"] == [None] * 4 + [1.25] * 2
    cards = pq.read_table(folder / "postcards.parquet").to_pydict()
    assert set(cards["flow"]) == {0, 1, 2}
    assert -1e9 < cards["enqueue_ns"][0] < 0 < cards["enqueue_ns"][-1]
    digests = read_document(folder / "trial.json", TrialRecord, "").digests
    assert digests is not None
    assert digests.tables == {name: table_digest(folder / f"{name}.parquet") for name in tables}
    assert set(digests.facts) == {"applied", "ready", "sender", "sink", "lane", "losses"}


@pytest.mark.parametrize(
    ("kind", "fault", "gate"),
    [
        ("FLOWS", "wrong_cc", "congestion_control"),
        ("FLOWS", "short", "flows_overlapped"),
        ("FLOWS", "sink_loss", "sink_bytes"),
        ("DATAPLANE", "held_up", "round_trips"),
        ("DATAPLANE", "stalled", "responses"),
        ("DATAPLANE", "forgotten", "round_trips"),
        ("DATAPLANE", "ring_loss", "no_other_loss"),
    ],
)
def test_each_gate_finds_its_fault_and_the_trial_is_kept(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, kind: str, fault: str, gate: str
) -> None:
    monkeypatch.setenv(f"FAKE_{kind}", fault)
    records, _ = run_fake(make_run("sweep: {mixes: [0, 1, 3]}", ONE_ATTEMPT))
    assert [r.id for r in records] == ["b2bdp-k01-r0-a0"]
    assert not records[0].valid
    assert failed_gates(records[0]) == [gate]
    assert records[0].invalid_reasons[0].startswith(f"{gate}: ")


def test_what_held_frames_up_is_kept_with_the_trial(make_run: MakeRun) -> None:
    """The fake is 1 us too late for 50 returns in each 100 ms, and pauses for 1 ms once.

    From 1 ms before the start its bins of 100 ms begin at -1, 99, 199 and 299 ms, and the one at
    399 ms; the window is 100 to 400 ms, so that four of them overlap it.
    """
    run = make_run("sweep: {mixes: [0, 1, 3]}", ONE_ATTEMPT)
    records, _ = run_fake(run)
    found = records[0].disturbance
    assert records[0].valid
    assert found is not None
    assert (found.returns, found.error_mean_ns, found.error_max_ns) == (200, 20.0, 500)
    assert (found.departures, found.late_mean_ns, found.late_max_ns) == (400, 200.0, 5000)
    assert (found.responses, found.response_mean_ns) == (40, 20_000.0)
    assert (found.pauses, found.paused_ns, found.longest_pause_ns, found.lost) == (1, MS, MS, 0)
    assert 10 * MS < found.round_trip_ns < 100 * MS
    assert records[0].marks == ()
    sealed = open_trial(run.directory.trials / records[0].id)
    assert len(sealed.arrays("disturbances")["t_ns"]) == 5
    assert sealed.arrays("pauses")["length_ns"].tolist() == [MS]


@pytest.mark.parametrize(
    ("testbed", "failed"), [(TESTBED, ["paused"]), (UNSTAMPED, ["paused", "loop_gap"])]
)
def test_a_long_pause_of_the_loop_also_judges_arrivals_that_nothing_stamps(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, testbed: str, failed: list[str]
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "gap")
    run = make_run("sweep: {mixes: [0, 1, 3]}", ONE_ATTEMPT)
    records, _ = run_fake(replace(run, testbed=parse_testbed(testbed, "fake.yaml")))
    assert failed_gates(records[0]) == failed


def test_a_lost_postcard_is_seen_by_every_exact_gate(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "lost_postcard")
    records, _ = run_fake(make_run("sweep: {mixes: [0, 1, 3]}", ONE_ATTEMPT))
    assert {"postcards_complete", "conservation"} <= set(failed_gates(records[0]))


def test_an_invalid_trial_is_repeated_with_another_seed(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FLOWS", "wrong_cc")
    records, _ = run_fake(make_run("[0, 1, 3]", "[1]"))
    assert [r.id for r in records] == [f"b2bdp-k01-r0-a{n}" for n in range(3)]
    assert not any(r.valid for r in records)
    assert len({r.seed for r in records}) == 3


def test_a_flow_that_does_not_connect_is_tried_again_and_ends_the_run(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FLOWS", "no_connect")
    run = make_run("[0, 1, 3]", "[1]")
    with pytest.raises(HostError, match="flow 0: connection timed out"):
        run_fake(run)
    assert run.directory.read("manifest.json", Manifest).status == "failed"
    assert run.directory.log.read_text().count("trial b2bdp-k01-r0-a0: restore") == 3
    assert [failure.repeated for failure in run.directory.failures()] == [True, True, False]


def test_a_dead_data_plane_ends_the_run_with_its_last_words(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DATAPLANE", "dies")
    with pytest.raises(NashbedError) as caught:
        run = make_run("[0, 1, 3]", "[0, 1, 2, 3]")
        run_fake(run)
    assert isinstance(caught.value, TargetError)
    assert "dying as asked" in caught.value.message


def test_a_lane_without_a_thread_ends_the_run_for_that(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("lane-"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run_fake(make_run())


def test_a_full_disk_ends_the_run_and_it_can_be_resumed(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    monkeypatch.setenv("FAKE_DATAPLANE", "disk_full")
    with pytest.raises(DiskFullError, match="the disk is full; free some space, then"):
        run_fake(run)
    monkeypatch.delenv("FAKE_DATAPLANE")
    records, _ = run_fake(resumed_run(run.directory.path, make_chooser))
    assert [r.valid for r in records] == [True] * 3


class OnlyTheFirst:
    """Work that ends after its first job."""

    def __init__(self, work: Work) -> None:
        self.total = self.finished = 1
        self._first = work.start()[:1]

    def start(self) -> list[Job]:
        return self._first

    def ended(self, job: Job, valid: bool) -> list[Job]:
        return []


def test_resume_keeps_finished_trials(make_run: MakeRun) -> None:
    run = make_run()
    all_jobs = run.work.start()
    run.work = OnlyTheFirst(run.work)
    kept, _ = run_fake(run)
    before = (run.directory.trials / kept[0].id / "trial.json").read_bytes()
    again = resumed_run(run.directory.path, make_chooser)
    assert [job.trial.key for job in again.work.start()] == [job.trial.key for job in all_jobs[1:]]
    records, _ = run_fake(again)
    assert len(records) == 3
    assert (run.directory.trials / kept[0].id / "trial.json").read_bytes() == before


def test_resume_of_a_finished_run_does_nothing(finished: Finished) -> None:
    again = resumed_run(finished.run.directory.path, make_chooser)
    assert again.work.start() == []
    records = execute(again, lambda s: None, ThisMachine(lambda r: pytest.fail("not needed")))
    assert [r.id for r in records] == [r.id for r in finished.records]


def test_used_up_attempts_are_not_tried_again_on_resume(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FLOWS", "wrong_cc")
    run = make_run("sweep: {mixes: [0, 1, 3]}", ONE_ATTEMPT)
    records, _ = run_fake(run)
    assert [r.id for r in records] == ["b2bdp-k01-r0-a0"]
    assert resumed_run(run.directory.path, make_chooser).work.start() == []


DAMAGES = (
    ("{", "is damaged"),
    ("", "is damaged"),
    ('{"format": 2}', r"is damaged \(id: Field required\)"),
    ('{"format": 1}', "has format 1, this version reads 2; use the version that wrote it, or"),
    ("{}", "has no format number, this version reads 2"),
    ("[]", r"is damaged \(it is not a JSON object\)"),
    ("\x00\xff", "is damaged"),
)


def test_a_damaged_trial_is_one_clear_line(make_run: MakeRun) -> None:
    run = make_run("[0, 1, 3]", "[1]")
    run_fake(run)
    forget_digests(run.directory.path)
    for damage, problem in DAMAGES:
        (run.directory.trials / "b2bdp-k01-r0-a0" / "trial.json").write_text(damage)
        with pytest.raises(ConfigError, match=rf"trial\.json: {problem}.*move .* away") as caught:
            resumed_run(run.directory.path, make_chooser)
        assert "\n" not in caught.value.message


def test_a_changed_scenario_is_refused_on_resume(make_run: MakeRun) -> None:
    run = make_run()
    path = run.directory.path / "scenario.yaml"
    path.write_text(path.read_text().replace("400ms", "500ms"))
    with pytest.raises(ConfigError, match=r"scenario\.yaml: was changed after the run started"):
        resumed_run(run.directory.path, make_chooser)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"not a run directory \(manifest\.json is missing\)"):
        resumed_run(tmp_path, make_chooser)
    with pytest.raises(ConfigError, match="no such run directory"):
        resumed_run(tmp_path / "none", make_chooser)


def test_binned_scenarios_say_what_they_cannot_judge(make_run: MakeRun) -> None:
    run = make_run(
        "sweep: {mixes: [0, 1, 3]}", "sweep: {mixes: [1]}\ntelemetry: {postcards: {bins: 10ms}}"
    )
    records, _ = run_fake(run)
    by_name = {gate.name: gate for gate in records[0].gates}
    assert records[0].valid
    assert records[0].postcards == "bins"
    assert by_name["link_busy"].value is None
    assert by_name["link_busy"].detail == "not judged: needs all postcards"
    assert by_name["sink_bytes"].detail == "within bounds from the registers"


def test_the_log_tells_every_step_in_order(finished: Finished) -> None:
    log = finished.run.directory.log.read_text()
    steps = [line.rpartition(": ")[2] for line in log.splitlines() if "trial b2bdp-k01" in line]
    assert steps == [
        "validate", "prepare", "program", "start flows", "run", "stop", "restore", "collect",
        "seal",
    ]  # fmt: skip


def test_the_manifest_says_what_was_applied(finished: Finished) -> None:
    manifest = json.loads((finished.run.directory.path / "manifest.json").read_text())
    assert manifest["applied"]["b2bdp"]["rate_bps"] == 100_000_000
    assert manifest["applied"]["b2bdp"]["limit"] == {
        "unit": "bytes", "value": 250_000, "cell_bytes": 0,
    }  # fmt: skip
    assert manifest["sysctls"] == {"net.ipv4.tcp_ecn": "0"}
    assert manifest["software"]["dataplane"] == "fake"
    assert manifest["kernel"].startswith(os.uname().release)


@pytest.mark.parametrize(
    ("capture", "files"), [("true", ["capture.pcap"]), ("both", ["behind.pcap", "capture.pcap"])]
)
def test_captures_on_one_side_or_both(make_run: MakeRun, capture: str, files: list[str]) -> None:
    wanted = f"{ONE_ATTEMPT}\ntelemetry: {{capture: {capture}}}"
    run = make_run("sweep: {mixes: [0, 1, 3]}", wanted)
    _, session = run_fake(run)
    (folder,) = run.directory.trials.iterdir()
    assert sorted(path.name for path in folder.glob("*.pcap")) == files
    started = [call for call in session.calls if call.startswith("start capture")]
    sides = {"capture.pcap": "snd", "behind.pcap": "rcv"}
    assert sorted(started) == sorted(f"start capture of lane 0 ({sides[f]})" for f in files)
    manifest = run.directory.read("manifest.json", Manifest)
    assert manifest.host["ptp"]["state"] in ("absent", "running", "synchronised")
