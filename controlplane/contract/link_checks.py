"""What happens to the link of a scenario: as a program, and what makes no sense."""

from itertools import pairwise

from .course import SettledDuration
from .limit import Limit
from .link import TraceProgram
from .link_changes import LinkChange, LinkState
from .model import JsonObject
from .path_changes import check_loss
from .scenario_keys import ScenarioKeys
from .units import PACKET_BYTES, Buffer, Duration, Rate, Size


def link_events(scenario: ScenarioKeys, limit: Limit) -> JsonObject:
    """What is to happen to the link of a setting: fields of a ChangingLine.

    Args:
        scenario: The scenario, with the setting's values.
        limit: The setting's limit, in whose unit those of changes are.
    """
    bottleneck, base_rtt = scenario.bottleneck, scenario.flows[0].base_rtt
    trace = bottleneck.trace
    return {
        "changes": _states(scenario, base_rtt, limit),
        "trace": None if trace is None else _with_overhead(trace.content, bottleneck.overhead),
    }


def _with_overhead(trace: TraceProgram, overhead: Size) -> TraceProgram:
    """An opportunity carries one full-sized packet and its overhead."""
    if trace.form == "rates":
        return trace
    return trace.model_copy(update={"opportunity_bytes": PACKET_BYTES + overhead.bytes})


def _outages(scenario: ScenarioKeys) -> list[tuple[int, int, int]]:
    """When each outage begins and ends, in ns, and the number of its change; by time."""
    found = []
    for index, change in enumerate(scenario.bottleneck.changes):
        if change.from_ is None or change.to is None:
            continue
        begin, length, end = change.from_.ns, change.to.ns - change.from_.ns, scenario.longest.ns
        begins = [begin] if change.every is None else range(begin, end, change.every.ns)
        found += [(at, at + length, index) for at in begins]
    return sorted(found)


def _states(scenario: ScenarioKeys, base_rtt: Duration, limit: Limit) -> tuple[LinkState, ...]:
    """The link from each time on at which it changes; outages hide the rate, which may change."""
    rate = scenario.bottleneck.rate
    bps, room = rate.bps, limit
    known: dict[int, tuple[int, Limit]] = {}
    outages = [(begin, end) for begin, end, _ in _outages(scenario)]
    for change in scenario.bottleneck.changes:
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
    value = size // PACKET_BYTES if limit.unit == "packets" else size
    return limit.model_copy(update={"value": value})


def check_link(scenario: ScenarioKeys) -> None:
    """Refuse changes and traces that make no sense.

    Raises:
        ValueError: One line, with the key.
    """
    bottleneck = scenario.bottleneck
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
    _check_outages(scenario)
    _check_limits(scenario)


def _check_change(scenario: ScenarioKeys, key: str, change: LinkChange, last_ns: int) -> None:
    outage = (change.from_, change.to)
    if change.at is None and None in outage:
        raise ValueError(f"{key}: has no time; write `at`, or `from` and `to` with `down: true`")
    if (change.at is not None) == (outage != (None, None)):
        raise ValueError(f"{key}.at: is a moment, `from` and `to` are an outage; write one of them")
    if change.down != (change.at is None):
        raise ValueError(f"{key}.down: goes with `from` and `to`; write `down: true` there only")
    if change.every is not None and not (change.down and change.every.ns):
        raise ValueError(f"{key}.every: is more than 0, and goes with `down: true`")
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


def _check_time(scenario: ScenarioKeys, key: str, change: LinkChange, last_ns: int) -> None:
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


def _check_outages(scenario: ScenarioKeys) -> None:
    for (_, until, before), (begins, _, index) in pairwise(_outages(scenario)):
        if begins <= until:
            key = "every" if index == before else "from"
            raise ValueError(
                f"bottleneck.changes.{index}.{key}: the outage before lasts until "
                f"{Duration(until)}; join them, or write a later time"
            )


def _check_limits(scenario: ScenarioKeys) -> None:
    rate = scenario.bottleneck.rate
    for index, change in enumerate(scenario.bottleneck.changes):
        rate = change.rate or rate
        if change.buffer is None:
            continue
        size = change.buffer.to_bytes(rate, scenario.flows[0].base_rtt)
        if size < PACKET_BYTES:
            raise ValueError(
                f"bottleneck.changes.{index}.buffer: {change.buffer} at {rate} is {size} B, less "
                f"than one packet; write at least {PACKET_BYTES}B"
            )
