"""The course that a trial really took: when its flows ran, and which part of it is measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..contract.course import SettledDuration
from ..contract.messages import SenderReport, SinkReport
from ..contract.scenario import Scenario
from ..contract.trial import FlowSpan, Steadiness
from ..plan.flows import TrialFlow


def measured_window(
    scenario: Scenario, sender: SenderReport, steadiness: Steadiness | None
) -> tuple[int, int]:
    """The window in which a trial is measured, in ns after t0.

    Args:
        scenario: Says which part counts.
        sender: When the flows really began and ended.
        steadiness: Where a trial that was to settle was looked at.
    """
    if isinstance(scenario.duration, SettledDuration) and steadiness is not None:
        return steadiness.window_ns
    starts = _known(flow.start_ns for flow in sender.flows)
    ends = _known(flow.end_ns for flow in sender.flows)
    if scenario.window == "whole":
        return min(starts), max(ends)
    if scenario.start == "iperf3":
        begin = max(starts) + scenario.warmup.ns
        return begin, max(begin + 1, min(ends))
    return scenario.warmup.ns, scenario.longest.ns


def _known(moments: Iterable[int | None]) -> list[int]:
    return [moment for moment in moments if moment is not None] or [0]


def spans(
    flows: Sequence[TrialFlow], sender: SenderReport, sink: SinkReport
) -> tuple[FlowSpan, ...]:
    """When the flows of each strategy and group really ran, in order of appearance.

    Args:
        flows: The flows as planned.
        sender: The sender's report, in their order.
        sink: The sink's report, in their order.
    """
    kinds = dict.fromkeys((flow.group, flow.cc) for flow in flows)
    return tuple(
        _span(group, cc, [f.index for f in flows if (f.group, f.cc) == (group, cc)], sender, sink)
        for group, cc in kinds
    )


def _span(
    group: int, strategy: str, mine: Sequence[int], sender: SenderReport, sink: SinkReport
) -> FlowSpan:
    starts = [t for i in mine if (t := sender.flows[i].start_ns) is not None]
    ends = [t for i in mine if (t := sender.flows[i].end_ns) is not None]
    firsts = [t for i in mine if (t := sink.flows[i].first_byte_ns) is not None]
    lasts = [t for i in mine if (t := sink.flows[i].last_byte_ns) is not None]
    return FlowSpan(
        group=group,
        strategy=strategy,
        start_ns=min(starts, default=None),
        first_byte_ns=min(firsts, default=None),
        last_byte_ns=max(lasts, default=None),
        end_ns=min(ends, default=None),
    )
