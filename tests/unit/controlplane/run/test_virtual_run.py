"""Whole runs in virtual time against the fakes: a session for each lane, lane 0 everywhere."""

import os
from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import HostError, PrerequisiteError
from nashbed.controlplane.contract.manifest import GuestKernelFacts, Manifest
from nashbed.controlplane.contract.scenario_keys import Hosts
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.machine.c_files import kept as cca_module
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.run import manifest as manifest_module
from nashbed.controlplane.run.active_run import ActiveRun, new_run, resumed_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.run.work import PlannedWork
from nashbed.controlplane.study.adaptive import make_chooser
from nashbed.controlplane.targets.virtual import virtual_capabilities
from tests.fakes.guest_session import FakeGuestSession
from tests.unit.controlplane.conftest import SCENARIO

pytestmark = pytest.mark.slow

TESTBED = "name: virtual\ntarget: virtual\ncapacity: {rate: 1gbit, lanes: 2}\n"
KERNEL = GuestKernel("6.1.176", "linux-source-6.1 6.1.176-1", "d", Path("linux"), "b")
FACTS = GuestKernelFacts(
    release="6.1.176", package="linux-source-6.1 6.1.176-1", digest="d", binary_digest="b"
)
TOO_SMALL = HostError("/dev/shm: too small")


class Sessions:
    """Makes the sessions of a run.

    Args:
        broken: The session that cannot be opened, counted from 0; None: all can.
        error: Why it cannot.
        times: How often it cannot.
    """

    def __init__(
        self, broken: int | None = None, error: HostError = TOO_SMALL, times: int = 1
    ) -> None:
        self.made: list[FakeGuestSession] = []
        self.requests: list[SessionRequest] = []
        self.broken = broken
        self.error = error
        self.times = times

    def __call__(self, request: SessionRequest) -> FakeGuestSession:
        if len(self.made) == self.broken and self.times:
            self.times -= 1
            raise self.error
        self.requests.append(request)
        self.made.append(FakeGuestSession(request.core))
        return self.made[-1]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (manifest_module, cca_module):
        monkeypatch.setattr(module, "find_kernel", lambda wanted: KERNEL)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})


@pytest.fixture
def virtual_run(tmp_path: Path) -> ActiveRun:
    scenario, bed = parse_scenario(SCENARIO, "small.yaml"), parse_testbed(TESTBED, "virtual.yaml")
    plan = make_plan(scenario.model, bed.model, virtual_capabilities())
    return new_run(tmp_path / "results", scenario, bed, plan, make_chooser)


def run_fake(run: ActiveRun, sessions: Sessions) -> list[TrialRecord]:
    try:
        return execute(run, lambda _: None, ThisMachine(sessions, lambda _: Path("x")))
    finally:
        for session in sessions.made:
            assert session.calls[-1] == "close"
            assert all(process.poll() is not None for process in session.processes)


def test_every_lane_has_a_session_and_every_trial_a_guest(tmp_path: Path) -> None:
    """Each session is told what the hosts are to be; the manifest, what repeats the run."""
    wanted = "hosts: {wmem_max: 4MiB, rmem_max: 6MiB}\nstart_jitter:"
    scenario = parse_scenario(SCENARIO.replace("start_jitter:", wanted), "small.yaml")
    bed = parse_testbed(TESTBED, "virtual.yaml")
    plan = make_plan(scenario.model, bed.model, virtual_capabilities())
    run, sessions = new_run(tmp_path / "results", scenario, bed, plan, make_chooser), Sessions()
    records = run_fake(run, sessions)
    ubuntu = Hosts(wmem_max=Size(4 * 2**20), rmem_max=Size(6 * 2**20))
    assert [request.hosts for request in sessions.requests] == [ubuntu] * 2
    assert [record.invalid_reasons for record in records] == [(), (), ()]
    assert {record.lane for record in records} == {0}
    assert [(each.lanes, each.core) for each in sessions.requests] == [(1, 0), (1, 1)]
    boots = [boot for session in sessions.made for boot in session.boots]
    assert boots.count((0, "")) == 2  # what each lab runs is asked once
    seeds = {seed for seed, _ in boots} - {0}
    assert len(seeds) == len(records) == len(boots) - 2
    gates = {gate.name: gate for gate in records[0].gates}
    assert (gates["lateness"].limit, gates["loop_gap"].limit) == (0, 0)
    manifest = run.directory.read("manifest.json", Manifest)
    assert manifest.repeatable
    assert manifest.guest_kernels == {"": FACTS}


def test_a_run_does_not_go_on_with_another_kernel(
    virtual_run: ActiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = virtual_run.manifest.model_copy(update={"guest_kernels": {"": FACTS}})
    virtual_run.directory.write("manifest.json", manifest)
    other = GuestKernel("6.1.180", "linux-source-6.1 6.1.180-1", "e", Path("linux"), "c")
    monkeypatch.setattr(manifest_module, "find_kernel", lambda wanted: other)
    again = resumed_run(virtual_run.directory.path, make_chooser)
    with pytest.raises(HostError, match=r"began with kernel 6\.1\.176 \(b\), and now there is"):
        run_fake(again, Sessions())


def test_a_run_does_not_go_on_with_other_programs_than_it_began_with(
    virtual_run: ActiveRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = {"nashbed-flows": "f" * 64, "libc.so.6": "c" * 64, "bottleneck.so": "b" * 64}
    monkeypatch.setattr(manifest_module, "guest_programs", lambda: began)
    run_fake(virtual_run, Sessions())
    assert virtual_run.directory.read("manifest.json", Manifest).guest_programs == began
    now = began | {"libc.so.6": "0" * 64, "bottleneck.so": "0" * 64}
    monkeypatch.setattr(manifest_module, "guest_programs", lambda: now)
    manifest = virtual_run.directory.read("manifest.json", Manifest)
    with pytest.raises(HostError, match=r"began with another libc\.so\.6: results may depend"):
        manifest_module.with_programs(manifest, virtual_run.scenario.model, is_virtual=True)


def test_a_first_session_that_does_not_open_is_tried_again(virtual_run: ActiveRun) -> None:
    assert len(run_fake(virtual_run, Sessions(broken=0, times=2))) == 3


@pytest.mark.parametrize(
    ("error", "times"), [(TOO_SMALL, 3), (PrerequisiteError("no process may be traced"), 1)]
)
def test_a_first_session_that_never_opens_ends_the_run(
    virtual_run: ActiveRun, error: HostError, times: int
) -> None:
    sessions = Sessions(broken=0, error=error, times=times)
    with pytest.raises(HostError, match=error.message):
        run_fake(virtual_run, sessions)
    assert (sessions.made, sessions.times) == ([], 0)
    assert virtual_run.directory.read("manifest.json", Manifest).status == "failed"


def test_a_trial_whose_session_does_not_open_is_tried_again(virtual_run: ActiveRun) -> None:
    records = run_fake(virtual_run, Sessions(broken=1))
    assert isinstance(virtual_run.work, PlannedWork)
    assert virtual_run.work.finished == 3
    assert [record.attempt for record in records] == [0, 0, 0]
    (failure,) = virtual_run.directory.failures()
    assert (failure.reason, failure.repeated) == ("/dev/shm: too small", True)
    assert all(record.valid for record in records)
