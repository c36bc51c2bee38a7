"""plan.json: every trial of a run, decided before a machine is touched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from .model import ContractModel, html_table
from .target import Applied
from .testbed import Capacity
from .trial import Mix, Setting
from .units import Duration, Rate, Size, counted

PLAN_FORMAT: Final = 2


class PlannedTrial(ContractModel):
    """One repetition of one mix at one setting.

    Attributes:
        key: `<setting>-<mix>-r<repetition>`; attempts append `-a<attempt>`.
        setting: What is asked for.
        mix: Flows of each strategy in each group.
        repetition: Which repetition.
        expected: What the target would really do; None: that was not looked at.
        program_flows: Flows that are programs', beside the mix, too; they take most computing.
    """

    key: str
    setting: Setting
    mix: Mix
    repetition: int
    expected: Applied | None = None
    program_flows: Annotated[int, Field(exclude_if=lambda told: told == 0)] = 0

    def attempt_id(self, attempt: int) -> str:
        """The trial id of an attempt."""
        return f"{self.key}-a{attempt}"


@dataclass(frozen=True)
class ExpectedSearch:
    """What an adaptive search is expected to take.

    Attributes:
        rounds: Trials of each round.
        mixes: Mixes of a setting, the mean over the settings.
    """

    rounds: Sequence[int]
    mixes: float


class Plan(ContractModel):
    """Every trial of a run, in the order in which they are started.

    With an adaptive search these are the trials that may be chosen, and only some are run.

    Attributes:
        format: Version of this layout.
        scenario: Name of the scenario.
        trials: The trials.
        search: Whether all of them are run, or those that the search chooses.
        expected_trials: How many will be run; an estimate with an adaptive search.
        expected_mixes: Mixes of a setting that an adaptive search is expected to take, intervals
            included; null: every mix is run.
        flows_per_trial: Flows of each trial; where they are swept, the most.
        trial_ns: Length of one trial; where it is swept, the longest.
        lanes: Trials that run side by side.
        estimated_seconds: Wall-clock estimate of the whole run.
        estimated_disk_bytes: Upper estimate of the disk space needed.
        capacity: What the testbed carries at once.
        capacity_from: Whether that was stated, measured or assumed, in words.
        memory_short: How memory limits the trials at once, in words; empty: it does not.
        isolated: Whether each lane is a machine of its own, so that lanes alone limit.
        virtual_time: Whether trials take as long as they are computed, not as their clocks have it.
    """

    format: Literal[2] = PLAN_FORMAT
    scenario: str
    trials: tuple[PlannedTrial, ...]
    search: Literal["exhaustive", "adaptive"] = "exhaustive"
    expected_trials: int
    expected_mixes: float | None = None
    flows_per_trial: int
    trial_ns: int
    lanes: int
    estimated_seconds: float
    estimated_disk_bytes: int
    capacity: Capacity
    capacity_from: str = ""
    memory_short: str = ""
    isolated: bool = False
    virtual_time: bool = False

    def __repr__(self) -> str:
        """What is run, and how long it takes."""
        return (
            f"<Plan of {self.scenario}: {counted(self.expected_trials, 'trial')}, about "
            f"{self.estimated_seconds:.0f} s>"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.by_setting())

    def seconds_of(self, setting: Setting) -> float:
        """Length of the trials of a setting, in seconds."""
        return Duration(setting.duration_ns or self.trial_ns).seconds

    def by_setting(self) -> list[dict[str, str]]:
        """A row for each setting, as a person reads it; with columns only for what differs."""
        trials: dict[str, list[PlannedTrial]] = {}
        for trial in self.trials:
            trials.setdefault(trial.setting.label, []).append(trial)
        settings = [trial.setting for trial in self.trials]
        queues = any(each.discipline or each.queues for each in settings)
        kernels = any(each.kernel for each in settings)
        counts = any(each.flow_counts for each in settings)
        lengths = any(each.duration_ns for each in settings)
        return [
            {
                "setting": label,
                "rate": str(Rate(setting.rate_bps)),
                "buffer": f"{setting.buffer_label} ({Size(setting.buffer_bytes)})",
                "base RTT": ", ".join(str(Duration(rtt)) for rtt in setting.base_rtt_ns),
                **({"flows": str(sum(setting.flow_counts or ()))} if counts else {}),
                **({"duration": f"{self.seconds_of(setting):g}s"} if lengths else {}),
                **({"queue": setting.queue_text} if queues else {}),
                **({"kernel": setting.kernel} if kernels else {}),
                "mixes": str(len({trial.key.rpartition("-r")[0] for trial in own})),
                "at most" if self.search == "adaptive" else "trials": str(len(own)),
            }
            for label, own in trials.items()
            for setting in (own[0].setting,)
        ]

    @property
    def largest_window_bytes(self) -> int:
        """The most that a flow of any trial may have in flight: hosts are prepared for it."""
        return max(trial.setting.largest_window_bytes for trial in self.trials)
