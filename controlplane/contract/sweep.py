"""What a run varies, the mixes that it runs, and which equilibria it looks for."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from .course import StartSpec, StrategyName
from .disciplines import DisciplineSpec
from .functions import PATTERN as FUNCTION_PATTERN
from .harm import HarmMixes
from .model import ContractModel, formerly
from .path_changes import ChangingPath
from .queues import MemorySpec
from .selection import Count, KernelRelease
from .units import Buffer, Duration, Rate, Share

MixSpec = Count | tuple[Count, ...] | dict[StrategyName, Count]
"""How many flows run the second strategy: one number for one group, a list with one number
for each group, or a mapping strategy -> count (one group, any number of strategies)."""

StrategyPair = tuple[StrategyName, StrategyName]


class PairMixes(ContractModel):
    """Mixes of two strategies at a time, of one flow group: a game of every pair.

    Attributes:
        pairs: `all`: each strategy against each other one; `first`: each against the first; or the
            pairs themselves.
        second: How many flows run the later strategy of a pair; left out: every number.
    """

    pairs: Literal["all", "first"] | tuple[StrategyPair, ...]
    second: tuple[Count, ...] | None = None

    def of(self, strategies: Sequence[StrategyName]) -> list[StrategyPair]:
        """Its pairs in the order of the strategies, as is each pair."""
        every = itertools.combinations(strategies, 2)
        if self.pairs == "all":
            return list(every)
        if self.pairs == "first":
            return [pair for pair in every if pair[0] == strategies[0]]
        wanted = {frozenset(pair) for pair in self.pairs}
        return [pair for pair in every if frozenset(pair) in wanted]

    def counts(self, flows: int) -> tuple[int, ...]:
        """How many of so many flows run the later strategy of a pair, in the order of the runs."""
        return tuple(range(flows + 1)) if self.second is None else self.second

    @model_validator(mode="after")
    def _check(self) -> PairMixes:
        if self.second is not None and len(set(self.second)) < max(len(self.second), 1):
            raise ValueError("second: is empty, or lists a number twice")
        if isinstance(self.pairs, tuple):
            different = {frozenset(pair) for pair in self.pairs if pair[0] != pair[1]}
            if len(different) < max(len(self.pairs), 1):
                raise ValueError("pairs: is empty, or has a pair twice or of one strategy alone")
        return self


class Sweep(ContractModel):
    """What is varied. Every combination is a setting; every setting runs every mix.

    Attributes:
        buffer: Buffers in place of the bottleneck's.
        discipline: Queue disciplines in place of the bottleneck's.
        shared_buffer: How several queues share the buffer, in place of the bottleneck's.
        rate: Rates in place of the bottleneck's.
        base_rtt: Base RTTs in place of the flow group's; there must be only one group.
        random_loss: Random losses in place of every flow group's.
        kernel: Guest kernels in place of the scenario's.
        start: Starts in place of the scenario's.
        duration: Fixed lengths of a trial in place of the scenario's; the warm-up stays.
        bottleneck: Any other key of the bottleneck, and what is written for it in its place:
            `{scheduler: [drr, strict_priority], shaper.burst: [30kB, 1MB]}`. Of a list every entry
            has it, or the one whose number is given: `queues.0.weight`.
        params: Parameters of strategies that are kernel modules: `{mycc.beta: [512, 717]}`.
        flows: The number of flows, `{count: [4, 10, 20]}`, or any key of the flow groups' paths
            (jitter, reorder, loss, changes, return), likewise: `{return.delay: [5ms, 20ms]}`, of
            every group or of one: `0.return.delay`. Each number of flows has mixes of its own.
        mixes: `all`; `{pairs: all}` or `{pairs: first}`, which have two strategies at a time;
            `{harm_to: cubic}`, one flow alone and beside each strategy; or the mixes to run.
    """

    buffer: tuple[Buffer, ...] | None = None
    discipline: tuple[DisciplineSpec, ...] | None = None
    shared_buffer: tuple[MemorySpec, ...] | None = formerly("memory", "shared_buffer")
    rate: tuple[Rate, ...] | None = None
    base_rtt: tuple[Duration, ...] | None = None
    random_loss: tuple[Share, ...] | None = None
    kernel: tuple[KernelRelease, ...] | None = None
    start: tuple[StartSpec, ...] | None = None
    duration: tuple[Duration, ...] | None = None
    bottleneck: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    params: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    flows: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    mixes: Literal["all"] | PairMixes | HarmMixes | tuple[MixSpec, ...] = "all"

    @property
    def by_path(self) -> dict[str, tuple[Any, ...]]:
        """What else is swept: its place in the scenario, and its values."""
        parts = (
            ("bottleneck", self.bottleneck), ("flows", self.flows), ("strategies", self.params),
        )  # fmt: skip
        return {f"{part}.{key}": values for part, keys in parts for key, values in keys.items()}

    @model_validator(mode="after")
    def _check(self) -> Sweep:
        for key in self.flows:
            name = next((part for part in key.split(".") if not part.isdigit()), "")
            if name != "count" and name not in PATH_KEYS:
                raise ValueError(
                    f"flows.{key}: write count, or a key of the flow groups' paths: "
                    f"{', '.join(PATH_KEYS)}; sweep.base_rtt and sweep.random_loss stand by "
                    "themselves"
                )
            wrong = [n for n in self.flows[key] if type(n) is not int or n < 1]
            if name == "count" and wrong:
                raise ValueError(
                    f"flows.{key}: {wrong[0]!r} is no number of flows; write 1 or more"
                )
        for key in self.bottleneck:
            if key in SWEPT and SWEPT[key] == ("bottleneck", key):
                raise ValueError(f"bottleneck.{key}: write it as `sweep.{key}`")
            if key.partition(".")[0] == "trace":
                raise ValueError(
                    f"bottleneck.{key}: a trace is not swept; write a scenario for each"
                )
        for key, values in (*self, *self.by_path.items()):
            if values == ():
                raise ValueError(f"{key}: is empty; give at least one value or leave the key out")
            if isinstance(values, tuple) and len({str(v) for v in values}) != len(values):
                raise ValueError(f"{key}: a value is listed twice; remove one of them")
        return self


PATH_KEYS = tuple(field.alias or name for name, field in ChangingPath.model_fields.items())
SWEPT = {
    "start": ("start",),
    "duration": ("duration",),
    "shared_buffer": ("bottleneck", "shared_buffer"),
    "discipline": ("bottleneck", "discipline"),
    "kernel": ("kernel",),
    "rate": ("bottleneck", "rate"),
    "base_rtt": ("flows", "base_rtt"),
    "random_loss": ("flows", "random_loss"),
    "buffer": ("bottleneck", "buffer"),
}
"""Where the values of a sweep's keys go in the scenario, in the order of labels."""


