"""How a worker becomes one of a run: compared, given what it lacks, or refused."""

import pickle
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import distributed
import pytest
from distributed.comm import CommClosedError
from nashbed.controlplane.cluster import kernels as kernels_module
from nashbed.controlplane.cluster import on_cluster as on_cluster_module
from nashbed.controlplane.cluster import plugin as plugin_module
from nashbed.controlplane.cluster.identity import Identity, KernelIdentity, identity_here
from nashbed.controlplane.cluster.plugin import RunOnWorker, client_is_gone, plugin_name
from nashbed.controlplane.cluster.request import RunBundle, bundle_of
from nashbed.controlplane.cluster.roster import in_touch
from nashbed.controlplane.cluster.workplace import TestbedWorkplace
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.run.progress import Snapshot
from tests.fakes.session import FakeSession
from tests.unit.controlplane.cluster.conftest import RELEASE, Bed, MakeBed, MakeVirtualRun
from tests.unit.controlplane.cluster.test_workplace import OWN, FakeMachine
from tests.unit.controlplane.conftest import MakeRun

ONE = ("[0, 1, 3]", "[1]")


@pytest.fixture
def wanting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find that they lack the client's kernels."""
    monkeypatch.setattr(plugin_module, "lacking", lambda identity: list(identity.kernels))


def test_nothing_but_text_travels(make_virtual_run: MakeVirtualRun) -> None:
    bundle = bundle_of(make_virtual_run())
    plugin = RunOnWorker(bundle.model_dump_json(), "a key")
    assert plugin.__getstate__() == {"bundle": bundle.model_dump_json(), "client": "a key"}
    arrived = pickle.loads(pickle.dumps(plugin))
    assert (arrived.name, arrived.shared) == (plugin_name(bundle.run), None)


