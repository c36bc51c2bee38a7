"""The gate on losses outside the bottleneck that no counter tells of and that TCP repaired."""

from __future__ import annotations

from ..contract.strain import Repeated
from ..contract.trial import Gate
from .measurement import TrialMeasurement

NAME = "no_repaired_loss"


def repeated_payload(trial: TrialMeasurement) -> tuple[Repeated, ...] | None:
    """Flows of which something was sent again besides what the bottleneck dropped.

    What a sender sent again arrived at the bottleneck again, to be dropped or to leave. So of
    payload that arrived more often than once there is as much as was sent again, or more by what
    it sent again after its report; if there is less, copies were lost on the way to the bottleneck.
    """
    postcards = trial.evidence.postcards
    if postcards is None:
        return None
    found = (
        Repeated(
            flow=flow.index,
            bytes=postcards.streams[flow.index].repeated,
            packets=postcards.repeats[flow.index].packets,
            late=postcards.repeats[flow.index].late,
            longest_ns=postcards.repeats[flow.index].longest_ns,
            missing_bytes=max(
                0,
                trial.sender.flows[flow.index].bytes_retrans
                - postcards.arrivals[flow.index].repeated,
            ),
        )
        for flow in trial.attempt.flows
    )
    return tuple(flow for flow in found if flow.bytes or flow.missing_bytes)


def no_repaired_loss(trial: TrialMeasurement) -> Gate:
    """Nothing was sent again because it was lost before or behind the bottleneck.

    Copies that were sent without need are none of it: they come sooner than the news could.
    """
    flows = repeated_payload(trial)
    if flows is None:
        return _gate(True, None, "not judged: needs all postcards")
    if trial.counters.lane.random_loss_packets:
        return _gate(True, None, "not judged: the scenario has packets lost at random")
    wrong = [flow for flow in flows if flow.late or flow.missing_bytes]
    detail = "; ".join(
        f"flow {flow.flow}: {flow.late} packets lost behind the bottleneck, "
        f"{flow.missing_bytes} bytes before it"
        for flow in wrong[:3]
    )
    packets = sum(flow.packets for flow in flows)
    return _gate(not wrong, len(wrong), detail or f"{packets} packets sent again without need")


def _gate(passed: bool, value: int | None, detail: str) -> Gate:
    limit = None if value is None else 0
    return Gate(name=NAME, passed=passed, value=value, limit=limit, unit="flows", detail=detail)
