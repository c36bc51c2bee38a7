"""A Target made of a switch outside the data plane, and the data plane in its `hosts` role.

The data plane keeps the delay lines and collects the postcards that the switch sends; the
switch is the bottleneck. Runs, trials and gates see one Target.
"""

import time
from collections.abc import Callable
from pathlib import Path

from ..contract.messages.dataplane import (
    Counters,
    DelayCounters,
    DisturbanceTotals,
    Done,
    Hello,
    HostsCounters,
    HostsStats,
    TelemetryTotals,
)
from ..contract.messages.message import read_message
from ..contract.target import Applied, Capabilities, LaneProgram, TelemetryPlan
from ..contract.testbed import DataPlane
from .base import DataPlaneHost, Switch, SwitchRegisters, Target, TelemetryStream
from .dataplane import RunningDataPlane, dataplane_config, launcher

LAST_POSTCARDS_S = 2.0
"""How long the last postcards may take from the switch to the collector."""
POLL_S = 0.01


class SwitchWithHosts(Target):
    """A switch, and the hosts' data plane beside it.

    Args:
        host: The machine that the data plane runs on.
    """

    def __init__(
        self,
        switch: Switch,
        host: DataPlaneHost,
        dataplane: DataPlane,
        arrival_stamps: bool = False,
    ) -> None:
        self._switch = switch
        self._hosts = RunningDataPlane(host, launcher(host))
        self._settings = dataplane
        self._stamps = arrival_stamps
        self._epoch_ns = 0

    def capabilities(self) -> Capabilities:
        """The switch's, within the lanes that the data plane delays and collects."""
        return beside_hosts(self._switch.capabilities(), self._settings, self._stamps)

    def load(self, artefact: Path) -> Hello:
        """Bring both up; the clock is the switch's, for its times are in the postcards."""
        switch = self._switch.load(artefact)
        self._epoch_ns = switch.epoch_ns
        hosts = self._hosts.start({"role": "hosts", **dataplane_config(self._settings)})
        return hosts.model_copy(
            update={
                "epoch_ns": switch.epoch_ns,
                "spec_digest": switch.artefact_digest,
                "switch": switch,
            }
        )

    def program(self, lane: LaneProgram) -> Applied:
        """The bottleneck to the switch, the delays to the hosts."""
        applied = self._switch.program(lane)
        self._hosts.set_delays(lane)
        return applied

    def begin(self, lane: int, t0_ns: int) -> None:
        """The hosts' delay lines begin; a switch schedules nothing."""
        self._hosts.begin(lane, t0_ns)

    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> TelemetryStream:
        """The hosts collect what the switch sends."""
        now_ns = max(0, time.monotonic_ns() - self._epoch_ns)
        stream = self._hosts.start_telemetry(lane, plan, start_ns=now_ns)

        def outstanding() -> bool:
            return self._outstanding_postcards(lane, plan) > 0

        def correct() -> None:
            self._switch.correct(lane, plan)

        return _SettledStream(stream, outstanding, correct)

    def _outstanding_postcards(self, lane: int, plan: TelemetryPlan) -> int:
        """Postcards that the switch has made and that have not arrived."""
        registers = self._switch.read_registers(lane, plan.first_flow, plan.flows).flows
        made = sum(registers.departed_packets) + sum(registers.dropped_packets)
        return made - self._hosts_counters(lane, plan.first_flow, plan.flows).postcards

    def _hosts_counters(self, lane: int, first_flow: int, flows: int) -> DelayCounters:
        answer = self._hosts.ask(HostsCounters, "counters", lane=lane, flows=[first_flow, flows])
        return answer.lane

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """Registers from the switch; delay line, lateness and ports from the hosts."""
        delayed = self._hosts_counters(lane, first_flow, flows)
        counted = self._switch.read_registers(lane, first_flow, flows)
        counted.flows.require(flows, "switch: registers")
        stats = self._hosts.ask(HostsStats, "stats")
        content = {
            "flows": counted.flows,
            "lane": {
                **dict(delayed),
                **counted.queue.model_dump(),
                "queue_packets": counted.queue_packets,
            },
            "shared": {
                **dict(stats),
                "rings": stats.rings | _losses(counted),
                "unshaped": counted.unshaped,
            },
        }
        return read_message(Counters, content, "switch: registers")

    def write_disturbances(self, lane: int, folder: Path) -> DisturbanceTotals:
        """What held frames up in the hosts' delay lines; the switch's own time is its matter."""
        return self._hosts.write_disturbances(lane, folder)

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """First the hosts, so that nothing more comes to the switch."""
        self._hosts.ask(Done, "reset", lane=lane, flows=[first_flow, flows])
        self._switch.reset(lane, first_flow, flows)

    def close(self) -> None:
        """Bring both down, whatever fails on the way."""
        try:
            self._hosts.close()
        finally:
            self._switch.close()


def beside_hosts(
    switch: Capabilities, dataplane: DataPlane, arrival_stamps: bool = False
) -> Capabilities:
    """What a switch can do with the hosts' data plane beside it."""
    own = {
        "lanes": min(switch.lanes, dataplane.lanes),
        "arrival_stamps": arrival_stamps,
        "loop_polls": dataplane.loop == "poll",
        "switch_beside": True,
    }
    return switch.model_copy(update=own)


class _SettledStream(TelemetryStream):
    """Stops once the last postcards are here, or late; the gates judge those that are missing."""

    def __init__(
        self,
        stream: TelemetryStream,
        outstanding: Callable[[], bool],
        correct: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._outstanding = outstanding
        self._correct = correct

    def stop(self) -> TelemetryTotals:
        try:
            self._settle()
        finally:
            totals = self._stream.stop()
        self._correct()
        return totals

    def _settle(self) -> None:
        deadline = time.monotonic() + LAST_POSTCARDS_S
        while self._outstanding() and time.monotonic() < deadline:
            time.sleep(POLL_S)


def _losses(counted: SwitchRegisters) -> dict[str, int]:
    """The switch's own losses, by names that say so."""
    return {f"switch_{name}": count for name, count in counted.losses.items()}
