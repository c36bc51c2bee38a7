"""Background flows: in the tables, and in no value of the mix."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.align.data import Goodput, TrialData
from nashbed.analysis.align.traffic import who_always_sends, whose_data_returns
from nashbed.analysis.measures import TrialMeasures
from nashbed.analysis.metrics.fairness import JAIN
from nashbed.analysis.metrics.throughput import DRIFT, PER_FLOW, SHARE
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.store.sealed_trial import SealedTrial
from tests.unit.analysis.made_measures import BASE

MS = 10**6


@pytest.fixture
def data() -> TrialData:
    """Two CUBIC flows of the mix with 1 MB each, and one of background that ends half-way."""
    received = np.array([[500e3, 500e3], [500e3, 500e3], [2e6, 0.0]])
    return TrialData(
        window_ns=(0, 200 * MS), spans_ns=None, rate_bps=10**8, buffer_bytes=10**6,
        overhead_bytes=0, strategy=("cubic",) * 3, group=np.array([0, 0, 1]),
        base_rtt_ns=np.full(3, 10 * MS),
        goodput=Goodput(np.array([100 * MS, 200 * MS]), received, 100 * MS),
        queue=None, samples=None, mixed_groups=1,
    )  # fmt: skip


def test_fairness_and_drift_are_those_of_the_mix(data: TrialData) -> None:
    assert JAIN.compute(data) == 1.0
    assert DRIFT.compute(data) == 0.0
    # 1 MB of 4 MB
    assert list(np.asarray(SHARE.compute(data))) == [0.25, 0.25, 0.5]


def test_a_strategy_has_the_flows_of_the_mix_unless_a_group_is_named(data: TrialData) -> None:
    record = TrialRecord.model_construct(id="b1bdp-k00-r0-a0", steadiness=None)
    measures = TrialMeasures(
        trial=SealedTrial(Path("nowhere"), record), state=((2, 0),), strategy=data.strategy,
        group=data.group, rate_bps=10**8, buffer_bytes=10**6,
        per_flow={"per_flow_throughput": np.asarray(PER_FLOW.compute(data))}, total={}, missing={},
    )  # fmt: skip
    assert measures.value("per_flow_throughput", "cubic") == 40e6
    assert measures.value("per_flow_throughput", "cubic", 1) == 80e6
    assert measures.total_of("per_flow_throughput", "cubic") == 80e6


def test_data_that_takes_the_way_back_has_no_share_of_the_queues_throughput(
    data: TrialData,
) -> None:
    found = np.asarray(SHARE.compute(replace(data, reverse=np.array([False, False, True]))))
    assert found[:2].tolist() == [0.5, 0.5]
    assert np.isnan(found[2])


def test_it_does_not_starve_for_want_of_that_queue() -> None:
    flows = [
        {"name": "main", "count": 2, "base_rtt": "10ms"},
        {"name": "up", "count": 1, "base_rtt": "10ms", "strategy": "reno", "direction": "reverse"},
    ]
    back = {"rate": "10mbit", "buffer": "50pkt"}
    scenario = Scenario.model_validate(
        BASE | {"bottleneck": {"rate": "100mbit", "buffer": "2bdp", "return": back}, "flows": flows}
    )
    groups = np.array([0, 0, 1])
    assert who_always_sends(scenario, groups).tolist() == [True, True, False]
    assert whose_data_returns(scenario, groups).tolist() == [False, False, True]
    alone = Scenario.model_validate(BASE)
    assert who_always_sends(alone, groups[:2]) is None
    assert whose_data_returns(alone, groups[:2]) is None
