"""Runs on a Dask cluster within this process, whose workers have the fakes instead of guests."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import distributed
import pytest
from nashbed.controlplane.cluster import on_cluster as on_cluster_module
from nashbed.controlplane.cluster import plugin as plugin_module
from nashbed.controlplane.cluster import workplace as workplace_module
from nashbed.controlplane.cluster.on_cluster import OnCluster, Task
from nashbed.controlplane.cluster.request import RunBundle
from nashbed.controlplane.cluster.starting import configured_dask
from nashbed.controlplane.cluster.worker import run_trial
from nashbed.controlplane.cluster.workplace import VirtualWorkplace
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.run.active_run import ActiveRun, new_run
from nashbed.controlplane.run.progress import OnProgress
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.study.adaptive import make_chooser
from nashbed.controlplane.targets.virtual import virtual_capabilities
from tests.fakes.guest_session import FakeGuestSession
from tests.support.cached_kernels import put_kernel
from tests.unit.controlplane.conftest import SCENARIO

TESTBED = "name: virtual\ntarget: virtual\ncapacity: {rate: 1gbit, lanes: 2}\n"
RELEASE = "6.1.176"
MINE = '#include "cc.h"\n#include "parts/more.h"\n'
MakeVirtualRun = Callable[..., ActiveRun]
MakeBed = Callable[..., "Bed"]


@dataclass
class Bed:
    """A cluster of workers with fakes, and what they did.

    Attributes:
        sessions: Those that workers have made.
        workplaces: Those that workers have made, in this order.
        make_session: Makes one; tests put another in its place.
        make_workplace: Makes one; tests put another in its place.
        task: What workers do with a trial.
        shared: Folder for large tables.
    """

    cluster: Any = None
    client: Any = None
    said: list[str] = field(default_factory=list)
    sessions: list[FakeGuestSession] = field(default_factory=list)
    workplaces: list[VirtualWorkplace] = field(default_factory=list)
    make_session: Callable[[int | None], FakeGuestSession] = FakeGuestSession
    make_workplace: Callable[..., VirtualWorkplace] = VirtualWorkplace
    task: Task = run_trial
    shared: str = ""

    def session(self, request: SessionRequest) -> FakeGuestSession:
        self.sessions.append(self.make_session(request.core))
        return self.sessions[-1]

    def workplace(self, bundle: RunBundle, folder: Path) -> VirtualWorkplace:
        made = self.make_workplace(bundle, folder, self.session, lambda _: Path("x"))
        self.workplaces.append(made)
        return made

    def run(self, run: ActiveRun, on_progress: OnProgress = lambda _: None) -> list[TrialRecord]:
        """Run everything; whatever becomes of it, nothing of it is left running."""
        try:
            return execute(
                run,
                on_progress,
                OnCluster(self.client, self.said.append, shared=self.shared, task=self.task),
            )
        finally:
            assert list(run.directory.trials.glob(".*")) == []

    def require_ended(self) -> None:
        """Nothing that the workers started runs any more, and their folders are gone."""
        assert [session.calls[-1] for session in self.sessions] == ["close"] * len(self.sessions)
        ended = [process.poll() for session in self.sessions for process in session.processes]
        assert None not in ended
        assert not any(place.directory.path.exists() for place in self.workplaces)


@contextmanager
def dask_cluster(workers: int, folder: Path) -> Iterator[Any]:
    start: Any = distributed.LocalCluster  # Dask has no types
    with (
        configured_dask(),
        start(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            protocol="tcp://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            local_directory=str(folder),
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the only kernel of virtual time in the cache of client and workers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return put_kernel(RELEASE)


@pytest.fixture
def make_virtual_run(tmp_path: Path, kernel: Path) -> MakeVirtualRun:
    """Makes a run in virtual time from SCENARIO with some text replaced."""

    def make(old: str = "", new: str = "", results: str = "results") -> ActiveRun:
        scenario = parse_scenario(SCENARIO.replace(old, new), str(tmp_path / "small.yaml"))
        bed = parse_testbed(TESTBED, "virtual.yaml")
        plan = make_plan(scenario.model, bed.model, virtual_capabilities())
        return new_run(tmp_path / results, scenario, bed, plan, make_chooser)

    return make


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A CCA of the user's own beside the scenario, with an include of its own."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "more.h").write_text("int more;\n")
    (tmp_path / "mycc.c").write_text(MINE)
    return tmp_path / "mycc.c"


@pytest.fixture
def make_bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bed]]:
    """Starts clusters of so many workers."""
    monkeypatch.setattr(workplace_module, "claim_core", lambda: None)
    monkeypatch.setattr(on_cluster_module, "HOPELESS_S", 0.0)
    closing: list[Any] = []

    def make(workers: int = 2) -> Bed:
        bed = Bed()
        monkeypatch.setattr(plugin_module, "VirtualWorkplace", bed.workplace)
        context = dask_cluster(workers, Path(tempfile.mkdtemp(dir=tmp_path)))
        bed.cluster = context.__enter__()
        connect: Any = distributed.Client
        bed.client = connect(bed.cluster, set_as_default=False)
        closing.extend((bed.client.close, lambda: context.__exit__(None, None, None)))
        return bed

    yield make
    for close in closing:
        close()