@pytest.mark.slow
def test_workers_that_come_later_take_part(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed = make_bed(0)

    def come(snapshot: Snapshot) -> None:
        if not bed.cluster.workers:
            bed.cluster.scale(1)

    assert [r.valid for r in bed.run(make_virtual_run(), come)] == [True] * 3
    assert len(bed.workplaces) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("wanting")
def test_a_worker_without_the_kernel_is_given_it_and_takes_part(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[KernelIdentity, bytes]] = []
    monkeypatch.setattr(kernels_module, "install_kernel", lambda *kernel: given.append(kernel))
    bed = make_bed(1)
    assert [r.valid for r in bed.run(make_virtual_run(*ONE))] == [True]
    assert [identity.release for identity, data in given] == [RELEASE]
    assert bed.said == [f"giving our kernels of virtual time to {socket.gethostname()}"]


@pytest.mark.long
@pytest.mark.slow
def test_a_machine_is_given_a_kernel_once(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[KernelIdentity, bytes]] = []

    def lacking(identity: Identity) -> list[KernelIdentity]:
        return [] if given else list(identity.kernels)

    monkeypatch.setattr(plugin_module, "lacking", lacking)
    monkeypatch.setattr(kernels_module, "install_kernel", lambda *kernel: given.append(kernel))
    bed = make_bed(2)
    assert [r.valid for r in bed.run(make_virtual_run())] == [True] * 3
    assert (len(given), len(bed.workplaces)) == (1, 2)


@pytest.mark.usefixtures("wanting")
def test_a_worker_that_differs_otherwise_is_given_no_kernel(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def here(*asked: Any) -> Identity:
        return identity_here(*asked).model_copy(update={"sources": "0" * 64})

    given: list[Any] = []
    monkeypatch.setattr(kernels_module, "install_kernel", lambda *kernel: given.append(kernel))
    monkeypatch.setattr(plugin_module, "identity_here", here)
    with pytest.raises(HostError, match=r"no worker takes part: it has nashbed .*000000000000"):
        make_bed(1).run(make_virtual_run(*ONE))
    assert given == []


@pytest.mark.usefixtures("wanting")
def test_a_worker_that_cannot_keep_the_kernel_is_refused(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*kernel: Any) -> None:
        raise HostError("the client's kernel came damaged: as a test")

    monkeypatch.setattr(kernels_module, "install_kernel", damaged)
    bed = make_bed(1)
    with pytest.raises(HostError, match="no worker takes part: the client's kernel came damaged"):
        bed.run(make_virtual_run(*ONE))
    assert bed.workplaces == []


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.usefixtures("wanting")
def test_a_worker_that_goes_while_it_is_given_a_kernel_does_not_end_the_run(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the client then gets is an OSError, as if the scheduler were gone."""
    failures = [OSError("the connection was closed")]

    def gone(*kernel: Any) -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(kernels_module, "install_kernel", gone)
    bed = make_bed(2)
    assert [r.valid for r in bed.run(make_virtual_run())] == [True] * 3
    assert len(bed.workplaces) == 1


@pytest.mark.slow
def test_a_fit_worker_that_comes_after_a_refused_one_runs_everything(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As jobs of a batch system do, or a killed one that comes back."""
    monkeypatch.setattr(on_cluster_module, "HOPELESS_S", 60.0)
    bed = make_bed(1)
    make_workplace, bed.make_workplace = bed.make_workplace, unfit

    def come(snapshot: Snapshot) -> None:
        if bed.said and len(bed.cluster.workers) == 1:
            bed.make_workplace = make_workplace
            bed.cluster.scale(2)

    assert [r.valid for r in bed.run(make_virtual_run(*ONE), come)] == [True]
    (line,) = bed.said
    assert "takes no part: it is unfit" in line


def unfit(*asked: Any) -> Any:
    raise HostError("it is unfit")


def test_a_worker_whose_kernel_has_changed_is_refused_with_that_message(
    make_bed: MakeBed,
    make_virtual_run: MakeVirtualRun,
    kernel: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def changed_meanwhile(identity: Identity) -> list[KernelIdentity]:
        (kernel / "linux").write_text("another program")
        return []

    monkeypatch.setattr(plugin_module, "lacking", changed_meanwhile)
    with pytest.raises(HostError, match=r"no worker takes part: .*linux: is damaged"):
        make_bed(1).run(make_virtual_run(*ONE))


PATIENCE_S = 30.0


class Mortal:
    """A client with a run, which can die."""

    def __init__(self, bed: Bed, bundle: RunBundle) -> None:
        connect: Any = distributed.Client
        self.client = connect(bed.cluster.scheduler_address, set_as_default=False)
        self._stack = ExitStack()
        key = self._stack.enter_context(in_touch(self.client, bundle.run, lambda event: None))
        self.plugin = RunOnWorker(bundle.model_dump_json(), key)
        self.client.register_plugin(self.plugin)

    def die(self) -> None:
        """The scheduler sees the end of its connection, as it does of a process that was killed."""
        self.client.loop.add_callback(self.client.scheduler_comm.comm.abort)

    def bury(self) -> None:
        self._stack.close()
        self.client.close()


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def worker_of(bed: Bed) -> Any:
    """The only one; the cluster lists it after the scheduler knows it."""
    wait_for(lambda: len(bed.cluster.workers) == 1)
    (worker,) = bed.cluster.workers.values()
    return worker


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Workers that look for their client all the time; what each look has found."""
    found: list[bool] = []

    async def look(worker: Any, key: str) -> bool:
        found.append(await client_is_gone(worker, key))
        return found[-1]

    monkeypatch.setattr(plugin_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(plugin_module, "client_is_gone", look)
    return found


def test_a_dead_clients_run_is_dropped_and_forgotten(
    watchful: list[bool], make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed, bundle = make_bed(1), bundle_of(make_virtual_run())
    mortal, worker = Mortal(bed, bundle), worker_of(bed)
    assert worker.state.total_resources[bundle.resource()] == 1
    (place,) = bed.workplaces
    assert place.directory.path.exists()
    wait_for(lambda: len(watchful) >= 10)
    assert not any(watchful)
    assert mortal.plugin.name in worker.plugins
    mortal.die()
    wait_for(lambda: mortal.plugin.name not in worker.plugins)
    wait_for(lambda: not place.directory.path.exists())
    assert worker.state.total_resources[bundle.resource()] == 0
    mortal.bury()


@pytest.mark.usefixtures("watchful")
def test_a_worker_that_comes_after_a_clients_death_keeps_nothing_for_it(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed = make_bed(0)
    mortal = Mortal(bed, bundle_of(make_virtual_run()))
    mortal.die()
    wait_for(lambda: "client" not in str(list(bed.cluster.scheduler.tasks)))
    bed.cluster.scale(1)
    bed.client.wait_for_workers(1)
    wait_for(lambda: mortal.plugin.name not in worker_of(bed).plugins)
    assert bed.workplaces == []
    mortal.bury()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.usefixtures("watchful")
def test_a_run_that_was_resumed_is_not_dropped_with_the_dead_one(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed, run = make_bed(1), make_virtual_run()
    mortal = Mortal(bed, bundle_of(run))
    mortal.die()
    assert [record.valid for record in bed.run(run)] == [True] * 3
    mortal.bury()


@pytest.mark.slow
def test_a_testbed_is_free_for_another_run_at_once(
    make_bed: MakeBed, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody looks now and then here: the second run that comes does."""
    file, machine = tmp_path / "own.yaml", FakeMachine()
    file.write_text(OWN)
    monkeypatch.setattr(plugin_module, "own_testbed", lambda: file)

    class OnFakes(TestbedWorkplace):
        def __init__(self, bundle: RunBundle, folder: Path, own: Path) -> None:
            machine.session = FakeSession()
            super().__init__(bundle, folder, own, machine.parts)

    monkeypatch.setattr(plugin_module, "TestbedWorkplace", OnFakes)
    bed, runs = make_bed(1), [bundle_of(make_run()) for _ in range(2)]
    first = Mortal(bed, runs[0])
    assert machine.told == [f"the run {runs[0].directory} of a cluster"]
    first.die()
    wait_for(lambda: "client" not in str(list(bed.cluster.scheduler.tasks)))
    second = Mortal(bed, runs[1])
    assert machine.told[1:] == ["given back", f"the run {runs[1].directory} of a cluster"]
    for each in (first, second):
        each.bury()


@pytest.mark.slow
def test_a_scheduler_that_goes_before_a_run_begins_is_said_in_a_line(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(plugin: object) -> None:
        raise CommClosedError("in: Stream is closed")

    bed = make_bed(1)
    monkeypatch.setattr(bed.client, "register_plugin", gone)
    with pytest.raises(HostError, match="the cluster's scheduler is gone"):
        bed.run(make_virtual_run())
