"""The validity gates: what must hold before a trial's numbers count.

One function each, from what was measured to a verdict. A gate that this telemetry or target
cannot judge, or need not, passes without a limit and says so.
"""

import errno
import math
import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..contract.applications import UDP
from ..contract.messages.dataplane import FlowRegisters
from ..contract.messages.flows import SenderFlowReport
from ..contract.trial import Gate, Kind
from ..contract.units import NS_PER_S
from ..plan.attempt import TrialFlow
from .datagrams import datagram_problems, unread_datagrams
from .findings import discarded_for_age, repeated_payload, round_trip_ns
from .measurement import TrialMeasurement, spans
from .postcard_evidence import PostcardEvidence

MIN_HEADER_BYTES = 54
MAX_HEADER_BYTES = 14 + 60 + 60
SEGMENT_BITS = 8 * 1448
START_MARGIN_NS = 100_000_000
"""In which a flow must be running once it was to start: none does at the very instant."""
MAX_LATE_DEPARTURES = 0.001
"""As for the lateness of the hosts' departures: the 99.9th percentile is what is judged."""
MIN_LATENESS_NS = 500_000
MIN_LOOP_GAP_NS = 10_000_000
ROUND_TRIP_ERROR = 0.01
PAUSED = 0.015
"""Measured with 2 CUBIC and 2 BBR flows at 40 ms and 2 BDP (docs/explanation/disturbances.md):
pauses of 20 ms move BBR's share by 0.8 +- 1.3 points when they are 1.05 % of the time, and by 5.5
+- 1.4 points when they are 2.15 %."""
WINDOW_GOODPUT = 0.1
"""Measured in windows of 24 s and more, 1 to 50 BDP, 1 to 4 flows of each strategy: at most 0.024;
in windows shorter than the full queue lasts: 0.58 to 4.5. No bound follows from physics: a hole
outlasts a round trip where its repair is lost, and new data goes on meanwhile."""
STARVED = os.strerror(errno.ETIMEDOUT)
"""Why a transfer's connection ends that nothing came through for minutes."""
RETRANSMISSION_NS = 200_000_000
"""TCP_RTO_MIN of Linux."""


def judge(trial: TrialMeasurement) -> tuple[Gate, ...]:
    """All verdicts."""
    return tuple(gate(trial) for gate in GATES)


def no_other_loss(trial: TrialMeasurement) -> Gate:
    """No packet was lost anywhere but in the bottleneck: ports, rings, hosts' interfaces.

    What a scenario reorders TCP itself may discard, see `discarded_for_age`.
    """
    for_age = discarded_for_age(trial)
    lost = {name: n for name, n in trial.losses.items() if n > 0 and name not in for_age}
    total = sum(lost.values())
    detail = _listed([f"{name} {count}" for name, count in lost.items()]) or "none lost"
    if for_age:
        detail += f"; TCP discarded {sum(for_age.values())} reordered packets for their age (PAWS)"
    return _gate("no_other_loss", total == 0, total, 0, "packets", detail)


def links_up(trial: TrialMeasurement) -> Gate:
    """No cable lost its link: what is sent meanwhile vanishes, and not every NIC counts it."""
    lost = [f"{name} {count}" for name, count in trial.link_downs.items() if count]
    total = sum(trial.link_downs.values())
    return _gate("links_up", total == 0, total, 0, "times", _listed(lost) or "no link lost")


