"""An adaptive run: the analysis' campaign picks trials of the plan as results arrive.

The run knows nothing of equilibria and the analysis nothing of runs; this is where they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..contract.plan import ExpectedSearch, Plan, PlannedTrial
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import Setting
from ..machine.host.cores import lower_priority
from ..plan.estimates import resources_of, trials_at_once

if TYPE_CHECKING:
    from nashbed.analysis.campaign.campaign import Campaign


def expect(scenario: Scenario, settings: Sequence[Setting], at_once: int) -> ExpectedSearch:
    """What an adaptive search is expected to take."""
    from nashbed.analysis.campaign.of_scenario import expected_search  # noqa: PLC0415 - slow to import

    return expected_search(scenario, settings, at_once)


def make_chooser(path: Path, scenario: Scenario, testbed: Testbed, plan: Plan) -> CampaignChooser:
    """The chooser of an adaptive run."""
    at_once = trials_at_once(plan.trials, plan.lanes, resources_of(testbed, plan))
    return CampaignChooser(path, scenario, plan, at_once)


class CampaignChooser:
    """Picks the trials of a plan that a campaign requests.

    It computes on the core of the flows, while other lanes measure: at a lower priority than they.

    Args:
        path: The run directory; sealed trials are read from it.
    """

    def __init__(self, path: Path, scenario: Scenario, plan: Plan, at_once: int) -> None:
        from nashbed.analysis.campaign.campaign import TrialRequest  # noqa: PLC0415 - slow to import
        from nashbed.analysis.campaign.of_scenario import campaign_of  # noqa: PLC0415
        from nashbed.analysis.state import mix_state  # noqa: PLC0415

        self._path = path
        self._scenario = scenario
        settings = {trial.setting.label: trial.setting for trial in plan.trials}
        index = {label: i for i, label in enumerate(settings)}
        self._campaign: Campaign = campaign_of(scenario, list(settings.values()), at_once)
        self._trials = {
            TrialRequest(
                index[t.setting.label], mix_state(t.mix, scenario.strategies), t.repetition
            ): t
            for t in plan.trials
        }
        self._requests = {trial.key: request for request, trial in self._trials.items()}

    def ask(self) -> list[PlannedTrial]:
        """Trials to start now."""
        with lower_priority():
            return [self._trials[request] for request in self._campaign.ask()]

    def tell(self, trial: PlannedTrial, sealed: str | None) -> None:
        """Take a finished trial into account.

        Raises:
            RunError: A table of the sealed trial is damaged.
        """
        from nashbed.analysis.campaign.of_scenario import payoffs_of_trial  # noqa: PLC0415

        with lower_priority():
            payoffs = None
            if sealed is not None:
                payoffs = payoffs_of_trial(self._path / "trials" / sealed, self._scenario)
            self._campaign.tell(self._requests[trial.key], payoffs)
