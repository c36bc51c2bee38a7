"""The validity gates: what must hold before a trial's numbers are believed.

One function each, from the facts of a trial to a verdict. A gate that this telemetry
cannot judge passes with value None and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.scenario import Scenario
from ..contract.trial import Gate, Setting
from ..plan.flows import TrialFlow
from ..targets import TelemetryTotals
from .postcard_evidence import PostcardEvidence

MIN_HEADER_BYTES = 54
MAX_HEADER_BYTES = 14 + 60 + 60
MAX_MISSED_TICKS = 0.01
MAX_LATE_DEPARTURES = 0.001
"""As for the lateness of the hosts' departures: the 99.9th percentile is what is judged."""
MIN_LATENESS_NS = 500_000
MIN_LOOP_GAP_NS = 10_000_000


@dataclass(frozen=True)
class Facts:
    """Everything that gates look at.

    Attributes:
        scenario: The scenario, for its bounds.
        setting: The trial's setting.
        flows: The flows as planned.
        ready: The sender's report before the start, by flow.
        sender: The sender's report at the end, by flow.
        sink: The sink's report at the end, by flow.
        sampling: Lateness of the sender's sampling timer.
        registers: Per-flow registers after the drain.
        lateness: Lateness of the lane's departures, and the loop's longest pause, since the
            lane was reset for this trial, in ns.
        losses: Change of every loss counter over the trial.
        telemetry: What became of the postcards.
        evidence: What all postcards prove; None when not all were kept.
        seen_first: Whether each flow was seen in the first part of the window.
        seen_last: Whether each flow was seen in the last part of the window.
    """

    scenario: Scenario
    setting: Setting
    flows: tuple[TrialFlow, ...]
    ready: dict[int, dict[str, Any]]
    sender: dict[int, dict[str, Any]]
    sink: dict[int, dict[str, Any]]
    sampling: dict[str, Any]
    registers: dict[str, list[int]]
    lateness: dict[str, Any]
    losses: dict[str, int]
    telemetry: TelemetryTotals
    evidence: PostcardEvidence | None
    seen_first: NDArray[np.bool_]
    seen_last: NDArray[np.bool_]


def judge(facts: Facts) -> tuple[Gate, ...]:
    """All verdicts."""
    return tuple(gate(facts) for gate in GATES)


def no_other_loss(facts: Facts) -> Gate:
    """No packet was lost anywhere but in the bottleneck: ports, rings, hosts' interfaces."""
    lost = {name: count for name, count in facts.losses.items() if count}
    total = sum(lost.values())
    detail = _listed([f"{name} {count}" for name, count in lost.items()]) or "none lost"
    return _gate("no_other_loss", total == 0, total, 0, "packets", detail)


def postcards_complete(facts: Facts) -> Gate:
    """No postcard was lost between the pipeline and the disk."""
    told = facts.telemetry
    missing = told.gaps + told.lost
    if facts.evidence is not None:
        missing += facts.evidence.gaps.missing + abs(told.seen - told.written)
    detail = f"{told.seen} seen, {told.written} written, {missing} missing"
    return _gate("postcards_complete", missing == 0, missing, 0, "postcards", detail)


def flows_overlapped(facts: Facts) -> Gate:
    """Every flow competed for the whole measured window.

    A starved flow that sits out a retransmission timeout still competes: it is enough that
    it was sending before the window and until its end, and that one of its packets reached
    the bottleneck (even to be dropped) in the first and in the last part of the window.
    """
    begin, end = facts.scenario.warmup.ns, facts.scenario.duration.ns
    problems = []
    for flow in facts.flows:
        told = facts.sender[flow.index]
        start_ns, end_ns = told["start_ns"], told["end_ns"]
        if told["error"] is not None:
            problems.append(f"flow {flow.index}: {told['error']}")
        elif start_ns is None or start_ns > begin or end_ns is None or end_ns < end:
            problems.append(f"flow {flow.index} sent from {start_ns} to {end_ns} ns")
        elif not (facts.seen_first[flow.index] and facts.seen_last[flow.index]):
            part = "end" if facts.seen_first[flow.index] else "beginning"
            problems.append(f"flow {flow.index} ({flow.cc}) sent nothing at the {part}")
    detail = _listed(problems) or f"all {len(facts.flows)} flows"
    return _gate("flows_overlapped", not problems, len(problems), 0, "flows", detail)


