"""`nashbed bench cluster` and `virtual` on this machine: what must hold, never how fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.bench.profile import PARTS, Profile, require_perf
from nashbed.controlplane.bench.site import BenchSite
from nashbed.controlplane.bench.virtual import Case, bench_virtual
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.errors import PrerequisiteError
from tests.e2e.conftest import TESTBEDS, Nashbed
from tests.support.programs import needs_program

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
    # Eight times as many virtual seconds have more postcards, whatever they are compressed to.
    sizes = [found[f"cluster_mb_per_trial_{s}s"]["median"] for s in (10, 80)]
    assert sizes[1] > 2 * sizes[0] > 0


def test_virtual_time_is_timed(tmp_path: Path) -> None:
    bed = load_testbed(TESTBEDS / "virtual.yaml")
    case = Case("20mbit", 2, 3)
    found, payload = bench_virtual(BenchSite(bed, tmp_path), 2, lambda *_: None, [case])
    # Three seconds of flows, and their ends; a guest's kernel and programs take some 70 MB.
    assert len(found.values) == 2
    assert all(v * wall >= 3 for v, wall in zip(found.values, found.data["wall_s"], strict=True))
    assert 40 < found.data["memory_mib"] < 1000
    # Payload is at most what the link carries.
    for gbps, speedup in zip(payload.values, found.values, strict=True):
        assert 0 < gbps <= 0.02 * speedup


@needs_program("perf")
def test_a_profile_says_where_the_time_goes(tmp_path: Path) -> None:
    bed, case = load_testbed(TESTBEDS / "virtual.yaml"), Case("50mbit", 4, 20)
    try:
        require_perf()
    except PrerequisiteError as error:
        pytest.skip(error.message)
    found, _ = bench_virtual(BenchSite(bed, tmp_path), 1, lambda *_: None, [case], profiled=True)
    said = Profile(**found.data["profile"])
    # Each sample is rounded to 0.01 %, and there are hundreds of functions.
    assert sum(said.parts.values()) == pytest.approx(100, abs=5)
    assert said.parts[PARTS["linux"]] > 5
    assert said.parts[PARTS["nashbed-virtual.so"]] > 1
