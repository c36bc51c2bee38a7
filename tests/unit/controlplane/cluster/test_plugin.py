"""How a worker becomes one of a run: compared, given what it lacks, or refused."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.cluster import plugin as plugin_module
from nashbed.controlplane.cluster import scheduler as scheduler_module
from nashbed.controlplane.cluster import tasks
from nashbed.controlplane.cluster.bundle import bundle_of
from nashbed.controlplane.cluster.identity import Identity, KernelIdentity, identity_here
from nashbed.controlplane.cluster.plugin import RunOnWorker, plugin_name
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.run.snapshot import Snapshot
from tests.unit.controlplane.cluster.conftest import RELEASE, Bed, MakeVirtualRun

ONE = ("[0, 1, 3]", "[1]")
MakeBed = Callable[..., Bed]


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
    monkeypatch.setattr(tasks, "install_kernel", lambda *kernel: given.append(kernel))
    bed = make_bed(1)
    assert [r.valid for r in bed.run(make_virtual_run(*ONE))] == [True]
    assert [identity.release for identity, data in given] == [RELEASE]
    assert bed.said == [f"giving our kernels of virtual time to {socket.gethostname()}"]


@pytest.mark.slow
def test_a_machine_is_given_a_kernel_once(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[KernelIdentity, bytes]] = []

    def lacking(identity: Identity) -> list[KernelIdentity]:
        return [] if given else list(identity.kernels)

    monkeypatch.setattr(plugin_module, "lacking", lacking)
    monkeypatch.setattr(tasks, "install_kernel", lambda *kernel: given.append(kernel))
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
    monkeypatch.setattr(tasks, "install_kernel", lambda *kernel: given.append(kernel))
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

    monkeypatch.setattr(tasks, "install_kernel", damaged)
    bed = make_bed(1)
    with pytest.raises(HostError, match="no worker takes part: the client's kernel came damaged"):
        bed.run(make_virtual_run(*ONE))
    assert bed.workplaces == []


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

    monkeypatch.setattr(tasks, "install_kernel", gone)
    bed = make_bed(2)
    assert [r.valid for r in bed.run(make_virtual_run())] == [True] * 3
    assert len(bed.workplaces) == 1


@pytest.mark.slow
def test_a_fit_worker_that_comes_after_a_refused_one_runs_everything(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As jobs of a batch system do, or a killed one that comes back."""
    monkeypatch.setattr(scheduler_module, "HOPELESS_S", 60.0)
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
    with pytest.raises(HostError, match=r"no worker takes part: .*not the program that was built"):
        make_bed(1).run(make_virtual_run(*ONE))


def test_a_workplace_that_cannot_be_made_is_a_refusal(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    def broken(*asked: Any) -> Any:
        raise HostError("/scratch: cannot be written")

    bed = make_bed(1)
    bed.make_workplace = broken
    with pytest.raises(HostError, match="no worker takes part: /scratch: cannot be written"):
        bed.run(make_virtual_run(*ONE))
