"""Where workers run trials: on a real testbed with a fake machine, and in fake guests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from nashbed.controlplane.cluster.plugin import misplaced
from nashbed.controlplane.cluster.request import RunBundle, TrialAssignment, bundle_of
from nashbed.controlplane.cluster.workplace import Machine, TestbedWorkplace, VirtualWorkplace
from nashbed.controlplane.contract.errors import ConfigError, HostError, InternalError, NashbedError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.run.manifest import with_testbed
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.run_directory import check_manifest, keep_testbed
from tests.fakes.guest_session import FakeGuestSession
from tests.fakes.session import FakeSession
from tests.unit.controlplane.cluster.conftest import MakeVirtualRun
from tests.unit.controlplane.conftest import TESTBED, MakeRun

OWN = TESTBED.replace("name: fake", "name: own")


class FakeMachine:
    def __init__(self) -> None:
        self.session = FakeSession()
        self.told: list[str] = []
        self.threads: set[str] = set()

    @contextmanager
    def reserve(self, what: str) -> Iterator[None]:
        self.told.append(what)
        self.threads.add(threading.current_thread().name)
        yield
        self.told.append("given back")

    @property
    def parts(self) -> Machine:
        return Machine(
            lambda request: self.session,
            lambda testbed: Path("x"),
            lambda *checked: None,
            self.reserve,
        )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return path


@pytest.mark.slow
def test_a_testbed_runs_trials_and_gives_its_machine_back(
    make_run: MakeRun, tmp_path: Path, file: Path
) -> None:
    run, machine = make_run(), FakeMachine()
    bundle, folder = bundle_of(run), tmp_path / "work"
    workplace = TestbedWorkplace(bundle, folder, file, machine.parts)
    try:
        assert workplace.seats(8) == 2  # 250 Mbit/s carry two of 100 Mbit/s
        request = TrialAssignment(run=bundle.run, trial=run.plan.trials[0], attempt=0)
        sealed = workplace.run(request)
        assert sealed.record.valid, sealed.record.invalid_reasons
        assert sealed.record.id == request.trial.attempt_id(0)
        with pytest.raises(HostError, match="testbed own is another run's"):
            TestbedWorkplace(bundle, tmp_path / "second", file, FakeMachine().parts)
    finally:
        workplace.close()
    assert (workplace.ran_on.testbed, workplace.ran_on.certificate) == ("own", "none")
    assert workplace.offer.text == OWN
    assert machine.told == [f"the run {run.directory.path.name} of a cluster", "given back"]
    assert threading.current_thread().name not in machine.threads
    assert machine.session.calls[-1] == "close"
    assert not folder.exists()


def test_what_a_testbed_cannot_do_is_said_at_once(
    make_run: MakeRun, tmp_path: Path, file: Path
) -> None:
    file.write_text(OWN.replace("250mbit", "50mbit"))
    with pytest.raises(NashbedError, match="50"):
        TestbedWorkplace(bundle_of(make_run()), tmp_path / "work", file, FakeMachine().parts)


def test_two_testbeds_of_one_name_are_refused(
    make_run: MakeRun, tmp_path: Path, file: Path
) -> None:
    run, machine = make_run(), FakeMachine()
    workplace = TestbedWorkplace(bundle_of(run), tmp_path / "work", file, machine.parts)
    workplace.close()
    facts = workplace.offer.facts
    manifest = with_testbed(run.manifest, "own", facts)
    elsewhere = facts.model_copy(update={"hosts": ("elsewhere",)})
    assert with_testbed(manifest, "own", elsewhere).testbeds["own"].hosts == (
        *facts.hosts,
        "elsewhere",
    )
    with pytest.raises(ConfigError, match="give each testbed file a name of its own"):
        with_testbed(manifest, "own", facts.model_copy(update={"testbed_digest": "00" * 32}))
    run.directory.write("manifest.json", manifest)
    keep_testbed(run.directory, "own", workplace.offer.text)
    check_manifest(run.directory, run.scenario, run.testbed)
    run.directory.testbed("own").write_text("name: another\n")
    with pytest.raises(RunError, match="was changed after trials ran on it"):
        check_manifest(run.directory, run.scenario, run.testbed)


def test_real_and_virtual_time_do_not_meet(testbed: Testbed) -> None:
    virtual = Testbed(name="virtual", target="virtual")
    assert misplaced(testbed, Path("own.yaml")) == misplaced(virtual, None) == ""
    assert "nashbed worker ADDRESS --testbed FILE" in misplaced(testbed, None)
    assert "the run is in virtual time" in misplaced(virtual, Path("own.yaml"))


class Place:
    """A workplace with fakes, and the sessions that it asked for."""

    def __init__(self, bundle: RunBundle, folder: Path) -> None:
        self.requests: list[SessionRequest] = []
        self.sessions: list[FakeGuestSession] = []
        self.place = VirtualWorkplace(bundle, folder, self._session, lambda _: Path("x"))

    def _session(self, request: SessionRequest) -> FakeGuestSession:
        self.requests.append(request)
        self.sessions.append(FakeGuestSession(request.core))
        return self.sessions[-1]


@pytest.mark.slow
def test_the_workers_session_has_the_cca(
    make_virtual_run: MakeVirtualRun, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nashbed.controlplane.cluster.workplace.claim_core", lambda: 1)
    run = make_virtual_run("bbr]", "./mycc.c]")
    bundle = bundle_of(run)
    worker = Place(RunBundle.model_validate_json(bundle.model_dump_json()), tmp_path / "work")
    try:
        request = TrialAssignment(run=bundle.run, trial=run.plan.trials[0], attempt=0)
        sealed = worker.place.run(request)
        assert sealed.record.valid, sealed.record.invalid_reasons
        (asked,) = worker.requests
        assert [c.digest for c in asked.ccas] == [CCA.read(own).digest]
        assert (asked.lanes, asked.core, asked.window_bytes) == (1, 1, bundle.window_bytes)
    finally:
        worker.place.close()


def test_a_worker_whose_programs_are_others_is_refused(
    make_virtual_run: MakeVirtualRun, tmp_path: Path
) -> None:
    described = tmp_path / "mine.yaml"
    described.write_text(
        "{title: Mine, transport: udp, sender: client, server: [/bin/cat], client: [/bin/cat]}\n"
    )
    bundle = bundle_of(make_virtual_run("bbr]", f"{{program: {described}}}]"))
    assert "cat" in bundle.programs
    Place(bundle, tmp_path / "same").place.close()
    other = bundle.model_copy(update={"programs": bundle.programs | {"cat": "0" * 64}})
    with pytest.raises(HostError, match="its cat differ from the client's"):
        Place(other, tmp_path / "other")


@pytest.mark.slow
def test_each_thread_has_a_session_and_none_comes_after_the_end(
    make_virtual_run: MakeVirtualRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nashbed.controlplane.cluster.workplace.claim_core", lambda: None)
    run = make_virtual_run()
    bundle = bundle_of(run)
    worker = Place(bundle, tmp_path / "work")
    requests = [TrialAssignment(run=bundle.run, trial=t, attempt=0) for t in run.plan.trials]
    try:
        for request in requests[:2]:
            worker.place.run(request)
        assert len(worker.sessions) == 1
        other = threading.Thread(target=worker.place.run, args=(requests[2],))
        other.start()
        other.join()
        assert len(worker.sessions) == 2
    finally:
        worker.place.close()
    assert [session.calls[-1] for session in worker.sessions] == ["close", "close"]
    assert not (tmp_path / "work").exists()
    with pytest.raises(InternalError, match="the run has left this worker"):
        worker.place.run(requests[0])


def test_a_session_that_is_being_opened_at_the_end_is_closed(
    make_virtual_run: MakeVirtualRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_virtual_run()
    bundle = bundle_of(run)
    worker = Place(bundle, tmp_path / "work")

    def close_meanwhile() -> None:
        worker.place.close()

    monkeypatch.setattr("nashbed.controlplane.cluster.workplace.claim_core", close_meanwhile)
    with pytest.raises(InternalError, match="the run has left this worker"):
        worker.place.run(TrialAssignment(run=bundle.run, trial=run.plan.trials[0], attempt=0))
    (session,) = worker.sessions
    assert session.calls[-1] == "close"
