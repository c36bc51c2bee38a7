"""One attempt at a planned trial: everything about it that is decided before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..contract.lane import LaneProgram, TelemetryPlan
from ..contract.plan import PlannedTrial
from ..contract.scenario import BinnedPostcards, SampledPostcards, Scenario
from .flows import TrialFlow, flow_table, group_delays, trial_flows
from .seeds import derive


@dataclass(frozen=True)
class Attempt:
    """One attempt.

    Attributes:
        scenario: The scenario; where the start is swept, with this attempt's.
        trial: What is planned.
        number: Which attempt at it.
        lane: The lane it runs on.
        folder: Where its files go until it is sealed.
        seed: Its own seed.
        flows: Its flows.
    """

    scenario: Scenario
    trial: PlannedTrial
    number: int
    lane: int
    folder: Path
    seed: int
    flows: tuple[TrialFlow, ...]

    @property
    def id(self) -> str:
        """The trial id."""
        return self.trial.attempt_id(self.number)

    @property
    def first_flow(self) -> int:
        """Flow table id of flow 0: every lane has a range of its own."""
        return self.lane * len(self.flows)

    @property
    def raw_telemetry(self) -> Path:
        """Where the data plane writes raw records."""
        return self.folder / "telemetry.raw"

    def program(self) -> LaneProgram:
        """What the target is asked to do."""
        return LaneProgram(
            lane=self.lane,
            bottleneck=self.trial.program,
            delays=group_delays(self.scenario, self.trial, self.seed),
            flows=flow_table(self.flows, self.first_flow),
            seed=derive(self.seed, "machine"),
            kernel=self.trial.setting.kernel,
        )

    def telemetry(self) -> TelemetryPlan:
        """Which postcards are recorded, and where."""
        postcards = self.scenario.telemetry.postcards
        plan = partial(
            TelemetryPlan,
            path=self.raw_telemetry,
            first_flow=self.first_flow,
            flows=len(self.flows),
        )
        if isinstance(postcards, SampledPostcards):
            return plan("sample", n=postcards.sample)
        if isinstance(postcards, BinnedPostcards):
            return plan("bins", bin_ns=postcards.bins.ns)
        return plan("all")


def make_attempt(
    scenario: Scenario, trial: PlannedTrial, number: int, lane: int, folder: Path
) -> Attempt:
    """Decide an attempt: its seed is the scenario's, hashed with the trial id.

    Its scenario is the one that it is asked for, with the start of its setting.
    """
    if trial.setting.start is not None:
        scenario = scenario.model_copy(update={"start": trial.setting.start})
    seed = derive(scenario.seed, trial.attempt_id(number))
    flows = trial_flows(scenario, trial, seed, lane)
    return Attempt(scenario, trial, number, lane, folder, seed, flows)
