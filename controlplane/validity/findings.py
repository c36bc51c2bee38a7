"""What a trial's measurement amounts to besides verdicts: findings for its record, and marks."""

from collections.abc import Callable

from ..contract.trial import Disturbance, Repeated, SocketLimit, WindowLimited
from .measurement import TrialMeasurement

LEAST_SHARE = 0.01
"""Smallest share of the window that is reported."""
MAX_MISSED_TICKS = 0.01
OLD_TIMESTAMP = "PAWSEstab"
"""Linux's counter of segments whose timestamp was older than the last one."""


def repeated_payload(trial: TrialMeasurement) -> tuple[Repeated, ...] | None:
    """Flows of which something was sent again besides what the bottleneck dropped.

    What a sender sent again arrived at the bottleneck again, to be dropped or to leave. So of
    payload that arrived more often than once there is as much as was sent again, or more by what
    it sent again after its report; if there is less, copies were lost on the way to the bottleneck.
    Data that takes the way back does not come here.
    """
    if trial.evidence.postcards is None:
        return None
    streams = trial.evidence.postcards.streams
    found = (
        Repeated(
            flow=flow.index,
            bytes=streams.left[flow.index].repeated,
            packets=streams.repeats[flow.index].packets,
            late=streams.repeats[flow.index].late,
            longest_ns=streams.repeats[flow.index].longest_ns,
            missing_bytes=max(
                0,
                trial.sender.flows[flow.index].bytes_retrans - streams.arrived[flow.index].repeated,
            ),
        )
        for flow in trial.attempt.flows
        if not flow.reverse
    )
    return tuple(flow for flow in found if flow.bytes or flow.missing_bytes)


def discarded_for_age(trial: TrialMeasurement) -> dict[str, int]:
    """Reordered packets that the hosts' TCP discarded, by counter; none where nothing is reordered.

    A packet that comes behind its own repair, or behind that of another one, has an older
    timestamp than the receiver has seen, and PAWS (RFC 7323, 5) discards it: that is what TCP
    makes of such a path, not a host's fault.
    """
    groups = trial.attempt.scenario.flows
    if not any(group.reorder or group.back.reorder for group in groups):
        return {}
    return {name: n for name, n in trial.losses.items() if n and name.endswith(OLD_TIMESTAMP)}


def window_limited(trial: TrialMeasurement) -> tuple[WindowLimited, ...]:
    """Flows that were held back, and whether the scenario wanted it so."""
    hosts = trial.attempt.scenario.hosts
    stated: dict[SocketLimit, bool] = {
        "receive window": hosts.rmem_max is not None,
        "send buffer": hosts.wmem_max is not None,
    }
    return tuple(
        WindowLimited(
            flow=flow.index,
            group=flow.group,
            strategy=flow.cc,
            by=by,
            share=round(share, 6),
            stated=stated[by],
        )
        for by, shares in trial.evidence.limits.shares.items()
        for flow in trial.attempt.flows
        if not flow.is_transfer and (share := float(shares[flow.index])) > LEAST_SHARE
    )


def disturbance_of(trial: TrialMeasurement) -> Disturbance:
    """The summary for a trial's record."""
    seen = trial.evidence.disturbance
    return Disturbance(
        round_trip_ns=round_trip_ns(trial),
        departures=seen.departures.count,
        late_mean_ns=seen.departures.mean_ns,
        late_max_ns=seen.departures.longest_ns,
        returns=seen.returns.count,
        error_mean_ns=seen.returns.mean_ns,
        error_max_ns=seen.returns.longest_ns,
        responses=seen.responses.count,
        response_mean_ns=seen.responses.mean_ns,
        response_max_ns=seen.responses.longest_ns,
        pauses=seen.pauses.count,
        paused_ns=seen.pauses.total_ns,
        longest_pause_ns=seen.pauses.longest_ns,
        lost=trial.disturbances.lost,
    )


def round_trip_ns(trial: TrialMeasurement) -> float:
    """The shortest round trip that a flow had on average: smallest base RTT and mean queue."""
    return trial.attempt.trial.setting.shortest_rtt_ns + trial.evidence.queueing.mean_ns


def marks_of(trial: TrialMeasurement) -> tuple[str, ...]:
    """One line for each."""
    return tuple(line for each in MARKS for line in each(trial))


def short_memory(trial: TrialMeasurement) -> tuple[str, ...]:
    """Memory or queues of the hosts that ran short without losing a segment."""
    counted = {name: count for name, count in trial.strain.pressure.items() if count}
    listed = ", ".join(f"{name} {count}" for name, count in counted.items())
    return (f"the hosts ran short: {listed}",) if listed else ()


def held_back(trial: TrialMeasurement) -> tuple[str, ...]:
    """Flows that a socket's size held back, and that the scenario does not want so."""
    return tuple(
        f"flow {flow.flow} ({flow.strategy}) was limited by its {flow.by} for "
        f"{flow.share:.1%} of the window"
        for flow in window_limited(trial)
        if not flow.stated
    )


def samples_missing(trial: TrialMeasurement) -> tuple[str, ...]:
    """Samples of TCP's state that came late or not at all: gaps in a table, not in throughput.

    Marked are more than 1 % of the ticks missed, or a mean lateness above a quarter of the
    interval. Where a target's times are exact, a gate judges both.
    """
    if trial.capabilities.time_bounds is not None:
        return ()
    limit, timer = trial.attempt.scenario.telemetry.tcp_info.ns // 4, trial.sender.lateness
    due = timer.count + timer.missed
    if timer.missed <= MAX_MISSED_TICKS * max(1, due) and timer.mean_ns <= limit:
        return ()
    late_ms = timer.mean_ns / 1e6
    return (f"samples of TCP's state: {timer.missed} of {due} missed, mean {late_ms:.3g} ms late",)


MARKS: tuple[Callable[[TrialMeasurement], tuple[str, ...]], ...] = (
    samples_missing,
    short_memory,
    held_back,
)
