"""What workers are called to do, when the run has left them meanwhile."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
from nashbed.controlplane.cluster import tasks
from nashbed.controlplane.cluster.bundle import bundle_of
from nashbed.controlplane.cluster.plugin import RunOnWorker
from nashbed.controlplane.cluster.request import Failure, TrialAssignment
from nashbed.controlplane.cluster.workplace import Workplace
from nashbed.controlplane.store.errors import DiskFullError
from tests.unit.controlplane.cluster.conftest import MakeVirtualRun


class Leaving(Workplace):
    """The run leaves while a trial is under way, as after Ctrl-C."""

    error: Exception

    def __init__(self, plugin: RunOnWorker) -> None:
        self._plugin = plugin

    def run(self, request: TrialAssignment) -> None:  # type: ignore[override]
        self._plugin._workplace = None
        raise self.error


@pytest.mark.parametrize(
    "error", [FileNotFoundError("its folder"), DiskFullError("/x: the disk is full")]
)
def test_nobody_is_told_of_a_trial_whose_run_has_left(
    make_virtual_run: MakeVirtualRun, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    log = logging.Logger("of a test")
    log.addFilter(lambda record: pytest.fail(record.getMessage()))
    run = make_virtual_run()
    plugin = RunOnWorker(bundle_of(run).model_dump_json(), "client")
    place = Leaving(plugin)
    place.error = error
    plugin._workplace = place
    worker = SimpleNamespace(
        plugins={plugin.name: plugin}, address="tcp://a:1", name="1", log_event=lambda *told: None
    )
    monkeypatch.setattr(tasks, "LOG", log)
    monkeypatch.setattr(tasks, "get_worker", lambda: worker)
    asked = TrialAssignment(run=plugin.run, trial=run.plan.trials[0], attempt=0)
    outcome = tasks.run_trial(asked.model_dump_json())
    assert str(error) in Failure.model_validate_json(outcome.failure).message
