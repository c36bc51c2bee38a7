"""A cluster as the place of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from distributed import Client

from ..contract.lab_facts import LabFacts
from ..machine.log import LOG
from ..run.active_run import ActiveRun
from ..run.controls import with_objects
from ..run.manifest import with_guest_kernels, with_lab, with_testbed
from ..run.work import Job
from ..store.run_directory import keep_testbed
from .parcel import remove_leftovers
from .plugin import RunOnWorker
from .request import TestbedOffer, TrialOutcome, bundle_of
from .roster import Say, address_of, in_touch, scheduler_is_gone
from .scheduler import ClusterScheduler, Notes, Task
from .worker import run_trial


@dataclass(frozen=True)
class OnCluster:
    """Trials on the workers of a cluster.

    Attributes:
        client: Of the cluster.
        say: Told what the user should know.
        shared: Folder on a shared file system, for large tables; empty: there is none.
        task: What workers do with a trial; `nashbed bench cluster` has its own.
        on_outcome: Called with all that comes back.
    """

    client: Client
    say: Say
    shared: str = ""
    task: Task = run_trial
    on_outcome: Callable[[TrialOutcome], None] = lambda outcome: None

    @contextmanager
    def opened(self, run: ActiveRun, first: list[Job]) -> Iterator[ClusterScheduler]:
        """See `TrialPlace`: every worker that there is, or comes later, is made one of the run."""
        bed = run.testbed.model
        if bed.is_virtual:
            run.manifest = with_guest_kernels(run.manifest, bed, run.plan)
        run.manifest = with_objects(run.manifest, bed, run.controls)
        run.directory.write("manifest.json", run.manifest)

        def on_lab(lab: LabFacts) -> None:
            run.manifest = with_lab(run.manifest, lab)
            run.directory.write("manifest.json", run.manifest)

        def on_offer(offer: TestbedOffer) -> None:
            run.manifest = with_testbed(run.manifest, offer.name, offer.facts)
            keep_testbed(run.directory, offer.name, offer.text)
            run.directory.write("manifest.json", run.manifest)

        bundle = bundle_of(run, self.shared)
        notes = Notes(on_lab, on_offer, self.on_outcome)
        scheduler = ClusterScheduler(
            self.client, bundle, run.directory, first, run.work, notes, self.say
        )
        scheduler.task = self.task
        with in_touch(self.client, bundle.run, scheduler.roster.on_event) as key:
            plugin = RunOnWorker(bundle.model_dump_json(), key)
            try:
                self._register(plugin)
                yield scheduler
            finally:
                self._leave(plugin.name)
                if bundle.shared_folder is not None:
                    remove_leftovers(bundle.shared_folder, run.directory.trials)

    def _register(self, plugin: RunOnWorker) -> None:
        address = address_of(self.client)
        try:
            self.client.register_plugin(plugin)
        except OSError as error:
            raise scheduler_is_gone(address) from error

    def _leave(self, plugin: str) -> None:
        """The workers give back what they held; of a cluster that is gone nothing is asked."""
        try:
            self.client.unregister_worker_plugin(plugin)
        except Exception as error:
            LOG.warning("the workers were not told that the run has ended: %s", error)
