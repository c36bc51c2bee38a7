"""What `bench cluster` makes of times and sizes; the workers themselves are for tests/e2e."""

from pathlib import Path

import pytest
from nashbed.controlplane.bench.cluster import (
    TimedSweep,
    TrialSpan,
    bench_cluster,
    gaps_s,
    overhead,
    rates,
)
from nashbed.controlplane.cluster.request import TrialOutcome
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from tests.unit.controlplane.conftest import TESTBED


def outcome(worker: str, began_at: float, ended_at: float, failure: str = "") -> TrialOutcome:
    return TrialOutcome(worker, failure=failure, began_at=began_at, ended_at=ended_at)


def test_a_gap_is_between_trials_of_one_worker_in_the_order_of_time() -> None:
    spans = [
        TrialSpan("b", 5.0, 9.0),
        TrialSpan("a", 3.5, 4.0),
        TrialSpan("a", 0.0, 3.0),
        TrialSpan("a", 4.25, 6.0),
    ]
    assert gaps_s(spans) == [0.5, 0.25]  # the clocks of a and b are not compared
    assert gaps_s([]) == []


def test_gaps_are_held_against_the_goal() -> None:
    came = [outcome("a", 0.0, 3.0), outcome("a", 3.5, 4.0), outcome("a", 0.0, 0.0, "it failed")]
    (gap,) = overhead(1, came)
    assert (gap.name, gap.values, gap.met) == ("cluster_overhead_percent_local_1", (5.0,), False)
    assert gap.data["trial_s"] == [3.0, 0.5]
    assert overhead(2, [outcome("a", 0.0, 3.0), outcome("b", 0.0, 3.0)]) == []


def test_rates_and_what_more_workers_bring() -> None:
    lanes, *runs = (TimedSweep(10, wall_s, 1.0) for wall_s in (15.0, 30.0, 20.0))
    found = {each.name: each.median for each in rates(lanes, dict(enumerate(runs, start=1)))}
    assert found == {
        "cluster_trials_per_minute_lanes": 40.0,
        "cluster_trials_per_minute_local_1": 20.0,
        "cluster_trials_per_minute_local_2": 30.0,
        "cluster_speedup_local_2": 1.5,
    }


def test_real_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="runs in real time; choose a testbed of target virtual"):
        bench_cluster(parse_testbed(TESTBED, "fake.yaml"), tmp_path, [1], 2, lambda *_: None)
