"""What a reader should know of a valid trial."""

from __future__ import annotations

from dataclasses import replace

from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.trial import HostStrain, SocketLimit, WindowLimited
from nashbed.controlplane.validity.findings import marks_of, window_limited
from nashbed.controlplane.validity.measurement import TrialMeasurement
from tests.unit.controlplane.conftest import SCENARIO
from tests.unit.controlplane.validity import test_gates as base

trial = base.trial


def limited(trial: TrialMeasurement, by: SocketLimit, share: float) -> TrialMeasurement:
    trial.evidence.limits.shares[by][0] = share
    return trial


def test_a_good_trial_has_no_mark(trial: TrialMeasurement) -> None:
    assert marks_of(trial) == ()
    assert window_limited(limited(trial, "send buffer", 0.01)) == ()


def test_a_flow_that_its_socket_held_back(trial: TrialMeasurement) -> None:
    assert window_limited(limited(trial, "receive window", 0.0101)) == (
        WindowLimited(
            flow=0, group=0, strategy="cubic", by="receive window", share=0.0101, stated=False
        ),
    )
    assert marks_of(trial) == (
        "flow 0 (cubic) was limited by its receive window for 1.0% of the window",
    )


def test_what_the_scenario_states_is_told_without_a_mark(trial: TrialMeasurement) -> None:
    scenario = parse_scenario(SCENARIO + "hosts: {rmem_max: 4MiB}\n", "s.yaml").model
    stated = replace(trial, attempt=replace(trial.attempt, scenario=scenario))
    assert [flow.stated for flow in window_limited(limited(stated, "receive window", 0.9))] == [
        True
    ]
    assert marks_of(stated) == ()
    limited(stated, "send buffer", 0.5)
    assert marks_of(stated) == (
        "flow 0 (cubic) was limited by its send buffer for 50.0% of the window",
    )


def test_what_ran_short_in_the_hosts(trial: TrialMeasurement) -> None:
    strain = HostStrain(
        pressure={"snd PruneCalled": 0, "rcv PruneCalled": 3, "rcv TCPRcvCollapsed": 9}
    )
    short = replace(trial, strain=strain)
    assert marks_of(short) == ("the hosts ran short: rcv PruneCalled 3, rcv TCPRcvCollapsed 9",)
