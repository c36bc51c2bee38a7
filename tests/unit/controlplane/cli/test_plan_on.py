"""`nashbed plan --on`: a cluster's seats instead of this machine's lanes."""

from __future__ import annotations

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
    plans = {}
    for workers in (1, 2):
        assert run([*PLAN, "--on", f"local:{workers}", "--json"]) == 0
        plans[workers] = json.loads(capsys.readouterr().out)
        assert plans[workers]["cluster"] == {"workers": workers, "seats": workers}
        assert plans[workers]["lanes"] == workers
        assert plans[workers]["virtual_time"]
    assert plans[1]["trials"] == plans[2]["trials"]
    # 20 trials of one length: as many rounds as they make on one seat, and on two.
    assert plans[2]["estimated_seconds"] < plans[1]["estimated_seconds"]


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
