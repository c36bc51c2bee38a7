"""What a worker logs goes to the clients of its runs; without one, to standard error."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from nashbed.controlplane.cluster import worker_log
from nashbed.controlplane.cluster.bundle import bundle_of
from nashbed.controlplane.cluster.plugin import RunOnWorker
from nashbed.controlplane.cluster.worker_log import ToldLog
from tests.unit.controlplane.cluster.conftest import MakeVirtualRun

Told = list[tuple[str, dict[str, Any]]]


def logger(plugins: dict[str, Any], log_event: Any) -> logging.Logger:
    worker = SimpleNamespace(
        plugins=plugins, log_event=log_event, address="tcp://a:1", name="node-1"
    )
    made = logging.Logger("of a test")
    made.addHandler(ToldLog(worker))
    return made


def test_a_run_is_told(make_virtual_run: MakeVirtualRun) -> None:
    told: Told = []
    plugin = RunOnWorker(bundle_of(make_virtual_run()).model_dump_json(), "a key")
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


def test_without_a_run_warnings_go_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    stream = SimpleNamespace(handle=lambda record: said.append(record.getMessage()))
    monkeypatch.setattr(worker_log, "_STANDARD_ERROR", stream)
    log = logger({}, lambda *event: pytest.fail("there is no run"))
    log.info("not this")
    log.warning("removed what a dead run left")
    assert said == ["removed what a dead run left"]


def test_a_connection_that_ended_is_no_error(make_virtual_run: MakeVirtualRun) -> None:
    def closed(*event: Any) -> None:
        raise OSError("the connection is closed")

    plugin = RunOnWorker(bundle_of(make_virtual_run()).model_dump_json(), "a key")
    logger({plugin.name: plugin}, closed).error("too late")