def no_repaired_loss(trial: TrialMeasurement) -> Gate:
    """Nothing was sent again because it was lost before or behind the bottleneck.

    Copies that were sent without need are none of it: they come sooner than the news could.
    """
    flows = repeated_payload(trial)
    if flows is None:
        return _unknown("no_repaired_loss", "flows", "needs all postcards")
    if trial.counters.lane.random_loss_packets:
        return _unknown("no_repaired_loss", "flows", "the scenario has packets lost at random")
    if trial.return_queue is not None and trial.return_queue.dropped_packets:
        dropped = f"the way back dropped {trial.return_queue.dropped_packets} packets"
        return _unknown("no_repaired_loss", "flows", dropped)
    if for_age := discarded_for_age(trial):
        discarded = f"TCP discarded {sum(for_age.values())} reordered packets for their age (PAWS)"
        return _unknown("no_repaired_loss", "flows", discarded)
    wrong = [flow for flow in flows if flow.late or flow.missing_bytes]
    detail = "; ".join(
        f"flow {flow.flow}: {flow.late} packets lost behind the bottleneck, "
        f"{flow.missing_bytes} bytes before it"
        for flow in wrong[:3]
    )
    packets = sum(flow.packets for flow in flows)
    detail = detail or f"{packets} packets sent again without need"
    return _gate("no_repaired_loss", not wrong, len(wrong), 0, "flows", detail)


def postcards_complete(trial: TrialMeasurement) -> Gate:
    """No postcard was lost between the pipeline and the disk."""
    totals = trial.telemetry
    missing = totals.gaps + totals.lost
    if trial.evidence.postcards is not None:
        missing += trial.evidence.postcards.gaps.missing + abs(totals.seen - totals.written)
    detail = f"{totals.seen} seen, {totals.written} written, {missing} missing"
    return _gate("postcards_complete", missing == 0, missing, 0, "postcards", detail)


def flows_overlapped(trial: TrialMeasurement) -> Gate:
    """Every flow competed for the whole measured window.

    Starvation is an outcome: a flow that sits out retransmission timeouts still competes. It is
    enough that it was sending before the window (or at once, where it starts with it) and until its
    end, and that it was seen in the
    first and in the last part of the window: by a packet that reached the bottleneck (even to be
    dropped), or by a sample of its socket with data yet to be sent or acknowledged. Background
    that begins late does so by plan, and is looked at from then on. Of a transfer it is an outcome,
    too, that it was not complete by the end; its connection must not have broken. A flow that
    pauses on purpose need not be seen where its application may have nothing to send.
    """
    own = _own_windows(trial)
    problems = []
    for flow in trial.attempt.flows:
        report = trial.sender.flows[flow.index]
        begin, end = own[flow.group, flow.cc]
        late = not flow.mixed and flow.start_ns > begin
        begin = max(begin, flow.start_ns + START_MARGIN_NS)
        start_ns, end_ns = report.start_ns, report.end_ns
        if report.error is not None and not (flow.is_transfer and report.error == STARVED):
            problems.append(f"flow {flow.index}: {report.error}")
        elif flow.is_transfer:
            continue
        elif start_ns is None or start_ns > begin or end_ns is None or end_ns < end:
            problems.append(f"flow {flow.index} sent from {start_ns} to {end_ns} ns")
        elif not all(seen := sightings(trial, flow, late=late)):
            part = "end" if seen[0] else "beginning"
            problems.append(
                f"flow {flow.index} ({flow.cc}) sent nothing at the {part}, and had nothing to send"
            )
    detail = _listed(problems) or f"all {len(trial.attempt.flows)} flows"
    return _gate("flows_overlapped", not problems, len(problems), 0, "flows", detail)


def sightings(trial: TrialMeasurement, flow: TrialFlow, *, late: bool) -> tuple[bool, bool]:
    """Whether a flow was seen in the first and in the last part of the window, or need not be.

    Args:
        late: Whether it begins after the window's beginning by plan.
    """
    edges, app = trial.evidence.edges, trial.attempt.scenario.flows[flow.group].app
    excused = [
        app is not None
        and app.pauses
        and not app.must_send(begin - flow.start_ns, end - flow.start_ns)
        for begin, end in edges.parts
    ]
    excused = [
        each or _too_slow_to_be_seen(trial, flow, part)
        for each, part in zip(excused, edges.parts, strict=True)
    ]
    first = late or excused[0] or bool(edges.first[flow.index])
    return first, excused[1] or bool(edges.last[flow.index])


