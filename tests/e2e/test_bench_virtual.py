"""`nashbed bench cluster` and `virtual` on this machine: what must hold, never how fast."""

import json
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.bench.virtual import Case, bench_virtual
from nashbed.controlplane.config import load_testbed
from tests.e2e.conftest import TESTBEDS, Nashbed

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]


@pytest.mark.long
def test_every_place_runs_the_same_sweep(nashbed: Nashbed) -> None:
    process = nashbed.start("bench", "cluster", "--workers", "1", "--trials", "1", "--json")
    out, err = process.communicate(timeout=300)
    assert process.returncode in {0, 20}, err
    found: dict[str, dict[str, Any]] = {each["name"]: each for each in json.loads(out)["figures"]}
    lanes, workers = (found[f"cluster_trials_per_minute_{name}"] for name in ("lanes", "local_1"))
    for each in (lanes, workers):
        assert each["detail"].startswith("5 trials of 10 virtual s")
    gaps = found["cluster_overhead_percent_local_1"]
    # One worker: four pairs of neighbours among five trials; none begins before the other ended.
    assert len(gaps["values"]) == 4
    assert min(gaps["values"]) > 0
    assert len(gaps["data"]["trial_s"]) == 5
    assert len(found["cluster_mb_per_trial_10s"]["values"]) == 5


def test_virtual_time_is_timed(tmp_path: Path) -> None:
    bed = load_testbed(TESTBEDS / "virtual.yaml")
    case = Case("20mbit", 2, 3)
    found, payload = bench_virtual(bed, tmp_path, 2, lambda *_: None, [case])
    # Three seconds of flows, and their ends; a guest's kernel and programs take some 70 MB.
    assert len(found.values) == 2
    assert all(v * wall >= 3 for v, wall in zip(found.values, found.data["wall_s"], strict=True))
    assert 40 < found.data["memory_mib"] < 1000
    # Payload is at most what the link carries.
    for gbps, speedup in zip(payload.values, found.values, strict=True):
        assert 0 < gbps <= 0.02 * speedup
