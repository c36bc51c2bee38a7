"""Lanes counted for real: two of them, for a few seconds, and nothing is left."""

import tempfile
from pathlib import Path

import pytest
from nashbed.controlplane.calibrate.capacity import Capacities, measure_lanes
from nashbed.controlplane.calibrate.level import Lanes
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.units import Rate
from tests.e2e.conftest import STATE, TESTBEDS, WIDE_GATES

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane, pytest.mark.long]


def test_two_lanes_are_counted_and_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With wide bounds on time, what is exact must hold in both lanes at once.

    Shares of three seconds are a matter of chance, so that no difference of them matters here.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lanes = Lanes(rate=Rate(5_000_000), seconds=3.0, flows=2, more=WIDE_GATES)
    told: list[str] = []
    testbed = load_testbed(TESTBEDS / "embedded.yaml")
    what = Capacities(lanes, start=2, most=2, attempts=3, margin=1.0)
    found = measure_lanes(testbed, what, told.append)
    assert (found.lanes, found.rate_bps) == (2, 10_000_000), told
    for level in found.passed_at(2):
        assert level.lateness is not None
        assert level.lateness.p50_ns <= level.lateness.p999_ns <= level.lateness.max_ns
        assert 0 < level.together_s <= 3.0
        assert {core.core for core in level.cores} >= {0}
    assert list(tmp_path.iterdir()) == []
    assert not list(STATE.glob("*.json"))
