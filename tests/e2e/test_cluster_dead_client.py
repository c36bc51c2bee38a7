"""A real testbed of a cluster is free again when the client that had it was killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.conftest import WIDE_GATES, Nashbed
from tests.e2e.test_cluster import free_port, scheduler, wait_for
from tests.e2e.test_cluster_testbeds import data_planes, testbed_worker, write_testbed

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.long]


def test_a_testbed_is_free_after_its_client_was_killed(nashbed: Nashbed, tmp_path: Path) -> None:
    """The next run gets it although nobody has resumed the first, nor touched the worker."""
    file, port = write_testbed(tmp_path, "only", 0), free_port()
    scenario = nashbed.scenario(WIDE_GATES + "trials: 20\n", rate="5mbit")
    where = ("--on", f"tcp://127.0.0.1:{port}", "--testbed", str(file))
    with scheduler(port), testbed_worker(port, file):
        run = nashbed.start("run", str(scenario), *where, "--out", str(nashbed.results))
        wait_for(lambda: data_planes(file) != [], "no data plane has started")
        run.kill()
        run.communicate()
        wait_for(lambda: data_planes(file) == [], "the testbed still has the dead client's run")
        short = nashbed.scenario(WIDE_GATES + "trials: 1\n", rate="5mbit")
        nashbed.call("run", str(short), *where, "--out", str(tmp_path / "next"), "--no-report")
