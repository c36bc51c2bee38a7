"""The chooser of an adaptive run: the trials that the campaign requests, at a lower priority."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from nashbed.analysis.campaign.campaign import TrialRequest
from nashbed.analysis.state import mix_state
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.host.cores import NICE
from nashbed.controlplane.study.adaptive import make_chooser
from tests.unit.controlplane.conftest import plan_of


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


class Campaign:
    """Requests a given trial; notes the niceness that it computed at."""

    def __init__(self, request: TrialRequest) -> None:
        self.request = request
        self.computed_at: list[int] = []
        self.told: list[Any] = []

    def ask(self) -> Sequence[TrialRequest]:
        self.computed_at.append(niceness())
        return [self.request]

    def tell(self, request: TrialRequest, payoffs: Any) -> None:
        self.computed_at.append(niceness())
        self.told.append((request, payoffs))


def test_it_chooses_at_a_lower_priority_than_trials_measure(
    tmp_path: Path, scenario: Scenario, testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(scenario, testbed)
    trial = plan.trials[1]
    campaign = Campaign(TrialRequest(0, mix_state(trial.mix, scenario.strategies), 0))
    monkeypatch.setattr("nashbed.analysis.campaign.of_scenario.campaign_of", lambda *_: campaign)
    chooser = make_chooser(tmp_path, scenario, testbed, plan)

    def choose() -> None:  # in a thread of its own, whose niceness is nobody else's
        usual = niceness()
        assert chooser.ask() == [trial]
        chooser.tell(trial, None)
        lower = min(19, usual + NICE)
        is_root = os.geteuid() == 0  # nobody else may be less nice again
        assert campaign.computed_at == [lower, lower if is_root else min(19, lower + NICE)]
        assert niceness() == (usual if is_root else campaign.computed_at[1])
        passed.append(True)

    passed: list[bool] = []
    thread = threading.Thread(target=choose)
    thread.start()
    thread.join()
    assert passed == [True]
    assert campaign.told == [(campaign.request, None)]
