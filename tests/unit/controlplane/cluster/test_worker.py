"""What workers are called to do, when the run has left them meanwhile."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from nashbed.controlplane.cluster import worker as worker_module
from nashbed.controlplane.cluster.plugin import RunOnWorker
from nashbed.controlplane.cluster.request import Failure, TrialAssignment, bundle_of
from nashbed.controlplane.cluster.worker import ClientLogHandler
from nashbed.controlplane.cluster.workplace import Workplace
from nashbed.controlplane.machine.log import LOG
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
    worker = worker_with({plugin.name: plugin}, lambda *told: None)
    monkeypatch.setattr(worker_module, "LOG", log)
    monkeypatch.setattr(worker_module, "get_worker", lambda: worker)
    asked = TrialAssignment(run=plugin.run, trial=run.plan.trials[0], attempt=0)
    outcome = worker_module.run_trial(asked.model_dump_json())
    assert str(error) in Failure.model_validate_json(outcome.failure).message


Told = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def plugin(make_virtual_run: MakeVirtualRun) -> RunOnWorker:
    return RunOnWorker(bundle_of(make_virtual_run()).model_dump_json(), "a key")


def worker_with(plugins: dict[str, Any], log_event: Any) -> Any:
    return SimpleNamespace(plugins=plugins, log_event=log_event, address="tcp://a:1", name="node-1")


def logger(plugins: dict[str, Any], log_event: Any) -> logging.Logger:
    made = logging.Logger("of a test")
    made.addHandler(ClientLogHandler(worker_with(plugins, log_event)))
    return made


def test_a_run_is_told(plugin: RunOnWorker) -> None:
    told: Told = []
    plugins = {plugin.name: plugin, "another": object()}
    log = logger(plugins, lambda *event: told.append(event))
    log.debug("not this")
    try:
        raise ValueError("as a test")
    except ValueError:
        log.exception("trial %s failed", "t0")
    ((topic, event),) = told
    assert topic == f"nashbed-{plugin.run}"
    assert (event["what"], event["name"], event["level"]) == ("logged", "node-1", logging.ERROR)
    first, *rest = event["line"].splitlines()
    assert first == "trial t0 failed"
    assert rest[-1] == "ValueError: as a test"


def test_what_any_module_logs_on_a_worker_is_told(
    plugin: RunOnWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Told = []
    worker = worker_with({plugin.name: plugin}, lambda *event: told.append(event))
    for name, value in (("handlers", []), ("level", logging.NOTSET), ("propagate", True)):
        monkeypatch.setattr(LOG, name, value)
    monkeypatch.setattr(worker_module.signal, "signal", lambda *action: None)
    worker_module.dask_setup(worker)
    logging.getLogger("nashbed.controlplane.run.trial_runner").warning("the telemetry is late")
    ((_, event),) = told
    assert (event["level"], event["line"]) == (logging.WARNING, "the telemetry is late")


def test_without_a_run_warnings_go_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    stream = SimpleNamespace(handle=lambda record: said.append(record.getMessage()))
    monkeypatch.setattr(worker_module, "_STANDARD_ERROR", stream)
    log = logger({}, lambda *event: pytest.fail("there is no run"))
    log.info("not this")
    log.warning("removed what a dead run left")
    assert said == ["removed what a dead run left"]


def test_a_connection_that_ended_is_no_error(plugin: RunOnWorker) -> None:
    def closed(*event: Any) -> None:
        raise OSError("the connection is closed")

    logger({plugin.name: plugin}, closed).error("too late")
