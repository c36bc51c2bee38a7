"""When the flows of each CCA start, as a question has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from nashbed.controlplane.contract.course import SettledDuration, most_jitter_ns, planned_start_ns
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting, TrialRecord
from nashbed.controlplane.contract.units import NS_PER_S

from ..state import State

CUBIC, BBR = "cubic", "bbr"

BUSY_CONNECT_RTTS = 1.3
"""Base RTTs of queueing that each stream of an iperf3 process waits while it connects and the other
process already sends; half of the buffer where that is less. Measured at 5 to 50 BDP (panel-iperf3
and panel-100mbit-iperf3, 85 trials): 0.9 to 1.8 with BBR in the queue, 0.8 to 3 with CUBIC; with
this the later start is off by 18 % (median), without it by 56 %."""


@dataclass(frozen=True)
class Starts:
    """When flows start, in seconds after the first of them may.

    Attributes:
        second_s: The BBR flows, or those of another CCA beside CUBIC.
        spread_s: Each flow starts up to this much later, all delays alike.
        connecting_s: How long before the first start flows begin to connect, evenly until their
            CCA starts, as iperf3 does; 0: all are connected at time 0.
    """

    cubic_s: float
    second_s: float
    spread_s: float
    connecting_s: float = 0.0

    @property
    def lead_s(self) -> float:
        """How much later the later CCA starts."""
        return abs(self.cubic_s - self.second_s)


def starts_of(
    scenario: Scenario,
    setting: Setting,
    state: State,
    records: Sequence[TrialRecord] = (),
    second: str = BBR,
) -> Starts:
    """The starts of a mix of CUBIC and a second CCA.

    Args:
        scenario: Says how flows start, with the start of the setting.
        state: The mix: for each group, flows of each of the scenario's strategies.
        records: Its trials; they say when iperf3 processes really sent.
    """
    if scenario.start != "iperf3":
        return _planned(scenario, state, records, second)
    totals = dict(zip(scenario.strategies, map(sum, zip(*state, strict=True)), strict=True))
    planned = iperf3_starts(
        totals[CUBIC], totals[second], setting.base_rtt_ns[0] / NS_PER_S, setting.buffer_bdp
    )
    recorded = [each for record in records if (each := _recorded(record, second)) is not None]
    if recorded:
        cubic, other = (fmean(side) for side in zip(*recorded, strict=True))
        return replace(planned, cubic_s=cubic, second_s=other)
    return planned


def iperf3_starts(cubic: int, bbr: int, base_rtt_s: float, buffer_bdp: float) -> Starts:
    """The starts by one iperf3 process for each CCA, both started at once.

    A process connects its streams one after the other and sends when all are there. So the one
    with fewer streams sends first, and the rest of the other's have to connect through the queue
    that it makes.

    Args:
        cubic: Streams of the one process.
        bbr: Streams of the other one.
    """
    a_stream_s = base_rtt_s * (1 + min(buffer_bdp / 2, BUSY_CONNECT_RTTS))
    later_s = a_stream_s * abs(cubic - bbr) if cubic and bbr else 0.0
    return Starts(
        cubic_s=later_s if cubic > bbr else 0.0,
        second_s=later_s if bbr > cubic else 0.0,
        spread_s=0.0,
        connecting_s=base_rtt_s * (min(cubic, bbr) or max(cubic, bbr)),
    )


def _recorded(record: TrialRecord, second: str) -> tuple[float, float] | None:
    """When CUBIC and the second CCA really began to send, in seconds after the first."""
    began = [
        [s.start_ns for s in record.spans if s.strategy == name and s.start_ns is not None]
        for name in (CUBIC, second)
    ]
    if not all(began):
        return None
    cubic, other = (min(side) / NS_PER_S for side in began)
    return cubic - min(cubic, other), other - min(cubic, other)


def _planned(
    scenario: Scenario, state: State, records: Sequence[TrialRecord], second: str
) -> Starts:
    """One spread for both: the mean of what each CCA's flows have, weighted by flows.

    A CCA's own start is such that the mean of its flows' is as planned.
    """
    settles = isinstance(scenario.duration, SettledDuration)
    repetitions = [record.repetition for record in records] or [0]
    jitter_s = fmean(
        most_jitter_ns(scenario.start, scenario.start_jitter, settles, r) / NS_PER_S
        for r in repetitions
    )
    planned = _planned_s(scenario, state, second)
    flows = sum(map(len, planned.values()))
    apart_s = sum(len(s) * (max(s) - min(s)) for s in planned.values() if s) / flows
    first = {name: max(0.0, fmean(s) - apart_s / 2) if s else 0.0 for name, s in planned.items()}
    return Starts(first[CUBIC], first[second], jitter_s + apart_s)


def _planned_s(scenario: Scenario, state: State, second: str) -> dict[str, list[float]]:
    """CUBIC and the second CCA -> planned start of each of their flows."""
    starts: dict[str, list[float]] = {CUBIC: [], second: []}
    index = 0
    for group, counts in zip(scenario.mixed, state, strict=True):
        for strategy, count in zip(scenario.strategies, counts, strict=True):
            for number in range(index, index + count):
                planned_ns = planned_start_ns(scenario.start, strategy, number)
                starts.setdefault(strategy, []).append(
                    (group.start_offset.ns + planned_ns) / NS_PER_S
                )
            index += count
    return {name: starts[name] for name in (CUBIC, second)}
