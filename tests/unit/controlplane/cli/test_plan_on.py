"""`nashbed plan --on`: a cluster's seats instead of this machine's lanes."""

import json
import os

import pytest
from nashbed import planning
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.contract.errors import EXIT_HOST
from nashbed.controlplane.machine.paths import CONFIGS
from tests.unit.controlplane.cli.test_cluster import scheduler

pytestmark = pytest.mark.slow

QUICKSTART = str(CONFIGS / "scenarios" / "quickstart.yaml")
PLAN = ["plan", QUICKSTART, "--no-model"]

Capture = pytest.CaptureFixture[str]


def test_a_person_reads_the_seats(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert run([*PLAN, "--on", "local:2"]) == 0
    told, noted = capsys.readouterr()
    assert "local:2: no faster than local:1, the cores that there are" in noted
    assert "cluster: workers: 2, seats (trials at once): 2" in told
    assert "at most 2 at once" in told
    assert "on one core; 2 at once (one trial for each seat of the cluster)" in told


def test_a_script_reads_them_too(capsys: Capture) -> None:
    plans = []
    for where in (["--testbed", "virtual"], ["--on", "local:1"]):
        assert run([*PLAN, *where, "--json"]) == 0
        plans.append(json.loads(capsys.readouterr().out))
    here, there = plans
    assert there["cluster"] == {"workers": 1, "seats": 1}
    assert there["lanes"] == 1
    assert there["virtual_time"]
    assert here["trials"] == there["trials"]
    # 20 trials of one length: as many rounds as they make on one seat, and on this machine's.
    assert (here["lanes"] > 1) is (here["estimated_seconds"] < there["estimated_seconds"])


def test_a_plan_soon_says_that_there_is_no_worker(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert planning.FIRST_WORKER_S == 30.0
    monkeypatch.setattr(planning, "FIRST_WORKER_S", 0.2)
    with scheduler() as (_, address):
        assert run([*PLAN, "--on", address]) == EXIT_HOST
    assert (
        "no worker has come within 0 s; start some with `nashbed worker" in capsys.readouterr().err
    )
