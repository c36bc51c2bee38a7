"""Runs on a cluster within this process: what is sealed, and what ends a run, whatever fails."""

import errno
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import KilledWorker
from nashbed.controlplane.cluster import parcel as parcel_module
from nashbed.controlplane.cluster import plugin as plugin_module
from nashbed.controlplane.cluster import worker as worker_module
from nashbed.controlplane.cluster.parcel import Parcel, pack
from nashbed.controlplane.cluster.request import TrialAssignment, TrialOutcome
from nashbed.controlplane.cluster.workplace import Sealed, VirtualWorkplace
from nashbed.controlplane.contract.errors import HostError, Interrupted, TargetError
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.machine.host.layout import Side
from nashbed.controlplane.machine.process.command import CommandTimeoutError
from nashbed.controlplane.machine.process.managed import Process
from nashbed.controlplane.run.active_run import ActiveRun, resumed_run
from nashbed.controlplane.run.progress import Snapshot, TrialStep
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.store.documents import read_document, write_document
from nashbed.controlplane.store.errors import DiskFullError
from nashbed.controlplane.study.adaptive import make_chooser
from tests.fakes.guest_session import FakeGuestSession
from tests.unit.controlplane.cluster.conftest import RELEASE, MakeBed, MakeVirtualRun

pytestmark = pytest.mark.slow

ONE = ("[0, 1, 3]", "[1]")
"""Makes SCENARIO one of a single trial."""
TRIAL = "b2bdp-k01-r0-a{}"


def status(run: ActiveRun) -> str:
    return run.directory.read("manifest.json", Manifest).status


def tables(records: list[TrialRecord]) -> dict[str, Any]:
    """Digests of what was measured, by trial."""
    return {r.id: (r.seed, r.valid, r.digests and r.digests.tables) for r in records}


