"""A mix of a scenario as models are asked about it: a competition with its starts and windows."""

from collections.abc import Sequence
from statistics import fmean

from nashbed.controlplane.contract.course import SettledDuration
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import Hosts
from nashbed.controlplane.contract.trial import Setting, TrialRecord, scenario_at
from nashbed.controlplane.contract.units import NS_PER_S, PACKET_BYTES

from ..state import State, strategy_totals
from .competition import Competition, cubic_against
from .starts import BBR, CUBIC, Starts, iperf3_starts, starts_of

SEND_BUFFER_OF_PACKET = 2600
"""Bytes of a send buffer that a packet in flight takes, the kernel's overhead and what is not sent
yet included: with tcp_wmem of 4 MiB, 1,613 packets were in flight, `sndbuf_limited` (kernel 6.1,
panel-500mbit-short)."""
SEGMENT_BYTES = 1448


def problem_of(scenario: Scenario, setting: Setting, state: State) -> str | None:
    """Why the models do not speak of a mix; None if they do."""
    flows = dict(zip(scenario.strategies, strategy_totals(state), strict=True))
    others = sorted(name for name in flows if name not in (CUBIC, BBR) and flows[name])
    if others:
        return f"it has {others[0]} flows"
    if not (flows.get(CUBIC) and flows.get(BBR)):
        return "it has only one congestion control"
    return problem_of_setting(scenario, setting)


def problem_of_setting(scenario: Scenario, setting: Setting) -> str | None:
    """Why the models speak of no mix of a setting; None if they do."""
    if (problem := problem_of_queue(setting)) is not None:
        return problem
    if not setting.is_plain:
        return "its link changes in mid-trial, or it has a token bucket, and models know none"
    if len(scenario.mixed) < len(scenario.flows) or any(group.ends for group in scenario.flows):
        return "it has flows that end, or that are no part of the mix"
    if len(set(setting.base_rtt_ns)) > 1:
        return "its flows have several base RTTs"
    if setting.random_loss_ppb or (
        setting.random_loss_ppb is None and any(g.random_loss.ppb for g in scenario.flows)
    ):
        return "its packets are lost at random"
    return problem_of_path(scenario, setting)


def problem_of_path(scenario: Scenario, setting: Setting) -> str | None:
    """Why the models do not speak of flows on such paths; None if they do."""
    scenario = scenario_at(scenario, setting)
    if setting.back is not None:
        return "its way back has a queue, and models know none there"
    if setting.rtt_range_ns is not None:
        return "its paths change or jitter, and models know a constant base RTT"
    if any(group.loss or group.back.loss or group.back.random_loss.ppb for group in scenario.flows):
        return "its packets are lost in bursts or on the way back"
    if any(change.random_loss is not None for change in scenario.bottleneck.changes):
        return "its random loss changes in mid-trial"
    return None


def problem_of_queue(setting: Setting) -> str | None:
    """Why the models do not describe the queue of a setting; None if they do."""
    if setting.queues is not None:
        number = len(setting.queues.queues)
        return f"it has {number} queues behind one line, and models know one that is drop-tail"
    queue = setting.queue
    return None if queue.is_droptail else f"its queue is {queue.text}, and models know drop-tail"


def question_of(
    scenario: Scenario,
    setting: Setting,
    state: State,
    applied: tuple[float, float] | None = None,
    records: Sequence[TrialRecord] = (),
    second: str = BBR,
) -> Competition:
    """A mix as the models are asked about it; only where there is no `problem_of_setting`.

    Args:
        scenario: Says how flows start, how long they run, and what limits their windows.
        state: The mix: for each group, flows of each of the scenario's strategies.
        applied: Rate in bit/s and buffer in bytes that were applied; None: as requested.
        records: Trials of the mix, which say how long they took; none: as planned.
        second: The CCA beside CUBIC.
    """
    flows = dict(zip(scenario.strategies, strategy_totals(state), strict=True))
    rate_bps, buffer_bytes = applied or (setting.rate_bps, setting.buffer_bytes)
    scenario = scenario_at(scenario, setting)
    starts = starts_of(scenario, setting, state, records, second)
    duration_s, measured_from_s = _course(scenario, starts, records)
    game = cubic_against(
        rate_bps,
        setting.base_rtt_ns[0] / NS_PER_S,
        buffer_bytes,
        flows[CUBIC],
        flows[second],
        second,
        duration_s,
    )
    return game.started(starts, measured_from_s).limited(window_of(scenario.hosts))


def whole_from_s(starts: Starts) -> float:
    """Start of the measured time where each CCA is measured over its own, equally long time.

    The earlier one has the link to itself for the lead, and the later one for as long at the end. A
    competition has no end of its own for each, so half of the lead counts at the beginning.
    """
    return starts.lead_s / 2


def started_by_iperf3(game: Competition) -> Competition:
    """A game whose flows iperf3 starts, each CCA measured over its own time.

    Args:
        game: The game; its starts and its measured time play no part.
    """
    starts = iperf3_starts(game.first.flows, game.second.flows, game.base_rtt_s, game.buffer_bdp)
    return game.started(starts, whole_from_s(starts))


def window_of(hosts: Hosts) -> float | None:
    """Most that socket buffers let a flow have in flight, in bytes of frames; None: no limit.

    Args:
        hosts: What the hosts are told. Of the receive buffer half is offered as window.
    """
    packets = []
    if hosts.wmem_max is not None:
        packets.append(hosts.wmem_max.bytes / SEND_BUFFER_OF_PACKET)
    if hosts.rmem_max is not None:
        packets.append(hosts.rmem_max.bytes / 2 / SEGMENT_BYTES)
    return min(packets) * PACKET_BYTES if packets else None


def _course(
    scenario: Scenario, starts: Starts, records: Sequence[TrialRecord]
) -> tuple[float, float]:
    """End and beginning of the measured time, in seconds after the first flow may start."""
    settles, by_iperf3 = isinstance(scenario.duration, SettledDuration), scenario.start == "iperf3"
    longest_s = scenario.longest.seconds
    if scenario.window == "whole" and not settles:
        return longest_s, whole_from_s(starts)
    if records:
        windows = [_window_s(record, from_first=by_iperf3) for record in records]
        begin_s, end_s = (fmean(side) for side in zip(*windows, strict=True))
        return end_s, begin_s
    if settles:
        return longest_s, longest_s / 2  # of which the second half is looked at
    return longest_s, scenario.warmup.seconds + (starts.lead_s if by_iperf3 else 0.0)


def _window_s(record: TrialRecord, from_first: bool) -> tuple[float, float]:
    """The measured window of a trial, after its common start or after the first flow's."""
    began = [s.start_ns for s in record.spans if s.start_ns is not None] if from_first else []
    begin_s, end_s = ((t - min(began, default=0)) / NS_PER_S for t in record.window_ns)
    return begin_s, end_s
