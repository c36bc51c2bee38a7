"""A run as its workers are told of it: a user's own congestion controls arrive as they are."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from nashbed.controlplane.cluster.bundle import bundle_of, run_name, unpacked_controls
from nashbed.controlplane.cluster.request import ControlSource, RunBundle, TrialAssignment
from nashbed.controlplane.cluster.workplace import Workplace
from nashbed.controlplane.contract.control import control_sources, read_control
from nashbed.controlplane.contract.errors import ConfigError, InternalError
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.paths import CONTROLS
from tests.fakes.guest_session import FakeGuestSession
from tests.unit.controlplane.cluster.conftest import MakeVirtualRun

MINE = '#include "cc.h"\n#include "parts/more.h"\n'


def travelled(bundle: RunBundle) -> RunBundle:
    return RunBundle.model_validate_json(bundle.model_dump_json())


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A control of the user's own beside the scenario, with an include of its own."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "more.h").write_text("int more;\n")
    (tmp_path / "mycc.c").write_text(MINE)
    return tmp_path / "mycc.c"


def test_what_is_told_survives_the_way(make_virtual_run: MakeVirtualRun) -> None:
    run = make_virtual_run()
    bundle = bundle_of(run, "/shared")
    assert travelled(bundle) == bundle
    assert (bundle.scenario, bundle.testbed) == (run.scenario.text, run.testbed.text)
    assert bundle.directory == run.directory.path.name
    assert bundle.run == run_name(run.directory.path)
    assert bundle.shared_folder == Path(f"/shared/{bundle.directory}-{bundle.run}")
    assert bundle_of(run).shared_folder is None


def test_runs_do_not_share_names_or_resources(make_virtual_run: MakeVirtualRun) -> None:
    one, other = bundle_of(make_virtual_run()), bundle_of(make_virtual_run(results="other"))
    assert one.run != other.run
    assert one.resource() != other.resource()
    changed = one.model_copy(update={"scenario": other.scenario + "\n"})
    assert changed.resource() != one.resource(), "a worker that was fit for one may not be for both"
    assert one.resource("lab") != one.resource()


def test_a_control_with_includes_arrives_with_its_digest(
    make_virtual_run: MakeVirtualRun, own: Path, tmp_path: Path
) -> None:
    run = make_virtual_run("bbr]", "./mycc.c]")
    (sent,) = travelled(bundle_of(run)).controls
    assert set(sent.files) == {"mycc.c", "parts/more.h"}, "shipped headers are there already"
    assert sent.digest == read_control(own, CONTROLS).digest
    (arrived,) = unpacked_controls([sent], tmp_path / "worker")
    assert (arrived.name, arrived.digest) == ("mycc", sent.digest)
    files = control_sources(arrived.source, CONTROLS)
    assert files["parts/more.h"] == tmp_path / "worker" / "mycc" / "parts" / "more.h"
    assert files["cc.h"] == CONTROLS / "cc.h"


def test_any_bytes_of_a_control_arrive(
    make_virtual_run: MakeVirtualRun, own: Path, tmp_path: Path
) -> None:
    """Line ends of Windows, and a name in Latin-1."""
    content = MINE.replace("\n", "\r\n").encode() + b"/* by J\xf6rg */\r\n"
    own.write_bytes(content)
    bundle = travelled(bundle_of(make_virtual_run("bbr]", "./mycc.c]")))
    (arrived,) = unpacked_controls(bundle.controls, tmp_path / "worker")
    assert arrived.source.read_bytes() == content
    assert arrived.digest == bundle.controls[0].digest


def test_a_shipped_control_does_not_travel(
    make_virtual_run: MakeVirtualRun, tmp_path: Path
) -> None:
    (sent,) = bundle_of(make_virtual_run("bbr]", "bbr3]")).controls
    assert sent.files == {}
    (arrived,) = unpacked_controls([sent], tmp_path)
    assert arrived.source == CONTROLS / "bbr3.c"
    with pytest.raises(ConfigError, match=r"^bbr3: the client has another version of it \(0{12}"):
        unpacked_controls([sent.model_copy(update={"digest": "0" * 64})], tmp_path)


@pytest.mark.parametrize("name", ["/tmp/mycc.c", "../mycc.c", "parts/../../mycc.c"])
def test_no_file_is_written_outside(tmp_path: Path, name: str) -> None:
    hostile = ControlSource(name="mycc", source="mycc.c", digest="0", files={name: "int x;"})
    with pytest.raises(ConfigError, match="stands outside its folder"):
        unpacked_controls([hostile], tmp_path / "a" / "b")
    assert [path for path in tmp_path.rglob("*.c") if path.is_file()] == []


class Place:
    """A workplace with fakes, and the sessions that it asked for."""

    def __init__(self, bundle: RunBundle, folder: Path) -> None:
        self.requests: list[SessionRequest] = []
        self.sessions: list[FakeGuestSession] = []
        self.place = Workplace(bundle, folder, self._session, lambda _: Path("x"))

    def _session(self, request: SessionRequest) -> FakeGuestSession:
        self.requests.append(request)
        self.sessions.append(FakeGuestSession(request.core))
        return self.sessions[-1]


@pytest.mark.slow
def test_the_workers_session_has_the_control(
    make_virtual_run: MakeVirtualRun, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nashbed.controlplane.cluster.workplace.claim_core", lambda: 1)
    run = make_virtual_run("bbr]", "./mycc.c]")
    bundle = bundle_of(run)
    worker = Place(travelled(bundle), tmp_path / "work")
    try:
        request = TrialAssignment(run=bundle.run, trial=run.plan.trials[0], attempt=0)
        sealed = worker.place.run(request)
        assert sealed.record.valid, sealed.record.invalid_reasons
        (asked,) = worker.requests
        assert [c.digest for c in asked.controls] == [read_control(own, CONTROLS).digest]
        assert (asked.lanes, asked.core, asked.window_bytes) == (1, 1, bundle.window_bytes)
    finally:
        worker.place.close()


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
