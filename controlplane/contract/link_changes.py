"""What happens to the bottleneck's link in mid-trial: changes, traces, and a policer before it.

Times in scenarios are after the common start t0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from .course import SettledDuration
from .limit import Limit, QueuedLine
from .line import Line, TraceProgram, line_of_trace
from .model import (
    ELSEWHERE,
    AliasedModel,
    ContractModel,
    FileModel,
    JsonObject,
    Needs,
    Quantities,
)
from .path_changes import check_loss
from .units import PACKET_BYTES, Buffer, Duration, Rate, Share, Size

if TYPE_CHECKING:
    from .scenario import Scenario

BURST_MAX = Size(2_000_000_000)


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
    """

    at: Duration | None = None
    rate: Rate | None = None
    buffer: Buffer | None = None
    random_loss: Share | None = None
    from_: Duration | None = Field(default=None, alias="from")
    to: Duration | None = None
    down: bool = False

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


class Policer(Quantities):
    """A token bucket in front of the queue: what finds too few tokens is dropped at once.

    Attributes:
        rate: What it passes in the long run, overhead counted.
        burst: How many bytes it holds; it is full at the beginning.
    """

    rate: Rate
    burst: Size


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
        policer: What is in front of the queue.
    """

    changes: Annotated[tuple[LinkState, ...], _AT_TIMES, _IF_ANY] = ()
    trace: Annotated[TraceProgram | None, _AT_TIMES, _IF_ANY] = None
    policer: Annotated[
        Policer | None,
        Needs(f"target {{of.target}} has no policer ({{key}}); {ELSEWHERE}"),
        _IF_ANY,
    ] = None

    @property
    def is_scheduled(self) -> bool:
        """Whether anything happens after t0."""
        return bool(self.changes) or self.trace is not None

    @property
    def is_plain(self) -> bool:
        """Whether nothing happens, before or after t0."""
        return not self.is_scheduled and self.policer is None

    @property
    def line(self) -> Line:
        """Its rate over time."""
        if self.trace is not None:
            return line_of_trace(self.rate_bps, self.trace)
        return Line(self.rate_bps, tuple((state.at_ns, state.rate_bps) for state in self.changes))

    @property
    def most_rate_bps(self) -> int:
        """The highest rate of a trial."""
        return self.line.most_bps if self.is_scheduled else self.rate_bps

    def told_schedule(self, trace_file: str) -> JsonObject:
        """What a data plane is told of what happens after t0.

        Args:
            trace_file: Where it finds the times of a trace's opportunities.
        """
        if self.trace is None:
            states = [(s.at_ns, s.rate_bps, s.limit.value) for s in self.changes]
            return {"states": [_state(*each) for each in states]}
        period = {"period_ns": self.trace.period_ns}
        if self.trace.form == "opportunities":
            bits = 8 * self.trace.opportunity_bytes
            return {"opportunities": trace_file, "opportunity_bits": bits, **period}
        pairs = zip(self.trace.times_ns, self.trace.rates_bps, strict=True)
        return {"states": [_state(*pair, self.limit.value) for pair in pairs], **period}


def _state(at_ns: int, rate_bps: int, limit: int) -> JsonObject:
    return {"at_ns": at_ns, "rate_bps": rate_bps, "limit": limit}


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


def link_events(scenario: Scenario, limit: Limit) -> JsonObject:
    """What is to happen to the link of a setting: fields of a ChangingLine.

    Args:
        scenario: The scenario, with the setting's values.
        limit: The setting's limit, in whose unit those of changes are.
    """
    bottleneck, base_rtt = scenario.bottleneck, scenario.flows[0].base_rtt
    trace = bottleneck.trace
    return {
        "changes": _states(bottleneck.changes, bottleneck.rate, base_rtt, limit),
        "trace": None if trace is None else _with_overhead(trace.content, bottleneck.overhead),
        "policer": bottleneck.policer,
    }


def _with_overhead(trace: TraceProgram, overhead: Size) -> TraceProgram:
    """An opportunity carries one full-sized packet and its overhead."""
    if trace.form == "rates":
        return trace
    return trace.model_copy(update={"opportunity_bytes": PACKET_BYTES + overhead.bytes})


def _states(
    changes: tuple[LinkChange, ...], rate: Rate, base_rtt: Duration, limit: Limit
) -> tuple[LinkState, ...]:
    """The link from each time on at which it changes; outages hide the rate, which may change."""
    bps, room = rate.bps, limit
    known: dict[int, tuple[int, Limit]] = {}
    outages = [(c.from_.ns, c.to.ns) for c in changes if c.from_ is not None and c.to is not None]
    for change in changes:
        if change.at is None or (change.rate is None and change.buffer is None):
            continue
        bps = change.rate.bps if change.rate is not None else bps
        if change.buffer is not None:
            room = _in_unit(change.buffer, Rate(bps), base_rtt, limit)
        known[change.at.ns] = (bps, room)
    times = sorted({*known, *(at for outage in outages for at in outage)})
    made, now = [], (rate.bps, limit)
    for at in times:
        now = known.get(at, now)
        is_down = any(begin <= at < end for begin, end in outages)
        made.append(LinkState(at_ns=at, rate_bps=0 if is_down else now[0], limit=now[1]))
    return tuple(made)


def _in_unit(buffer: Buffer, rate: Rate, base_rtt: Duration, limit: Limit) -> Limit:
    """The limit in the unit in which the setting's is."""
    size = buffer.to_bytes(rate, base_rtt)
    if limit.unit == "packets":
        value = size // PACKET_BYTES
    else:
        value = size // limit.cell_bytes if limit.unit == "cells" else size
    return limit.model_copy(update={"value": value})


