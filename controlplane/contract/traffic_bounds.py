"""Bounds on transfers, media, starvation and bursts, and on what comes after a change of the path."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .course import StrategyName
from .harm import HarmedMetric
from .model import Name
from .place import Count, Place
from .units import Duration, Rate, Share, Size

OF_TRIALS = ("flow_completion_time", "slowdown", "unfinished_transfers", "time_to_use_capacity")
"""How the names of those metrics end that are of all flows of a trial together."""


class TrafficBound(Place):
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


class HarmBound(Place):
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