def _too_slow_to_be_seen(trial: TrialMeasurement, flow: TrialFlow, part: tuple[int, int]) -> bool:
    """Whether what a flow sends by plan may leave so long a part of the window without a packet."""
    group = trial.attempt.scenario.flows[flow.group]
    gap_ns = 0
    if group.udp is not None:
        gap_ns = max(group.udp.gap_ns, 0 if group.udp.every is None else group.udp.every.ns)
        gap_ns = max(gap_ns, 1)
    elif group.app is not None and group.app.rate is not None:
        gap_ns = SEGMENT_BITS * 10**9 // group.app.rate.bps
    begin, end = part
    reaches_ns = flow.start_ns + trial.attempt.trial.setting.base_rtt_ns[flow.group]
    return gap_ns > 0 and end - max(begin, reaches_ns) < gap_ns


def _own_windows(trial: TrialMeasurement) -> dict[Kind, tuple[int, int]]:
    """When the flows of each group and strategy have to send.

    Where each strategy is measured over its own span, that is from when all of its flows should
    have started until the first of them ends.
    """
    flows = trial.attempt.flows
    if trial.attempt.scenario.window != "whole":
        return dict.fromkeys(((flow.group, flow.cc) for flow in flows), trial.window_ns)
    found = {}
    for span in spans(flows, trial.sender, trial.sink):
        planned = [flow.start_ns for flow in flows if (flow.group, flow.cc) == span.kind]
        late_ns = max(planned) - min(planned) + START_MARGIN_NS
        found[span.kind] = ((span.start_ns or 0) + late_ns, span.end_ns or 0)
    return found


def congestion_control(trial: TrialMeasurement) -> Gate:
    """Each socket's CCA, read back, is the one that was asked for."""
    asked = {flow.index: flow.cc for flow in trial.attempt.flows}
    read = [(ready.flow, ready.cc_applied) for ready in trial.ready]
    read += [(end.flow, end.cc_applied) for end in trial.sender.flows if _was_connected(trial, end)]
    wrong = [
        f"flow {flow}: {applied!r} instead of {asked[flow]!r}"
        for flow, applied in dict.fromkeys(read)
        if asked[flow] not in {UDP, applied}
    ]
    return _gate(
        "congestion_control", not wrong, len(wrong), 0, "flows", _listed(wrong) or "as asked"
    )


def _was_connected(trial: TrialMeasurement, end: SenderFlowReport) -> bool:
    """Not so a transfer that never came, or that took another's connection."""
    return not trial.attempt.flows[end.flow].is_transfer or end.connect_ns is not None


def ecn(trial: TrialMeasurement) -> Gate:
    """Each connection has ECN if it was asked for, and only then."""
    wrong = [
        f"flow {flow.index} ({flow.cc}) {'has no' if flow.ecn else 'has'} ECN"
        for flow, end in zip(trial.attempt.flows, trial.sender.flows, strict=True)
        if end.ecn != flow.ecn and _was_connected(trial, end)
    ]
    return _gate("ecn", not wrong, len(wrong), 0, "flows", _listed(wrong) or "as asked")


def round_trips(trial: TrialMeasurement) -> Gate:
    """Round trips were no longer than base RTT and queue made them, as far as TCP can notice.

    What counts is what was left of lateness when an acknowledgement went back to its sender. A
    TCP's rate goes with 1/RTT (Mathis et al. 1997, CCR 27(3)), so that round trips
    1 % too long on average move a rate by at most about 1 %. The RTT is the smallest base RTT and
    the mean queueing delay of the window. One hold-up of more than that empties the pipe, and one
    of 200 ms is a retransmission timeout (TCP_RTO_MIN of Linux), so that the longest must be
    below both. Where the target's times are exact, nothing may be late at all.
    """
    seen, lost = trial.evidence.disturbance.returns, trial.disturbances.lost
    if lost:
        detail = f"{lost} records of what held frames up were lost"
        return _gate("round_trips", False, lost, 0, "records", detail)
    if not seen.count:
        return _unknown("round_trips", "ns", "nothing came back in the window")
    value, limit = seen.mean_ns, _mean_error_limit(trial)
    longest_limit = _hold_up_limit(trial)
    if trial.capabilities.time_bounds is not None:
        longest_limit = trial.capabilities.time_bounds.departure_ns
    if seen.longest_ns > longest_limit:
        value, limit = seen.longest_ns, longest_limit
    return _gate("round_trips", value <= limit, value, limit, "ns", _round_trip_text(trial))