def congestion_control(facts: Facts) -> Gate:
    """Each socket's congestion control, read back, is the one that was asked for."""
    wrong = [
        f"flow {f.index}: {facts.ready[f.index]['cc_applied']!r} instead of {f.cc!r}"
        for f in facts.flows
        if facts.ready[f.index]["cc_applied"] != f.cc or facts.sender[f.index]["cc_applied"] != f.cc
    ]
    return _gate(
        "congestion_control", not wrong, len(wrong), 0, "flows", _listed(wrong) or "as asked"
    )


def lateness(facts: Facts) -> Gate:
    """Departures left when they were scheduled, as far as a flow could notice."""
    bound = facts.scenario.gates.lateness_p999
    smallest = min(facts.setting.base_rtt_ns)
    limit = max(smallest // 100, MIN_LATENESS_NS) if bound == "auto" else bound.ns
    value = int(facts.lateness["p999_ns"])
    told = f"p99.9 {value} ns, max {facts.lateness['max_ns']} ns"
    return _gate("lateness", value <= limit, value, limit, "ns", told)


def loop_gap(facts: Facts) -> Gate:
    """The data plane's loop made no pause that a flow could take for more than queueing.

    Frames wait in the ports' rings meanwhile (a ring that overflows fails another gate), so
    a pause is a burst of lateness: one of less than a base RTT is what flows meet anyway.
    Each lane keeps the longest one since it was reset, so that every trial is judged by its own.
    """
    bound = facts.scenario.gates.loop_gap
    smallest = min(facts.setting.base_rtt_ns)
    limit = max(smallest, MIN_LOOP_GAP_NS) if bound == "auto" else bound.ns
    value = int(facts.lateness["max_gap_ns"])
    return _gate("loop_gap", value <= limit, value, limit, "ns", f"longest {value} ns")


def link_busy(facts: Facts) -> Gate:
    """The link sent at the applied rate whenever the queue was not empty.

    A target whose departures are scheduled keeps this to the nanosecond. Where they are seen,
    they keep it within the target's tolerance, but for as many as may be late in any trial.
    """
    if facts.evidence is None:
        return _unknown("link_busy", "packets", "needs all postcards")
    link = facts.evidence.link
    allowed = 0 if link.is_exact else int(link.checked * MAX_LATE_DEPARTURES)
    detail = f"{link.wrong} of {link.checked} departures off, worst {link.worst_ns} ns"
    return _gate("link_busy", link.wrong <= allowed, link.wrong, allowed, "packets", detail)


def sink_bytes(facts: Facts) -> Gate:
    """What the sinks read is what left the bottleneck."""
    if facts.evidence is None:
        return _sink_bounds(facts)
    wrong = []
    for flow, streamed in zip(facts.flows, facts.evidence.stream_bytes(), strict=True):
        read = facts.sink[flow.index]["bytes"]
        if streamed != read:
            wrong.append(f"flow {flow.index}: read {read}, left the bottleneck {streamed}")
    return _gate("sink_bytes", not wrong, len(wrong), 0, "flows", _listed(wrong) or "exact")


def _sink_bounds(facts: Facts) -> Gate:
    """Without all postcards: sink bytes within what headers and repetitions leave open."""
    slack = facts.setting.largest_window_bytes
    wrong = []
    for flow in facts.flows:
        packets = facts.registers["departed_packets"][flow.index]
        wire = facts.registers["departed_bytes"][flow.index]
        most = wire - packets * MIN_HEADER_BYTES
        repeated = facts.sender[flow.index]["bytes_retrans"]
        least = wire - packets * MAX_HEADER_BYTES - repeated - slack
        read = facts.sink[flow.index]["bytes"]
        if not least <= read <= most:
            wrong.append(f"flow {flow.index}: read {read}, expected {least} to {most}")
    detail = _listed(wrong) or "within bounds from the registers"
    return _gate("sink_bytes", not wrong, len(wrong), 0, "flows", detail)


def conservation(facts: Facts) -> Gate:
    """Arrived = departed + dropped + in queue, per flow, by registers and by postcards."""
    registers = {name: np.array(values, np.int64) for name, values in facts.registers.items()}
    problems = _register_problems(registers)
    if facts.evidence is not None:
        problems += _postcard_problems(facts.evidence, registers)
    detail = _listed(problems) or "exact"
    return _gate("conservation", not problems, len(problems), 0, "findings", detail)


def _register_problems(registers: dict[str, NDArray[np.int64]]) -> list[str]:
    bytes_off = registers["arrived_bytes"] - (
        registers["departed_bytes"] + registers["dropped_bytes"] + registers["in_queue_bytes"]
    )
    packets_off = registers["arrived_packets"] - (
        registers["departed_packets"] + registers["dropped_packets"]
    )
    problems = [f"flow {i}: {bytes_off[i]} bytes unaccounted" for i in np.flatnonzero(bytes_off)]
    problems += [f"flow {i}: {packets_off[i]} packets gone" for i in np.flatnonzero(packets_off)]
    left = np.flatnonzero(registers["in_queue_bytes"])
    return problems + [f"flow {i}: bytes left in the drained queue" for i in left]


def _postcard_problems(
    evidence: PostcardEvidence, registers: dict[str, NDArray[np.int64]]
) -> list[str]:
    problems = []
    for name in ("departed_packets", "departed_bytes", "dropped_packets", "dropped_bytes"):
        told: NDArray[np.int64] = getattr(evidence.totals, name)
        for i in np.flatnonzero(told != registers[name]):
            problems.append(
                f"flow {i}: {name} {told[i]} by postcards, {registers[name][i]} by registers"
            )
    if evidence.depth.wrong:
        problems.append(f"{evidence.depth.wrong} packets met another queue than postcards tell")
    return problems


def sampling(facts: Facts) -> Gate:
    """The flow generator sampled TCP's state when it was due."""
    interval = facts.scenario.telemetry.tcp_info.ns
    bound = facts.scenario.gates.sampling_lateness
    limit = interval // 4 if bound == "auto" else bound.ns
    told = facts.sampling
    late, missed, due = int(told["mean_ns"]), int(told["missed"]), int(told["count"])
    passed = late <= limit and missed <= MAX_MISSED_TICKS * max(1, due + missed)
    detail = f"mean {late} ns, {missed} of {due + missed} ticks missed"
    return _gate("sampling", passed, late, limit, "ns", detail)


GATES: tuple[Callable[[Facts], Gate], ...] = (
    no_other_loss,
    postcards_complete,
    flows_overlapped,
    congestion_control,
    lateness,
    loop_gap,
    link_busy,
    sink_bytes,
    conservation,
    sampling,
)


def _gate(
    name: str, passed: bool, value: float | None, limit: float | None, unit: str, detail: str
) -> Gate:
    return Gate(name=name, passed=bool(passed), value=value, limit=limit, unit=unit, detail=detail)


def _unknown(name: str, unit: str, why: str) -> Gate:
    return _gate(name, True, None, None, unit, f"not judged: {why}")


def _listed(items: Sequence[str], most: int = 3) -> str:
    shown = "; ".join(items[:most])
    return shown + (f"; and {len(items) - most} more" if len(items) > most else "")
