"""What the flow generators of an attempt are told: the configuration files of nashbed-flows."""

from __future__ import annotations

from ..contract.model import JsonObject
from ..contract.plan import PlannedTrial
from ..contract.scenario import Scenario
from ..contract.shared import CONTROL_PORT, FIRST_CONTROL_SENDER_PORT, SINK_PORT
from ..contract.units import bytes_in_flight
from .attempt import (
    REVERSE_PREFIX,
    Attempt,
    Role,
    TrialFlow,
    connect_timeout_ns,
    drain_ns,
    progress_ns,
    span_ns,
)

READ_BYTES = (16_384, 65_536)
"""Least and most that waits at a sink before a flow is read; in between an eighth of its fair share
of the BDP: rare enough to cost little, and a small part of any receive window."""


def generator_config(role: Role, attempt: Attempt) -> JsonObject:
    """Configuration file of nashbed-flows.

    Args:
        attempt: Flows, lane, duration and where the binary files go.
    """
    scenario = attempt.scenario
    return {
        "role": role.removeprefix(REVERSE_PREFIX),
        "lane": attempt.lane,
        "t0_ns": None,
        "duration_ns": scenario.longest.ns,
        "span_ns": span_ns(scenario, attempt.trial),
        "sample_ns": scenario.telemetry.tcp_info.ns,
        "interval_ns": scenario.telemetry.goodput.ns,
        "drain_ns": drain_ns(scenario, attempt.trial),
        "read_bytes": read_bytes(scenario, attempt.trial),
        "read_interval_ns": scenario.hosts.read_interval.ns,
        "progress_ns": progress_ns(scenario, attempt.trial),
        "connect_timeout_ns": connect_timeout_ns(scenario, attempt.trial),
        "out": str(attempt.generator_folder(role)),
        "controls": _controls(attempt) if scenario.start == "iperf3" else [],
        "flows": [_generator_flow(flow) for flow in attempt.flows_of(role)],
        **_applications(scenario, {flow.group for flow in attempt.flows_of(role)}),
    }


def _applications(scenario: Scenario, groups: set[int]) -> JsonObject:
    """What limits the flows of each of these groups, where anything does."""
    told = [
        {"group": number, **application.told()}
        for number in sorted(groups)
        if (application := scenario.flows[number].app or scenario.flows[number].udp) is not None
    ]
    return {"applications": told} if told else {}


def _generator_flow(flow: TrialFlow) -> JsonObject:
    return {
        "flow": flow.index,
        "group": flow.group,
        "cc": flow.cc,
        "src": flow.src,
        "sport": flow.sport,
        "dst": flow.dst,
        "dport": SINK_PORT,
        "start_ns": flow.start_ns,
        "process": flow.process,
        "ecn": flow.ecn,
        **({"dscp": flow.dscp} if flow.dscp else {}),
        **({"bytes": flow.size_bytes} if flow.is_transfer else {}),
        **({"kept": True} if flow.kept else {}),
    }


def _controls(attempt: Attempt) -> list[JsonObject]:
    """The control connection of each iperf3 process, between the hosts of its flows."""
    first_flows = {flow.process: flow for flow in reversed(attempt.flows)}
    return [
        {
            "src": first_flows[process].src,
            "sport": FIRST_CONTROL_SENDER_PORT + process,
            "dst": first_flows[process].dst,
            "dport": CONTROL_PORT,
        }
        for process in sorted(first_flows)
    ]


def read_bytes(scenario: Scenario, trial: PlannedTrial) -> int:
    """How much of a flow waits at a sink before it is read."""
    setting = trial.setting
    flows = scenario.lasting_flows
    share = bytes_in_flight(setting.rate_bps, setting.shortest_rtt_ns) // flows
    least, most = READ_BYTES
    return min(most, max(least, share // 8))
