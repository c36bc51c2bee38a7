"""A battery of experiments that a congestion control is evaluated by, as its manifest says it."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from .bounds import LimitedReading
from .course import StrategyName
from .errors import did_you_mean
from .metrics import METRIC_UNITS, MODE_UNITS, TOLD_UNITS
from .model import ContractModel, Count, JsonAnswer, Name


class BatteryReading(LimitedReading):
    """What is read of a criterion's scenario; with limits, every trial must be within them.

    Attributes:
        better: Whether more of it is better, or less; left out: neither is.
    """

    better: Literal["more", "less"] | None = None

    @model_validator(mode="after")
    def _check_metric(self) -> Self:
        if self.metric not in METRIC_UNITS | MODE_UNITS | TOLD_UNITS:
            raise ValueError(
                f"metric: {self.metric} is of a whole run; name one of trials or flows"
            )
        return self


class Criterion(ContractModel):
    """What a standard asks, and what shows it.

    Attributes:
        section: The section of the standard.
        name: What it is about.
        level: How much it is asked for: `MUST`, `SHOULD`, or what the text says.
        asks: What is asked, in a few words.
        scenario: The scenario that is run, without `.yaml`.
        reads: What is read of it.
        not_measured: Why there is neither.
    """

    section: Annotated[str, Field(max_length=20)]
    name: Annotated[str, Field(max_length=100)]
    level: Annotated[str, Field(max_length=20)] = ""
    asks: Annotated[str, Field(max_length=200)]
    scenario: Name | None = None
    reads: tuple[BatteryReading, ...] = ()
    not_measured: Annotated[str, Field(max_length=200)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        measured = self.scenario is not None and bool(self.reads)
        if measured == (self.not_measured is not None):
            raise ValueError(
                "scenario: write it with `reads`, or `not_measured` and why in place of both"
            )
        return self


class BatterySize(ContractModel):
    """How long an evaluation takes.

    Attributes:
        trials: Repetitions of each mix.
        changes: Scenario -> path of a key -> its value in place of the file's.
    """

    trials: Count
    changes: dict[Name, dict[str, Any]] = Field(default_factory=dict)


class Battery(ContractModel):
    """What a congestion control is evaluated by.

    Attributes:
        name: Its name.
        title: Its title.
        source: What asks for it.
        subject: The strategy that stands for the control, here and in the scenarios.
        references: Strategies of the scenarios that the control is held against.
        sizes: How long it takes: name -> what is run.
        harm: The scenario whose mixes show the harm to a deployed control, if any.
        games: Scenarios of two strategies, the control the second: would flows of the first switch?
        criteria: What is asked.
    """

    name: Name
    title: str
    source: str
    subject: StrategyName
    references: tuple[StrategyName, ...] = ()
    sizes: dict[Name, BatterySize]
    harm: Name | None = None
    games: tuple[Name, ...] = ()
    criteria: tuple[Criterion, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios, each once: of harm, of the criteria in their order, the games."""
        named = (self.harm, *(each.scenario for each in self.criteria), *self.games)
        return tuple(dict.fromkeys(name for name in named if name))

    @property
    def limited(self) -> bool:
        """Whether it has limits, as a suite of test cases does."""
        return any(reading.limited for each in self.criteria for reading in each.reads)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for size, each in self.sizes.items():
            for scenario in set(each.changes) - set(self.scenarios):
                raise ValueError(
                    f"sizes.{size}.changes.{scenario}: no criterion has this scenario; "
                    f"{did_you_mean(scenario, self.scenarios)}remove it"
                )
        return self


class EvaluationRequest(JsonAnswer):
    """What a folder of an evaluation is of: only the same goes on in it.

    Attributes:
        battery: The battery, as it was.
        size: How long it is.
        control: The control's name.
        digest: Of its files; empty: it comes with nashbed or the kernel.
    """

    battery: Battery
    size: BatterySize
    control: str
    digest: str
