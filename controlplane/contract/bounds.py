"""Bounds on what a run measures (`acceptance`): a metric, whose, where, and its limits."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from .course import StrategyName
from .harm import HarmedMetric
from .metrics import BBR_MODES, METRIC_UNITS, MODE_UNITS, TOLD_UNITS, Scope
from .model import Name
from .selection import Count, SettingSelection
from .units import Duration, Rate, Share, Size

Limit = Annotated[float, Field(allow_inf_nan=False)] | Duration | Rate | Share | Size
_WRITTEN: dict[str, type[Duration | Rate | Share | Size]] = {
    "s": Duration,
    "bit/s": Rate,
    "1": Share,
    "B": Size,
}
"""Unit -> how limits in it are written; those in other units are numbers."""
_BY_SCOPE: dict[Scope, set[str]] = {"flow": {"strategy", "group", "mix"}, "trial": {"mix"}}


class Bounded(NamedTuple):
    """What a bound on a metric is made of.

    Attributes:
        takes: Which of the keys that say who and where it may have.
        needs: Which it must have.
    """

    unit: str
    takes: set[str]
    needs: tuple[str, ...] = ()


BOUNDED: dict[str, Bounded] = {
    name: Bounded(unit, _BY_SCOPE[scope]) for name, (scope, unit) in METRIC_UNITS.items()
} | {
    "throughput_ratio": Bounded("ratio", {"strategy", "over", "mix"}, ("strategy", "over")),
    "crossing": Bounded("flows", set()),
    "equilibrium": Bounded("flows", {"strategy", "group"}, ("strategy",)),
    "equilibrium_count": Bounded("mixes", set()),
    "rtt_order": Bounded("1", {"strategy"}, ("strategy",)),
    "harm": Bounded("harm", {"of", "by"}, ("of", "by")),
    **{
        name: Bounded(unit, _BY_SCOPE["flow"] | {"mode", "after"}, ("mode",))
        for name, unit in MODE_UNITS.items()
    },
    **{
        name: Bounded(unit, _BY_SCOPE["flow"] | {"mode", "after"})
        for name, unit in TOLD_UNITS.items()
    },
}
"""Metric -> its bounds: every metric of trials and flows, and what a run says beyond them."""

if TYPE_CHECKING:
    BoundedMetric = str
    Mode = str
else:
    BoundedMetric = Literal[tuple(BOUNDED)]
    Mode = Literal[BBR_MODES]


class MetricReading(SettingSelection):
    """A metric of a run: whose, and where.

    Attributes:
        metric: What is read.
        strategy: Whose; left out: of all flows.
        over: Of `throughput_ratio`: whose throughput the strategy's is divided by.
        group: Only flows of this group, which may be background.
        of: Of `harm`: the metric of the victim of `mixes: {harm_to: ...}`.
        by: Of `harm`: the strategy of the flows beside the victim.
        mix: Number of flows of each strategy listed; the other strategies have the rest.
        mode: Of what a BBR of hosts/cc tells of itself: only while it is in this mode.
        after: Only where it came from this one.
    """

    metric: BoundedMetric
    strategy: StrategyName | None = None
    over: StrategyName | None = None
    group: Name | None = None
    of: HarmedMetric | None = None
    by: StrategyName | None = None
    mix: dict[StrategyName, Count] | None = None
    mode: Mode | None = None
    after: Mode | None = None

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        bounded = BOUNDED[self.metric]
        for key in ("strategy", "over", "group", "of", "by", "mix", "mode", "after"):
            given = getattr(self, key) is not None
            if given and key not in bounded.takes:
                raise ValueError(f"{key}: a bound on {self.metric} has none; remove it")
            if key in bounded.needs and not given:
                raise ValueError(f"{key}: a bound on {self.metric} needs it; add it")
        if self.after is not None and self.mode is None:
            raise ValueError("after: a mode comes after it; write that `mode`, too")
        return self


class LimitedReading(MetricReading):
    """A metric of a run, and its limits.

    Attributes:
        min: Smallest allowed value, in the metric's unit.
        max: Largest allowed value.
        expect: Expected value, in place of `min` and `max`.
        tolerance: Allowed difference from `expect`: a share of it, or so many flows.
    """

    min: Limit | None = None
    max: Limit | None = None
    expect: Limit | None = None
    tolerance: Limit | None = None

    @field_validator("min", "max", "expect", "tolerance", mode="before")
    @classmethod
    def _in_its_unit(cls, value: Any, info: ValidationInfo) -> Any:
        """Read a limit as the metric's unit is written; a tolerance is a share of such a limit."""
        if value is None or "metric" not in info.data:
            return None
        written = _WRITTEN.get(BOUNDED[info.data["metric"]].unit)
        if written is None:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{value!r} is not a number")
            return value
        written = Share if info.field_name == "tolerance" else written
        return value if isinstance(value, written) else written.parse(str(value))

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        limited, expected = (self.min, self.max) != (None, None), self.expect is not None
        if (limited and expected) or expected != (self.tolerance is not None):
            raise ValueError("expect: write it with `tolerance`, and without `min` and `max`")
        if self.min is not None and self.max is not None and _base(self.min) > _base(self.max):
            low, high = (f"{x:g}" if isinstance(x, float) else x for x in (self.min, self.max))
            raise ValueError(f"min: {low} is above max, {high}: nothing is within")
        return self

    @property
    def limited(self) -> bool:
        """Whether it has limits of its own."""
        return (self.min, self.max, self.expect) != (None, None, None)

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """Smallest and largest allowed value in its unit; None: no bound."""
        if self.expect is not None and self.tolerance is not None:
            middle, off = _base(self.expect), _base(self.tolerance)
            off *= middle if isinstance(self.tolerance, Share) else 1
            return middle - off, middle + off
        low, high = _USUAL.get(self.metric) or _USUAL.get(BOUNDED[self.metric].unit, (0.0, None))
        return (
            low if self.min is None else _base(self.min),
            high if self.max is None else _base(self.max),
        )