def _mean_error_limit(trial: TrialMeasurement) -> float:
    bound = trial.attempt.scenario.gates.round_trip_error
    share = ROUND_TRIP_ERROR if bound == "auto" else bound.fraction
    return share * round_trip_ns(trial)


def _hold_up_limit(trial: TrialMeasurement) -> float:
    bound = trial.attempt.scenario.gates.longest_hold_up
    return min(round_trip_ns(trial), RETRANSMISSION_NS) if bound == "auto" else bound.ns


def _round_trip_text(trial: TrialMeasurement) -> str:
    evidence, whole_ns = trial.evidence.disturbance, round_trip_ns(trial)
    mean_ns, pauses = evidence.returns.mean_ns, evidence.pauses
    paused = f"{pauses.count} pauses, longest {_ms(pauses.longest_ns)}" if pauses.count else ""
    return (
        f"round trips {_ms(mean_ns)} too long on average "
        f"({100 * mean_ns / whole_ns:.2g} % of {_ms(whole_ns)}), "
        f"at most {_ms(evidence.returns.longest_ns)}; {paused or 'no pause'}"
    )


def paused(trial: TrialMeasurement) -> Gate:
    """The data plane's loop ran for nearly all of the window.

    A pause moves no stamped arrival, and round trips are hardly longer on average for many short
    ones. But acknowledgements that are due within it come in one burst after it: what waits for
    them (CUBIC) stops and then bursts, and what is paced (BBR) takes its place meanwhile.
    """
    seen, bound = trial.evidence.disturbance.pauses, trial.attempt.scenario.gates.paused
    begin, end = trial.window_ns
    whole_ns, share = end - begin, PAUSED if bound == "auto" else bound.fraction
    value, limit = seen.total_ns, share * whole_ns
    detail = f"paused for {100 * value / whole_ns:.2g} % of the window, {seen.count} times"
    return _gate("paused", value <= limit, value, limit, "ns", detail)


def responses(trial: TrialMeasurement) -> Gate:
    """The hosts answered in time: the core of the flows was not taken away.

    Senders are asked by ICMP echoes of the data plane's own; receivers answer frames by
    acknowledgements, counted where no timer can have put them off and no switch's queue lies
    between: not of flows that repair a loss or have fewer than four packets in flight
    (docs/explanation/disturbances.md). The bound is that of one hold-up in `round_trips`. Where the
    target's times are exact no core can be taken away, and nothing is judged.
    """
    seen = trial.evidence.disturbance.responses
    if not seen.count:
        return _unknown("responses", "ns", "nobody was asked in the window")
    value, limit = seen.longest_ns, _hold_up_limit(trial)
    detail = f"answered after {_ms(seen.mean_ns)} on average, {_ms(value)} at most"
    if trial.capabilities.time_bounds is not None:
        return _not_judged("responses", value, "ns", f"times are exact; {detail}")
    return _gate("responses", value <= limit, value, limit, "ns", detail)


