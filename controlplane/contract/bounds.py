"""Bounds on what a run measures (`acceptance`): of shares and queues, of equilibria, of traffic."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .course import StrategyName
from .harm import HarmedMetric
from .model import Name
from .selection import MAX_FLOWS, Count, SettingSelection
from .units import Duration, Rate, Share, Size

OF_TRIALS = ("flow_completion_time", "slowdown", "unfinished_transfers", "time_to_use_capacity")
"""How the names of those metrics end that are of all flows of a trial together."""


class Bound(SettingSelection):
    """A bound on a metric at the settings that it selects."""

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        low, high = getattr(self, "min", None), getattr(self, "max", None)
        if low is not None and high is not None and low > high:
            raise ValueError(f"min: {low} is above max, {high}: nothing is within")
        return self


class ThroughputBound(Bound):
    """Mean per-flow throughput of one strategy at one mix.

    Attributes:
        metric: What is bounded.
        strategy: Whose throughput.
        mix: Number of flows of each strategy listed; the other strategies have the rest.
        expect: Expected per-flow throughput.
        tolerance: Allowed deviation, as a share of `expect`.
    """

    metric: Literal["per_flow_throughput"]
    strategy: StrategyName
    mix: dict[StrategyName, Count]
    expect: Rate
    tolerance: Share


class DelayBound(Bound):
    """Mean queueing delay of a setting, of one mix or over all its mixes.

    Attributes:
        metric: What is bounded.
        mix: As in ThroughputBound; left out: the mean over all mixes with every strategy.
        min: Smallest allowed delay.
        max: Largest allowed delay.
    """

    metric: Literal["mean_queueing_delay"]
    mix: dict[StrategyName, Count] | None = None
    min: Duration
    max: Duration


class RttBound(Bound):
    """RTT measured by the senders' kernels, averaged over one strategy's flows.

    Attributes:
        metric: The mean of the smoothed RTT in the window, or its largest value.
        strategy: Whose RTT.
        mix: As in ThroughputBound.
        min: Smallest allowed RTT.
        max: Largest allowed RTT; left out: no bound.
    """

    metric: Literal["mean_rtt", "peak_rtt"]
    strategy: StrategyName
    mix: dict[StrategyName, Count]
    min: Duration = Duration(0)
    max: Duration | None = None


class ShareBound(Bound):
    """Share of the throughput that all flows of one strategy have together.

    Attributes:
        metric: What is bounded.
        strategy: Whose share.
        mix: As in ThroughputBound.
        min: Smallest allowed share.
        max: Largest allowed share.
    """

    metric: Literal["throughput_share"]
    strategy: StrategyName
    mix: dict[StrategyName, Count]
    min: Share = Share(0)
    max: Share = Share(10**9)


class LossBound(Bound):
    """Share of the packets that the queue dropped or marked, or of the payload sent again.

    Attributes:
        metric: What is bounded.
        mix: As in ThroughputBound.
        min: Smallest allowed share.
        max: Largest allowed share.
    """

    metric: Literal["loss_rate", "mark_rate", "retransmit_share"]
    mix: dict[StrategyName, Count]
    min: Share = Share(0)
    max: Share = Share(10**9)


class RatioBound(Bound):
    """Per-flow throughput of one strategy, divided by that of another.

    Attributes:
        metric: What is bounded.
        strategy: Whose throughput.
        over: Whose throughput it is divided by.
        mix: The mix in which both are measured; left out: each where all flows run it.
        min: Smallest allowed ratio.
        max: Largest allowed ratio; left out: no bound.
    """

    metric: Literal["throughput_ratio"]
    strategy: StrategyName
    over: StrategyName
    mix: dict[StrategyName, Count] | None = None
    min: Annotated[float, Field(ge=0)] = 0.0
    max: Annotated[float, Field(ge=0)] | None = None


class CrossingBound(Bound):
    """Where the strategies' per-flow throughputs cross, in flows of the second strategy.

    Attributes:
        metric: What is bounded.
        expect: Expected crossing, in flows (a fraction is between two mixes).
        tolerance: Allowed difference, in flows.
    """

    metric: Literal["crossing"]
    expect: Annotated[float, Field(ge=0)]
    tolerance: Annotated[float, Field(ge=0)]


class EquilibriumBound(Bound):
    """Flows of one strategy at the equilibrium, judged on all that the measurement leaves open.

    With one flow group and two strategies the measurement gives an interval for where the lead
    in throughput (or utility) ends, with 95 % confidence, and with it a range of mixes. The bound
    is met if this whole range is allowed, for every equilibrium that there is; it is missed if
    the range of one equilibrium is allowed nowhere; otherwise it is undecided, which is not
    met: more repetitions make the range narrower. In other games, and where the mixes are too
    few for an interval, every equilibrium of the means must be allowed.

    Attributes:
        metric: What is bounded.
        strategy: Whose flows.
        group: Only those of this flow group; left out: of all.
        min: Smallest allowed number.
        max: Largest allowed number; left out: no bound.
    """

    metric: Literal["equilibrium"]
    strategy: StrategyName
    group: Name | None = None
    min: Count = 0
    max: Count = MAX_FLOWS


class EquilibriumCountBound(Bound):
    """How many mixes are equilibria.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed number.
        max: Largest allowed number.
    """

    metric: Literal["equilibrium_count"]
    min: Count = 0
    max: Count = MAX_FLOWS


class RttOrderBound(Bound):
    """Share of one strategy's flows that are among as many flows with the shortest base RTTs.

    At every equilibrium in which a flow runs the strategy: the smallest share of them counts.

    Attributes:
        metric: What is bounded.
        strategy: Whose flows.
        min: Smallest allowed share; 100 %: they are the flows with the shortest base RTTs.
    """

    metric: Literal["rtt_order"]
    strategy: StrategyName
    min: Share = Share(10**9)


class TrafficBound(Bound):
    """What such bounds have in common.

    Attributes:
        mix: Number of flows of each strategy listed; the other strategies have the rest. Left out:
            every mix, of which each must be within the bound.
        strategy: Of metrics of flows: only those that run it.
        group: Of metrics of flows: only those of this flow group, background too.
    """

    mix: dict[StrategyName, Count] | None = None
    strategy: StrategyName | None = None
    group: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        metric = getattr(self, "metric", "")
        if not metric.endswith(OF_TRIALS):
            return self
        for key in ("strategy", "group"):
            if getattr(self, key) is not None:
                raise ValueError(f"{key}: {metric} is that of the whole trial; remove `{key}`")
        return self


class TimeBound(TrafficBound):
    """A time. A trial in which it is not known (it did not come, or not for good) misses it.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed time.
        max: Largest allowed time; left out: no bound.
    """

    metric: Literal[
        "flow_completion_time",
        "median_flow_completion_time",
        "p95_flow_completion_time",
        "p99_flow_completion_time",
        "one_way_delay",
        "median_one_way_delay",
        "p95_one_way_delay",
        "p99_one_way_delay",
        "convergence_time",
        "time_to_use_capacity",
        "longest_starvation",
        "video_startup",
    ]
    min: Duration = Duration(0)
    max: Duration | None = None


class PartBound(TrafficBound):
    """A share.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed share.
        max: Largest allowed share.
    """

    metric: Literal[
        "starved_share", "unfinished_transfers", "datagram_loss_rate", "rebuffering_share"
    ]
    min: Share = Share(0)
    max: Share = Share(10**9)


class SlowdownBound(TrafficBound):
    """How many times as long as alone on the path transfers take.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed slowdown; it is hardly ever below 1.
        max: Largest allowed slowdown; left out: no bound.
    """

    metric: Literal["slowdown", "median_slowdown", "p95_slowdown", "p99_slowdown"]
    min: Annotated[float, Field(ge=0)] = 0.0
    max: Annotated[float, Field(ge=0)] | None = None


class HarmBound(Bound):
    """The harm that flows of a strategy do to the victim of `mixes: {harm_to: ...}`.

    Attributes:
        metric: What is bounded.
        of: The victim's metric that is harmed.
        by: The strategy of the flows beside it.
        min: Smallest allowed harm; below 0 is a benefit.
        max: Largest allowed harm.
    """

    metric: Literal["harm"]
    of: HarmedMetric
    by: StrategyName
    min: Annotated[float, Field(le=1)] = -1e9
    max: Annotated[float, Field(le=1)] = 1.0


class BitrateBound(TrafficBound):
    """The bitrate of video.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed bitrate.
        max: Largest allowed bitrate; left out: no bound.
    """

    metric: Literal["video_bitrate"]
    min: Rate = Rate(0)
    max: Rate | None = None


class BurstBound(TrafficBound):
    """The largest burst that a memory takes in beside long queues.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed burst.
        max: Largest allowed burst; left out: no bound.
    """

    metric: Literal["absorbed_burst"]
    min: Size = Size(0)
    max: Size | None = None


AcceptanceBound = Annotated[
    ThroughputBound
    | DelayBound
    | RttBound
    | ShareBound
    | LossBound
    | RatioBound
    | CrossingBound
    | EquilibriumBound
    | EquilibriumCountBound
    | RttOrderBound
    | TimeBound
    | PartBound
    | SlowdownBound
    | HarmBound
    | BitrateBound
    | BurstBound,
    Field(discriminator="metric"),
]
