"""What happens to the bottleneck's link in mid-trial: changes and traces.

Times in scenarios are after the common start t0.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from .limit import Limit, LimitValue, QueuedLine
from .link import Link, TraceProgram, link_of_trace
from .model import (
    ELSEWHERE,
    UNTOLD,
    AliasedModel,
    ContractModel,
    FileModel,
    InC,
    Needs,
)
from .shared import CONSTANTS
from .units import Buffer, Duration, Rate, Share


class LinkChange(AliasedModel):
    """A change of the link: at a time, or an outage between two.

    Attributes:
        at: When, after the common start.
        rate: The rate from then on.
        buffer: The queue's hard limit from then on. One BDP is taken at the rate of that time.
            What waits when it shrinks is not dropped.
        random_loss: Share of packets lost at random on the forward path of every flow group from
            then on.
        from: When an outage begins, after the common start.
        to: When it ends.
        down: `true`: nothing is sent; the queue takes packets until it is full.
        every: The outage comes again after so long, and so on until the end.
    """

    at: Duration | None = None
    rate: Rate | None = None
    buffer: Buffer | None = None
    random_loss: Share | None = None
    from_: Duration | None = Field(default=None, alias="from")
    to: Duration | None = None
    down: bool = False
    every: Duration | None = None

    @property
    def begins(self) -> Duration:
        """When it begins."""
        begins = self.from_ if self.at is None else self.at
        assert begins is not None, "checked with the bottleneck"
        return begins


class Trace(FileModel):
    """A file that says what the link carries over time.

    Attributes:
        file: The file, relative to this one: Mahimahi's opportunities to send a packet, one
            millisecond on each line; or, if its name ends in `.csv`, `t_s,rate_bps` and a rate
            from each time on, whose last line says when the trace ends.
        repeat: Whether it begins anew when it has ended. If not, the last rate of a CSV file stays;
            after the last opportunity of the others the link has the bottleneck's rate.
    """

    repeat: bool = True

    @property
    def content(self) -> TraceProgram:
        """What is in its file.

        Raises:
            ValueError: The scenario came from no file, so that nobody knows where it is.
        """
        if not isinstance(self._content, TraceProgram):
            raise ValueError(f"bottleneck.trace: {self.file} was not read; load the scenario")
        return self._content


def _by_file(value: Any) -> Any:
    return {"file": value} if isinstance(value, str) else value


TraceSpec = Annotated[Trace, BeforeValidator(_by_file)]
"""A trace as it is written: a file, or `{file: x, repeat: false}`."""


AfterT0 = Annotated[int, Field(ge=0, le=2**61 - 1)]


class LineState(ContractModel):
    """The line from a time on, as a data plane is told it.

    Attributes:
        at_ns: The time, after t0.
        rate_bps: Its rate; 0: an outage.
        limit: The queue's hard limit, in the unit of the lane's.
    """

    at_ns: AfterT0
    rate_bps: Annotated[int, Field(ge=0, le=CONSTANTS.rate_bps_max)]
    limit: LimitValue


class Schedule(ContractModel):
    """What happens to a line after t0, as a data plane is told it: states, or opportunities.

    Attributes:
        states: In the order of their times.
        opportunities: A file of times in ns, unsigned 64-bit numbers, little-endian, in order;
            several may have the same time. In an answer, how many there are.
        opportunity_bits: What each carries.
        period_ns: Both begin anew after so long; 0: the last state stays, and after the last
            opportunity the line has the rate that it had before t0.
    """

    states: Annotated[tuple[LineState, ...], Field(max_length=65_536)] = ()
    opportunities: Annotated[str | int, InC(structure="opportunities")] = 0
    opportunity_bits: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    period_ns: AfterT0 = 0


class LinkState(ContractModel):
    """The link from a time on, as asked for or as applied.

    Attributes:
        at_ns: The time, after t0.
        rate_bps: Its rate; 0: it is down.
        limit: The queue's hard limit.
    """

    at_ns: int
    rate_bps: int
    limit: Limit

    @property
    def limit_bytes(self) -> int:
        """The limit as bytes."""
        return self.limit.in_bytes


_AT_TIMES = Needs(
    "the rate of target {of.target} is set by its control plane before a trial, at no exact time "
    f"({{key}}); {ELSEWHERE}",
)
_IF_ANY = Field(exclude_if=lambda told: not told)


class ChangingLine(QueuedLine):
    """A line, its queue, and what happens to them, as asked for or as applied.

    Attributes:
        changes: States of the link after t0, in the order of time; empty: it does not change.
        trace: What it carries over time, instead.
    """

    changes: Annotated[tuple[LinkState, ...], UNTOLD, _AT_TIMES, _IF_ANY] = ()
    trace: Annotated[TraceProgram | None, UNTOLD, _AT_TIMES, _IF_ANY] = None

    @property
    def is_scheduled(self) -> bool:
        """Whether anything happens after t0."""
        return bool(self.changes) or self.trace is not None

    @property
    def link(self) -> Link:
        """Its rate over time."""
        if self.trace is not None:
            return link_of_trace(self.rate_bps, self.trace)
        return Link(self.rate_bps, tuple((state.at_ns, state.rate_bps) for state in self.changes))

    @property
    def most_rate_bps(self) -> int:
        """The highest rate of a trial."""
        return self.link.most_bps if self.is_scheduled else self.rate_bps

    def told_schedule(self, trace_file: str) -> Schedule:
        """What happens after t0.

        Args:
            trace_file: Where it finds the times of a trace's opportunities.
        """
        if self.trace is None:
            states = ((each.at_ns, each.rate_bps, each.limit.value) for each in self.changes)
            return Schedule(states=_states(states))
        period_ns = self.trace.period_ns
        if self.trace.form == "opportunities":
            bits = 8 * self.trace.opportunity_bytes
            return Schedule(opportunities=trace_file, opportunity_bits=bits, period_ns=period_ns)
        rates, limit = zip(self.trace.times_ns, self.trace.rates_bps, strict=True), self.limit.value
        return Schedule(states=_states((*each, limit) for each in rates), period_ns=period_ns)


def _states(states: Iterable[tuple[int, int, int]]) -> tuple[LineState, ...]:
    return tuple(LineState(at_ns=at, rate_bps=bps, limit=limit) for at, bps, limit in states)


def losses_of(changes: tuple[LinkChange, ...]) -> tuple[tuple[int, int], ...]:
    """The forward path's random loss from times on: (ns after t0, parts per billion).

    Args:
        changes: A bottleneck's, in the order of time.
    """
    return tuple(
        (change.at.ns, change.random_loss.ppb)
        for change in changes
        if change.at is not None and change.random_loss is not None
    )
