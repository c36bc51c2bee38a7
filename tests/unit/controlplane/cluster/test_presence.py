"""What becomes of a run on its workers when its client dies without a word."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import distributed
import pytest
from distributed.comm import CommClosedError
from nashbed.controlplane.cluster import plugin as plugin_module
from nashbed.controlplane.cluster.bundle import bundle_of
from nashbed.controlplane.cluster.plugin import RunOnWorker
from nashbed.controlplane.cluster.presence import client_is_there, is_gone
from nashbed.controlplane.cluster.request import RunBundle
from nashbed.controlplane.cluster.testbed_workplace import TestbedWorkplace
from nashbed.controlplane.contract.errors import HostError
from tests.fakes.session import FakeSession
from tests.unit.controlplane.cluster.conftest import Bed, MakeVirtualRun
from tests.unit.controlplane.cluster.test_testbed_workplace import OWN, FakeMachine
from tests.unit.controlplane.conftest import MakeRun

MakeBed = Callable[..., Bed]
PATIENCE_S = 30.0


class Mortal:
    """A client with a run, which can die.

    Args:
        bed: The cluster.
        bundle: The run.
    """

    def __init__(self, bed: Bed, bundle: RunBundle) -> None:
        connect: Any = distributed.Client
        self.client = connect(bed.cluster.scheduler_address, set_as_default=False)
        self._stack = ExitStack()
        key = self._stack.enter_context(client_is_there(self.client, bundle.run))
        self.plugin = RunOnWorker(bundle.model_dump_json(), key)
        self.client.register_plugin(self.plugin)

    def die(self) -> None:
        """The scheduler sees the end of its connection, as it does of a process that was killed."""
        self.client.loop.add_callback(self.client.scheduler_comm.comm.abort)

    def bury(self) -> None:
        self._stack.close()
        self.client.close()


def worker_of(bed: Bed) -> Any:
    (worker,) = bed.cluster.workers.values()
    return worker


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Workers that look for their client all the time; what each look has found."""
    found: list[bool] = []

    async def look(worker: Any, key: str) -> bool:
        found.append(await is_gone(worker, key))
        return found[-1]

    monkeypatch.setattr(plugin_module, "LOOK_EVERY_S", 0.02)
    monkeypatch.setattr(plugin_module, "is_gone", look)
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


def test_a_scheduler_that_goes_before_a_run_begins_is_said_in_a_line(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(plugin: object) -> None:
        raise CommClosedError("in: Stream is closed")

    bed = make_bed(1)
    monkeypatch.setattr(bed.client, "register_plugin", gone)
    with pytest.raises(HostError, match="the cluster's scheduler is gone"):
        bed.run(make_virtual_run())