class AcceptanceBound(LimitedReading):
    """A bound on a metric at the settings that it selects: `min` and `max`, or `expect`.

    The value is a mean over the trials of a mix. Where no mix is named each one must be within the
    bound; of `mean_queueing_delay` then the mean over all mixes with every strategy, and of
    `throughput_ratio` each strategy where all flows run it. A metric that is not known in a trial
    (it did not come, or not for good) misses it.

    `crossing` is where the strategies' per-flow throughputs cross, in flows of the second one;
    `rtt_order` the share of a strategy's flows that are among as many flows with the shortest base
    RTTs, at the equilibrium with the smallest one (100 % unless `min` says less);
    `throughput_share` that of all the flows together.

    `equilibrium`, a strategy's flows there, is judged on all that the measurement leaves open. With
    one flow group and two strategies the measurement gives an interval for where the lead in
    throughput (or utility) ends, with 95 % confidence, and with it a range of mixes. The bound is
    met if this whole range is allowed, for every equilibrium that there is; it is missed if the
    range of one equilibrium is allowed nowhere; otherwise it is undecided, which is not met: more
    repetitions make the range narrower. In other games, and where the mixes are too few for an
    interval, every equilibrium of the means must be allowed.
    """

    @model_validator(mode="after")
    def _check_has_limits(self) -> Self:
        if not self.limited and self.metric != "rtt_order":
            raise ValueError("min: write `min` or `max` or both, or `expect` and `tolerance`")
        return self


_USUAL: dict[str, tuple[float | None, float | None]] = {
    "rtt_order": (1.0, 1.0),
    "1": (0.0, 1.0),
    "harm": (None, 1.0),
}
"""Metric or unit -> limits where none is given."""


def _base(limit: Limit) -> float:
    """A limit as a number of base units."""
    match limit:
        case Duration():
            return limit.seconds
        case Rate():
            return float(limit.bps)
        case Share():
            return limit.fraction
        case Size():
            return float(limit.bytes)
    return float(limit)