def lateness(trial: TrialMeasurement) -> Gate:
    """Departures left when they were scheduled, where nothing compensates for late ones.

    That is where the bottleneck is a switch beside the hosts: a late frame meets another queue
    there. Elsewhere the return path compensates for late departures and `round_trips` judges what
    remains. Where the target's times are exact, no departure may be late.
    """
    measured = trial.counters.lane.lateness
    if trial.capabilities.time_bounds is not None:
        latest, most = measured.max_ns, trial.capabilities.time_bounds.departure_ns
        return _gate("lateness", latest <= most, latest, most, "ns", f"max {latest} ns")
    value = measured.p999_ns
    detail = f"p99.9 {value} ns, max {measured.max_ns} ns"
    if not trial.capabilities.switch_beside:
        return _not_judged("lateness", value, "ns", f"the return path compensates; {detail}")
    bound = trial.attempt.scenario.gates.lateness_p999
    smallest = trial.attempt.trial.setting.shortest_rtt_ns
    limit = max(smallest // 100, MIN_LATENESS_NS) if bound == "auto" else bound.ns
    return _gate("lateness", value <= limit, value, limit, "ns", detail)


def loop_gap(trial: TrialMeasurement) -> Gate:
    """The data plane's loop made no pause in the window that a flow could take for a queue.

    Judged where no port stamps arrivals: a pause there makes a hole and a burst of what arrives
    meanwhile. Where the kernel stamps them, a pause moves no arrival, and `round_trips` judges
    what it did to departures. A loop that sleeps pauses of its own accord. Where the target's
    times are exact, the longest pause since the lane was reset is judged.
    """
    can, seen = trial.capabilities, trial.evidence.disturbance.pauses
    if can.time_bounds is not None:
        value, most = trial.counters.lane.lateness.max_gap_ns, can.time_bounds.loop_gap_ns
        return _gate("loop_gap", value <= most, value, most, "ns", f"longest {value} ns")
    value = seen.longest_ns
    detail = f"{seen.count} pauses in the window, longest {_ms(value)}"
    if can.arrival_stamps:
        return _not_judged("loop_gap", value, "ns", f"arrivals are stamped; {detail}")
    if not can.loop_polls:
        return _unknown("loop_gap", "ns", "the loop sleeps (dataplane.loop)")
    bound = trial.attempt.scenario.gates.longest_hold_up
    smallest = trial.attempt.trial.setting.shortest_rtt_ns
    limit = max(smallest, MIN_LOOP_GAP_NS) if bound == "auto" else bound.ns
    return _gate("loop_gap", value <= limit, value, limit, "ns", detail)


def link_busy(trial: TrialMeasurement) -> Gate:
    """The link sent at the applied rate whenever the queue was not empty.

    A target whose departures are scheduled keeps this to the nanosecond. Where they are seen,
    they keep it within the target's tolerance, but for as many as may be late in any trial.
    """
    if trial.evidence.postcards is None:
        return _unknown("link_busy", "packets", "needs all postcards")
    link = trial.evidence.postcards.link
    allowed = 0 if link.is_exact else int(link.checked * MAX_LATE_DEPARTURES)
    detail = f"{link.wrong} of {link.checked} departures off, worst {link.worst_ns} ns"
    return _gate("link_busy", link.wrong <= allowed, link.wrong, allowed, "packets", detail)


def sink_bytes(trial: TrialMeasurement) -> Gate:
    """What the sinks read is what left the bottleneck.

    What TCP discarded for its age and the sender did not send again until the end is a hole that
    postcards do not show: what lies behind it is at most a window. Data that takes the way back has
    no postcards: of it that is read which was sent once, but for a window.
    """
    if trial.evidence.postcards is None:
        return _sink_bounds(trial)
    wrong = []
    slack = trial.attempt.trial.setting.largest_window_bytes if discarded_for_age(trial) else 0
    readable = trial.evidence.postcards.streams.readable_bytes()
    for flow, streamed in zip(trial.attempt.flows, readable, strict=True):
        read = trial.sink.flows[flow.index].bytes
        never_opened = streamed is None and read == 0 and flow.is_transfer
        behind = streamed is not None and 0 <= streamed - read <= slack
        if flow.reverse or flow.program is not None:
            continue
        if flow.cc != UDP and not behind and not never_opened:
            wrong.append(f"flow {flow.index}: read {read}, left the bottleneck {streamed}")
    wrong += unread_datagrams(trial) + _unread_of_reverse(trial)
    return _gate("sink_bytes", not wrong, len(wrong), 0, "flows", _listed(wrong) or "exact")


def _unread_of_reverse(trial: TrialMeasurement) -> list[str]:
    """Compare what was read of data on the way back with what was sent."""
    slack, wrong = trial.attempt.trial.setting.largest_window_bytes, []
    for flow in trial.attempt.flows:
        sender, read = trial.sender.flows[flow.index], trial.sink.flows[flow.index].bytes
        once = sender.bytes_sent - sender.bytes_retrans
        if flow.reverse and not 0 <= once - read <= slack:
            wrong.append(f"flow {flow.index}: read {read}, sent {once}")
    return wrong


def _sink_bounds(trial: TrialMeasurement) -> Gate:
    """Without all postcards: sink bytes within what headers and repetitions leave open."""
    slack = trial.attempt.trial.setting.largest_window_bytes
    wrong = []
    for flow in trial.attempt.flows:
        packets = trial.counters.flows.departed_packets[flow.index]
        wire = trial.counters.flows.departed_bytes[flow.index]
        most = wire - packets * MIN_HEADER_BYTES
        repeated = trial.sender.flows[flow.index].bytes_retrans
        least = wire - packets * MAX_HEADER_BYTES - repeated - slack
        read = trial.sink.flows[flow.index].bytes
        judged = flow.cc != UDP and not flow.reverse and flow.program is None
        if judged and not least <= read <= most:
            wrong.append(f"flow {flow.index}: read {read}, expected {least} to {most}")
    wrong += unread_datagrams(trial) + _unread_of_reverse(trial)
    detail = _listed(wrong) or "within bounds from the registers"
    return _gate("sink_bytes", not wrong, len(wrong), 0, "flows", detail)


def window_goodput(trial: TrialMeasurement) -> Gate:
    """What the sinks read in the window is what left the bottleneck in it.

    TCP hands over in order: what is behind a hole when the window begins is read in it, although it
    left before, and what is behind one when it ends is not read in it. Where each strategy is
    measured over its own span, all that was read counts.
    """
    if trial.attempt.scenario.window == "whole":
        return _not_judged("window_goodput", None, "1", "the window is the whole trial")
    if trial.evidence.postcards is None:
        return _window_total(trial)
    streams = trial.evidence.postcards.streams
    flows = [f.index for f in trial.attempt.flows if not (f.is_transfer or f.reverse)]
    late = -np.diff(streams.behind_holes[:, flows], axis=0)[0]
    left = np.diff((streams.readable + streams.behind_holes)[:, flows], axis=0).sum()
    if not late.any():
        return _window_gate(trial, 0.0, "exact")
    value, most = float(np.abs(late).sum() / max(1, left)), int(np.abs(late).argmax())
    where = "had left before it" if late[most] > 0 else "were behind a hole at its end"
    detail = (
        f"holes shift {100 * value:.2g} % of the window's payload; "
        f"of flow {flows[most]}, {abs(late[most])} bytes {where}"
    )
    return _window_gate(trial, value, detail)


def _window_total(trial: TrialMeasurement) -> Gate:
    """Without all postcards: the sinks read no more than the link can carry."""
    saved = 0 if (shaper := trial.applied.shaper) is None else shaper.burst.bytes
    carried = trial.applied.link.capacity_bits(*trial.window_ns) / 8 + saved
    flows = [flow.index for flow in trial.attempt.flows if not flow.reverse]
    read = int(trial.evidence.read.bytes[flows].sum())
    value = max(0.0, (read - carried) / max(1.0, carried))
    detail = f"{read} bytes were read in the window, in which the link carries {carried:.0f}"
    return _window_gate(trial, value, detail)


def _window_gate(trial: TrialMeasurement, value: float, detail: str) -> Gate:
    passed = value <= WINDOW_GOODPUT
    if not passed:
        begin, end = trial.window_ns
        least_s = math.ceil((end - begin) / NS_PER_S * value / WINDOW_GOODPUT)
        detail += f"; make the window (duration less warmup) {least_s} s or longer"
    return _gate("window_goodput", passed, value, WINDOW_GOODPUT, "1", detail)


def conservation(trial: TrialMeasurement) -> Gate:
    """Arrived = departed + dropped + in queue, per flow, by registers and by postcards.

    A mark is no loss: what was marked has departed, and both count the same marks. Of datagrams,
    which nobody sends again, what was sent and what was received is counted as well.
    """
    registers = trial.counters.flows
    problems = _register_problems(registers)
    if trial.evidence.postcards is not None:
        problems += _postcard_problems(trial.evidence.postcards, registers)
    problems += datagram_problems(trial)
    detail = _listed(problems) or "exact"
    return _gate("conservation", not problems, len(problems), 0, "findings", detail)


def _register_problems(registers: FlowRegisters) -> list[str]:
    bytes_off = _each(registers.arrived_bytes) - (
        _each(registers.departed_bytes)
        + _each(registers.dropped_bytes)
        + _each(registers.in_queue_bytes)
    )
    packets_off = _each(registers.arrived_packets) - (
        _each(registers.departed_packets) + _each(registers.dropped_packets)
    )
    problems = [f"flow {i}: {bytes_off[i]} bytes unaccounted" for i in np.flatnonzero(bytes_off)]
    problems += [f"flow {i}: {packets_off[i]} packets gone" for i in np.flatnonzero(packets_off)]
    left = np.flatnonzero(_each(registers.in_queue_bytes))
    return problems + [f"flow {i}: bytes left in the drained queue" for i in left]


def _postcard_problems(evidence: PostcardEvidence, registers: FlowRegisters) -> list[str]:
    problems = []
    for name in (
        *("departed_packets", "departed_bytes", "dropped_packets", "dropped_bytes"),
        *("marked_packets", "marked_bytes"),
    ):
        by_postcards: NDArray[np.int64] = getattr(evidence.totals, name)
        by_registers = _each(getattr(registers, name))
        for i in np.flatnonzero(by_postcards != by_registers):
            problems.append(
                f"flow {i}: {name} {by_postcards[i]} by postcards, {by_registers[i]} by registers"
            )
    if evidence.depth.wrong:
        problems.append(
            f"{evidence.depth.wrong} packets met another queue than their postcards add up to"
        )
    return problems


def _each(register: Sequence[int]) -> NDArray[np.int64]:
    return np.array(register, np.int64)


def sampling(trial: TrialMeasurement) -> Gate:
    """The flow generator sampled TCP's state when it was due, where times are exact.

    In real time a sample that is missing is a gap in a table and changes no throughput: the trial
    is marked instead (`validity/findings.py`).
    """
    timer, bounds = trial.sender.lateness, trial.capabilities.time_bounds
    late, missed, due = timer.mean_ns, timer.missed, timer.count
    detail = f"mean {late} ns, {missed} of {due + missed} ticks missed"
    if bounds is None:
        return _not_judged("sampling", late, "ns", f"a mark tells; {detail}")
    passed = late <= bounds.sampling_ns and missed == 0
    return _gate("sampling", passed, late, bounds.sampling_ns, "ns", detail)


GATES: tuple[Callable[[TrialMeasurement], Gate], ...] = (
    no_other_loss,
    links_up,
    no_repaired_loss,
    postcards_complete,
    flows_overlapped,
    congestion_control,
    ecn,
    round_trips,
    paused,
    responses,
    lateness,
    loop_gap,
    link_busy,
    sink_bytes,
    window_goodput,
    conservation,
    sampling,
)


def _gate(
    name: str, passed: bool, value: float | None, limit: float | None, unit: str, detail: str
) -> Gate:
    return Gate(name=name, passed=bool(passed), value=value, limit=limit, unit=unit, detail=detail)


def _unknown(name: str, unit: str, why: str) -> Gate:
    return _not_judged(name, None, unit, why)


def _not_judged(name: str, value: float | None, unit: str, why: str) -> Gate:
    return _gate(name, True, value, None, unit, f"not judged: {why}")


def _ms(duration_ns: float) -> str:
    return f"{duration_ns / 1e6:.3g} ms"


def _listed(items: Sequence[str], most: int = 3) -> str:
    shown = "; ".join(items[:most])
    return shown + (f"; and {len(items) - most} more" if len(items) > most else "")