def is_count(key: str) -> bool:
    """Whether what is swept at a place in the scenario is a number of flows."""
    return key.startswith("flows.") and key.endswith(".count")


def written(value: Any) -> str:
    """A value of any key as it is written, without quotes."""
    return json.dumps(value).replace('"', "")


class DelayUtility(ContractModel):
    """Throughput minus the cost of delay.

    Attributes:
        delay_cost: Throughput that a flow would give up for one millisecond less of mean queueing
            delay.
    """

    delay_cost: Rate


class UserUtility(ContractModel):
    """A utility function of the user's own.

    Attributes:
        function: Import path, `module:function`. It takes one mapping from a metric's name to
            its value for the flows of one strategy and group, and returns bit/s.
    """

    function: Annotated[str, Field(pattern=FUNCTION_PATTERN, max_length=200)]


UtilitySpec = Literal["throughput"] | DelayUtility | UserUtility


class Equilibrium(ContractModel):
    """How equilibria are searched for.

    Attributes:
        search: `exhaustive` runs every mix of the sweep. `adaptive` chooses mixes as results
            arrive until an equilibrium is found and its interval is closed on both sides;
            `trials` is then the most repetitions of a mix whose verdict is unclear.
        budget: The most mixes of a setting that an adaptive search measures; left out: as many as
            it takes.
        utility: What a flow maximises: `throughput`, `{delay_cost: 100kbit}` (for each ms), or
            `{function: module:function}`.
        epsilon: Gain, as a share of the fair share, that is too small to switch for.
    """

    search: Literal["exhaustive", "adaptive"] = "exhaustive"
    budget: Annotated[int, Field(strict=True, ge=3)] | None = None
    utility: UtilitySpec = "throughput"
    epsilon: Share = Share(100_000_000)
