"""What the flow generators of an attempt are told: the configuration files of nashbed-flows."""

from collections.abc import Mapping
from types import MappingProxyType

from ..contract.messages.generator import (
    Connection,
    ControlState,
    GeneratorConfig,
    ToldApplication,
    ToldFlow,
)
from ..contract.plan import PlannedTrial
from ..contract.scenario import Scenario
from ..contract.shared import CONTROL_PORT, FIRST_CONTROL_SENDER_PORT, SINK_PORT
from ..contract.units import bytes_in_flight
from .attempt import (
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


def generator_config(
    role: Role, attempt: Attempt, state_maps: Mapping[str, int] = MappingProxyType({})
) -> GeneratorConfig:
    """Configuration file of nashbed-flows.

    Args:
        attempt: Flows, duration and where the binary files go.
        state_maps: CCA of eBPF -> number of the map that has its state.
    """
    scenario, trial = attempt.scenario, attempt.trial
    flows = attempt.flows_of(role)
    return GeneratorConfig(
        role="sender" if role.endswith("sender") else "sink",
        duration_ns=scenario.longest.ns,
        span_ns=span_ns(scenario, trial),
        sample_ns=scenario.telemetry.tcp_info.ns,
        interval_ns=scenario.telemetry.goodput.ns,
        drain_ns=drain_ns(scenario, trial),
        read_bytes=read_bytes(scenario, trial),
        read_interval_ns=scenario.hosts.read_interval.ns,
        progress_ns=progress_ns(scenario, trial),
        connect_timeout_ns=connect_timeout_ns(scenario, trial),
        out=str(attempt.generator_folder(role)),
        controls=_controls(attempt) if scenario.start == "iperf3" else (),
        control_states=tuple(ControlState(cc=cc, map_id=n) for cc, n in state_maps.items()),
        flows=tuple(map(_flow, flows)),
        applications=_applications(scenario, {flow.group for flow in flows}),
    )


def _applications(scenario: Scenario, groups: set[int]) -> tuple[ToldApplication, ...]:
    """What limits the flows of each of these groups, where anything does."""
    return tuple(
        ToldApplication(group=number, **application.told())
        for number in sorted(groups)
        if (application := scenario.flows[number].app or scenario.flows[number].udp) is not None
    )


def _flow(flow: TrialFlow) -> ToldFlow:
    return ToldFlow(
        flow=flow.index,
        group=flow.group,
        cc=flow.cc,
        src=flow.src,
        sport=flow.sport,
        dst=flow.dst,
        dport=SINK_PORT,
        start_ns=flow.start_ns,
        process=flow.process,
        ecn=flow.ecn,
        dscp=flow.dscp,
        bytes=flow.size_bytes,
        kept=flow.kept,
    )


def _controls(attempt: Attempt) -> tuple[Connection, ...]:
    """The control connection of each iperf3 process, between the hosts of its flows."""
    first_flows = {flow.process: flow for flow in reversed(attempt.flows)}
    return tuple(
        Connection(
            src=first_flows[process].src,
            sport=FIRST_CONTROL_SENDER_PORT + process,
            dst=first_flows[process].dst,
            dport=CONTROL_PORT,
        )
        for process in sorted(first_flows)
    )


def read_bytes(scenario: Scenario, trial: PlannedTrial) -> int:
    """How much of a flow waits at a sink before it is read."""
    setting = trial.setting
    flows = scenario.lasting_flows
    share = bytes_in_flight(setting.rate_bps, setting.shortest_rtt_ns) // flows
    least, most = READ_BYTES
    return min(most, max(least, share // 8))