def test_tables_are_those_of_a_run_on_this_machine(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed, run = make_bed(2), make_virtual_run()
    shown: list[Snapshot] = []
    records = bed.run(run, shown.append)
    bed.require_ended()
    assert [r.id for r in records] == [f"b2bdp-k0{k}-r0-a0" for k in (0, 1, 3)]
    assert [r.invalid_reasons for r in records] == [(), (), ()]
    assert all(r.ran_on is not None and r.ran_on.testbed == "virtual" for r in records)
    assert (shown[-1].finished, shown[-1].total, shown[-1].waiting) == (3, 3, ())
    assert {each.step for state in shown for each in state.running} <= {TrialStep.RUN}
    assert bed.said == []
    manifest = run.directory.read("manifest.json", Manifest)
    assert (manifest.status, manifest.repeatable) == ("complete", True)
    assert manifest.guest_kernels[""].release == RELEASE
    assert manifest.artefact_digest
    here = make_virtual_run(results="here")
    place = ThisMachine(lambda request: FakeGuestSession(request.core), lambda _: Path("x"))
    assert tables(execute(here, lambda _: None, place)) == tables(records)


def test_workers_forget_a_run_that_has_ended(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed = make_bed(1)
    bed.run(make_virtual_run(*ONE))
    (worker,) = bed.cluster.workers.values()
    assert [name for name in worker.plugins if name.startswith("nashbed-")] == []


def test_a_trial_that_no_worker_could_run_is_handed_out_again(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    """All workers go while it runs; one that comes later is compared only after Dask has looked."""
    bed, scaled = make_bed(1), [0, 1]

    def go_and_come(snapshot: Snapshot) -> None:
        if (snapshot.running and scaled == [0, 1]) or (scaled == [1] and not bed.cluster.workers):
            bed.cluster.scale(scaled.pop(0))

    records = bed.run(make_virtual_run(*ONE), go_and_come)
    assert scaled == []
    assert [(r.id, r.valid) for r in records] == [(TRIAL.format(0), True)]


def test_an_invalid_trial_is_repeated_with_the_next_attempt(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FLOWS", "wrong_cc")
    shown: list[Snapshot] = []
    records = make_bed(1).run(make_virtual_run(*ONE), shown.append)
    assert [(r.id, r.valid) for r in records] == [(TRIAL.format(n), False) for n in range(3)]
    assert len({r.seed for r in records}) == 3
    assert (shown[-1].finished, shown[-1].invalid) == (1, 3)


def test_a_worker_of_another_build_is_refused_with_both_digests(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = plugin_module.identity_here

    def another(*asked: Any) -> Any:
        return here(*asked).model_copy(update={"sources": "0" * 64})

    monkeypatch.setattr(plugin_module, "identity_here", another)
    bed, run = make_bed(2), make_virtual_run(*ONE)
    line = r"it has nashbed \S+ \(0{12}\), and the client \S+ \([0-9a-f]{12}\)"
    with pytest.raises(HostError, match=f"no worker takes part: .*{line}"):
        bed.run(run)
    assert status(run) == "failed"
    assert len(bed.said) == 1, "two workers are refused for one reason, which is said once"
    assert "takes no part" in bed.said[0]
    assert bed.workplaces == []


class FullWorkplace(VirtualWorkplace):
    """On a full disk."""

    def run(self, request: TrialAssignment) -> Sealed:
        raise DiskFullError("/scratch: the disk is full")


@pytest.mark.long
def test_a_worker_with_a_full_disk_is_dismissed_and_its_trial_runs_elsewhere(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed = make_bed(2)
    kinds: list[type[VirtualWorkplace]] = [FullWorkplace]

    def make_workplace(*asked: Any) -> VirtualWorkplace:
        kind = kinds.pop() if kinds else VirtualWorkplace
        return kind(*asked)

    bed.make_workplace = make_workplace
    records = bed.run(make_virtual_run())
    assert [(r.attempt, r.valid) for r in records] == [(0, True)] * 3
    (dismissed,) = bed.said
    assert dismissed.endswith("takes no part: /scratch: the disk is full")


def test_full_disks_on_all_workers_end_the_run(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed, run = make_bed(2), make_virtual_run()
    bed.make_workplace = FullWorkplace
    with pytest.raises(HostError, match="no worker takes part: /scratch: the disk is full"):
        bed.run(run)
    assert status(run) == "failed"


@pytest.mark.long
def test_a_full_disk_here_ends_the_run_which_can_be_resumed(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed, run = make_bed(1), make_virtual_run()

    def full(*asked: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(parcel_module, "_write", full)
        with pytest.raises(DiskFullError, match=f"{run.directory.trials}.*the disk is full"):
            bed.run(run)
    assert status(run) == "failed"
    bed.require_ended()
    records = bed.run(resumed_run(run.directory.path, make_chooser))
    assert [(r.attempt, r.valid) for r in records] == [(0, True)] * 3


class Damaged(Parcel):
    """A parcel that is damaged on its way."""

    def to_bytes(self) -> bytes:
        data = super().to_bytes()
        return data[:-1] + bytes([data[-1] ^ 1])


def damaged(folder: Path, shared: Path | None) -> Parcel:
    parcel = pack(folder, shared)
    return Damaged(**dict(parcel))


def of_another_trial(folder: Path, shared: Path | None) -> Parcel:
    parcel = pack(folder, shared).model_copy(update={"trial": "b2bdp-k03-r0-a0"})
    return parcel.model_copy(update={"digest": parcel.digest_of_content()})


def with_another_record(folder: Path, shared: Path | None) -> Parcel:
    record = read_document(folder / "trial.json", TrialRecord, "")
    other = record.model_copy(update={"id": "b2bdp-k03-r0-a0"})
    write_document(folder / "trial.json", other)
    return pack(folder, shared)


ANOTHER = r"was asked for trial b2bdp-k01-r0-a\d and sent b2bdp-k03-r0-a0"
WRONG = [
    (damaged, r"the parcel of trial b2bdp-k01-r0-a\d is damaged: its digest is"),
    pytest.param(of_another_trial, ANOTHER, marks=pytest.mark.long),
    (with_another_record, ANOTHER),
]


@pytest.mark.parametrize(("wrong", "line"), WRONG)
def test_a_wrong_parcel_is_never_sealed(
    make_bed: MakeBed,
    make_virtual_run: MakeVirtualRun,
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[..., Parcel],
    line: str,
) -> None:
    bed, run = make_bed(1), make_virtual_run(*ONE)
    monkeypatch.setattr(worker_module, "pack", wrong)
    with pytest.raises(HostError, match=line):
        bed.run(run)
    assert list(run.directory.trials.iterdir()) == []
    assert len(run.directory.failures()) == 3
    assert all(re.search(line, failure.reason) for failure in run.directory.failures())


def test_after_a_damaged_parcel_the_attempt_is_made_again(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    packers: list[Callable[..., Parcel]] = [damaged]

    def pack_first_damaged(*asked: Any) -> Parcel:
        packer = packers.pop() if packers else pack
        return packer(*asked)

    monkeypatch.setattr(worker_module, "pack", pack_first_damaged)
    records = make_bed(1).run(make_virtual_run(*ONE))
    assert [(r.id, r.valid) for r in records] == [(TRIAL.format(0), True)]


DEATHS = [0]
"""How often a worker is yet to die; the workers are threads of this process."""


def dying_trial(text: str) -> TrialOutcome:
    """In the place of `run_trial`: what a client sees of workers that died, then a trial."""
    if DEATHS[0]:
        DEATHS[0] -= 1
        raise KilledWorker("a trial", SimpleNamespace(address="tcp://10.0.0.1:1"), 3)
    return worker_module.run_trial(text)


@pytest.mark.parametrize(("deaths", "ends"), [(2, False), (3, True)])
def test_a_trial_that_kills_its_workers_is_an_attempt_that_failed(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, deaths: int, ends: bool
) -> None:
    DEATHS[0] = deaths
    bed, run = make_bed(1), make_virtual_run(*ONE)
    bed.task = dying_trial
    if ends:
        with pytest.raises(HostError, match=f"at last: {TRIAL.format(0)}: workers keep dying"):
            bed.run(run)
        assert status(run) == "failed"
    else:
        assert [r.id for r in bed.run(run)] == [TRIAL.format(0)]
    assert len(run.directory.failures()) == deaths


def test_what_a_worker_says_of_a_dead_target_ends_the_run(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(VirtualWorkplace):
        def run(self, request: TrialAssignment) -> Sealed:
            raise TargetError("the data plane is broken")

    bed = make_bed(1)
    bed.make_workplace = Broken
    with pytest.raises(TargetError, match=r"worker \S+ on .*: the data plane is broken"):
        bed.run(make_virtual_run(*ONE))


def test_a_temporary_failure_of_a_worker_is_tried_again(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    errors = [
        CommandTimeoutError("it took too long"),
        TargetError("guest: killed", repeatable=True),
    ]
    reasons = [error.message for error in errors]

    class Slow(VirtualWorkplace):
        def run(self, request: TrialAssignment) -> Sealed:
            if errors:
                raise errors.pop(0)
            return super().run(request)

    bed, run = make_bed(1), make_virtual_run(*ONE)
    bed.make_workplace = Slow
    shown: list[Snapshot] = []
    assert [r.id for r in bed.run(run, shown.append)] == [TRIAL.format(0)]
    failures = run.directory.failures()
    assert [failure.where.startswith("worker tcp://") for failure in failures] == [True] * 2
    for failure, reason in zip(failures, reasons, strict=True):
        assert failure.reason.endswith(f": {reason}")
    assert shown[-1].failures == failures
    assert (shown[-1].finished, shown[-1].waiting, shown[-1].running) == (1, (), ())


@pytest.mark.long
def test_a_guest_that_is_killed_on_a_worker_is_one_attempt_and_the_tables_are_the_same(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    left = [1]

    class Killing(FakeGuestSession):
        """Its first guest is killed before its flows start."""

        def start_flows(self, side: Side, config: Path, lane: int) -> Process:
            if left:
                left.pop()
                assert self._guest is not None
                os.kill(self._guest.pid, signal.SIGKILL)
                self._guest.wait_exit(10.0)
                self.require_targets()
            return super().start_flows(side, config, lane)

    bed, run = make_bed(1), make_virtual_run()
    bed.make_session = Killing
    records = bed.run(run)
    (failure,) = run.directory.failures()
    assert "guest ended in mid-trial (killed by SIGKILL)" in failure.reason
    assert [(r.attempt, r.valid) for r in records] == [(0, True)] * 3
    undisturbed = make_bed(1).run(make_virtual_run(results="undisturbed"))
    assert tables(records) == tables(undisturbed)


def test_ctrl_c_keeps_what_is_finished_and_the_run_goes_on_later(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed, run = make_bed(1), make_virtual_run()

    def interrupt(snapshot: Snapshot) -> None:
        if snapshot.finished and snapshot.running:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="finished trials are kept"):
        bed.run(run, interrupt)
    assert status(run) == "interrupted"
    bed.require_ended()
    kept = run.directory.sealed()
    assert 1 <= len(kept) < 3
    records = bed.run(resumed_run(run.directory.path, make_chooser))
    assert [(r.attempt, r.valid) for r in records] == [(0, True)] * 3
    assert all(before in records for before in kept)


def test_a_scheduler_that_is_gone_is_said_in_one_line(
    make_bed: MakeBed, make_virtual_run: MakeVirtualRun
) -> None:
    bed, run = make_bed(1), make_virtual_run()
    address = bed.cluster.scheduler_address

    def close(snapshot: Snapshot) -> None:
        if snapshot.running:
            bed.cluster.close()

    with pytest.raises(HostError, match=f"^{address}: the cluster's scheduler is gone; ") as caught:
        bed.run(run, close)
    assert "`nashbed resume` goes on" in caught.value.message
    assert "\n" not in caught.value.message
    assert status(run) == "failed"
    bed.require_ended()
