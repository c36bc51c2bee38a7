"""Datagrams, of which each is sent once: what was sent, arrived, and was dropped, must agree."""

from ..contract.applications import DATAGRAM_HEADERS_BYTES, UDP
from ..plan.attempt import TrialFlow
from .measurement import TrialMeasurement


def unread_datagrams(trial: TrialMeasurement) -> list[str]:
    """Flows of datagrams whose sink read other bytes than left the bottleneck."""
    registers, found = trial.counters.flows, []
    for flow in _flows(trial):
        packets = registers.departed_packets[flow.index]
        left = registers.departed_bytes[flow.index] - packets * DATAGRAM_HEADERS_BYTES
        read = trial.sink.flows[flow.index].bytes
        if read != left:
            found.append(f"flow {flow.index}: read {read}, left the bottleneck {left}")
    return found


def datagram_problems(trial: TrialMeasurement) -> list[str]:
    """Sent = arrived at the sink + dropped in the queue + lost at random, in datagrams.

    What is lost at random is counted for the lane as a whole: it bounds what is missing before the
    queue, which is nothing where nothing is lost at random.
    """
    registers, counts = trial.counters.flows, trial.evidence.datagrams
    lost = trial.counters.lane.random_loss_packets
    found = [f"{counts.copies} datagrams arrived twice"] if counts.copies else []
    for flow in _flows(trial):
        sent, there = int(counts.sent[flow.index]), int(counts.arrived[flow.index])
        came, left = registers.arrived_packets[flow.index], registers.departed_packets[flow.index]
        if not 0 <= sent - came <= lost:
            found.append(f"flow {flow.index}: {sent} datagrams sent, {came} at the bottleneck")
        if there != left:
            found.append(f"flow {flow.index}: {left} datagrams left, {there} arrived")
    return found


def _flows(trial: TrialMeasurement) -> list[TrialFlow]:
    return [flow for flow in trial.attempt.flows if flow.cc == UDP]