def check_link(scenario: Scenario) -> None:
    """Refuse changes, traces and policers that make no sense.

    Args:
        scenario: The scenario.

    Raises:
        ValueError: One line, with the key.
    """
    bottleneck = scenario.bottleneck
    _check_policer(scenario)
    if bottleneck.changes == () and bottleneck.trace is None:
        return
    key = "changes" if bottleneck.changes else "trace"
    if isinstance(scenario.duration, SettledDuration):
        raise ValueError(
            f"bottleneck.{key}: a trial that lasts until it is settled has no such times; write a "
            "fixed `duration`"
        )
    if bottleneck.changes and bottleneck.trace is not None:
        raise ValueError(
            "bottleneck.changes: the trace says what the link carries; remove one of them"
        )
    if scenario.sweep.rate is not None and (
        bottleneck.trace is not None or any(change.rate for change in bottleneck.changes)
    ):
        raise ValueError(
            f"sweep.rate: bottleneck.{key} sets the rate at its times; sweep something else, or "
            "write a scenario for each rate"
        )
    last_ns = -1
    for index, change in enumerate(bottleneck.changes):
        _check_change(scenario, f"bottleneck.changes.{index}", change, last_ns)
        last_ns = change.begins.ns
    _check_outages(bottleneck.changes)
    _check_limits(scenario)


def _check_change(scenario: Scenario, key: str, change: LinkChange, last_ns: int) -> None:
    outage = (change.from_, change.to)
    if change.at is None and None in outage:
        raise ValueError(f"{key}: has no time; write `at`, or `from` and `to` with `down: true`")
    if (change.at is not None) == (outage != (None, None)):
        raise ValueError(f"{key}.at: is a moment, `from` and `to` are an outage; write one of them")
    if change.down != (change.at is None):
        raise ValueError(f"{key}.down: goes with `from` and `to`; write `down: true` there only")
    changed = (change.rate, change.buffer, change.random_loss)
    if change.at is None and changed != (None, None, None):
        raise ValueError(f"{key}: an outage has no rate, buffer or loss; write those with `at`")
    if change.at is not None and changed == (None, None, None):
        raise ValueError(f"{key}: changes nothing; write `rate`, `buffer` or `random_loss`")
    if change.random_loss is not None:
        check_loss(f"{key}.random_loss", change.random_loss, ", or an outage")
    if change.rate is not None and change.rate.bps == 0:
        raise ValueError(f"{key}.rate: must be more than 0; write an outage with `from` and `to`")
    if change.buffer is not None and scenario.bottleneck.queues is not None:
        raise ValueError(f"{key}.buffer: several queues keep their memory; remove it")
    _check_time(scenario, key, change, last_ns)


def _check_time(scenario: Scenario, key: str, change: LinkChange, last_ns: int) -> None:
    name = "from" if change.at is None else "at"
    if change.begins.ns <= last_ns:
        raise ValueError(
            f"{key}.{name}: {change.begins} is not after the change before; sort changes by time"
        )
    end = scenario.longest
    for where, time in ((name, change.begins), ("to", change.to)):
        if time is not None and time.ns > end.ns:
            raise ValueError(f"{key}.{where}: {time} is after the end of the trial ({end})")
    if change.to is not None and change.to.ns <= change.begins.ns:
        raise ValueError(f"{key}.to: {change.to} is not after `from`; write a later time")


def _check_outages(changes: tuple[LinkChange, ...]) -> None:
    until: Duration | None = None
    for index, change in enumerate(changes):
        if change.at is not None:
            continue
        if until is not None and change.begins.ns <= until.ns:
            raise ValueError(
                f"bottleneck.changes.{index}.from: the outage before lasts until {until}; join "
                "them, or write a later time"
            )
        until = change.to


def _check_limits(scenario: Scenario) -> None:
    rate = scenario.bottleneck.rate
    for index, change in enumerate(scenario.bottleneck.changes):
        rate = change.rate or rate
        if change.buffer is None:
            continue
        size = change.buffer.to_bytes(rate, scenario.flows[0].base_rtt)
        least = max(PACKET_BYTES, scenario.bottleneck.cell.bytes if scenario.bottleneck.cell else 0)
        if size < least:
            raise ValueError(
                f"bottleneck.changes.{index}.buffer: {change.buffer} at {rate} is {size} B, less "
                f"than one packet; write at least {least}B"
            )


def _check_policer(scenario: Scenario) -> None:
    policer, overhead = scenario.bottleneck.policer, scenario.bottleneck.overhead
    if policer is None:
        return
    if policer.rate.bps == 0:
        raise ValueError("bottleneck.policer.rate: must be more than 0; write e.g. 50mbit")
    least = PACKET_BYTES + overhead.bytes
    if not least <= policer.burst.bytes <= BURST_MAX.bytes:
        raise ValueError(
            f"bottleneck.policer.burst: {policer.burst} is out of range; write {least}B (one "
            f"packet) to {BURST_MAX}"
        )
