"""A Target made of a switch outside the data plane, and the data plane in its `hosts` role.

The data plane keeps the delay lines and collects the postcards that the switch sends; the
switch is the bottleneck. Runs, trials and gates see one Target.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..contract.errors import TargetError
from ..contract.lane import LaneProgram, TelemetryPlan
from ..contract.target import Applied, BottleneckProgram, Capabilities
from ..contract.testbed import DataPlane
from . import answers
from .base import Counters, Target, TelemetryStream, TelemetryTotals
from .dataplane import RunningDataPlane, dataplane_config
from .host import DataPlaneHost
from .switch import Switch, SwitchRegisters

LAST_POSTCARDS_S = 2.0
"""How long the last postcards may take from the switch to the collector."""
POLL_S = 0.01


class SwitchWithHosts(Target):
    """A switch, and the hosts' data plane beside it.

    Args:
        switch: The bottleneck.
        host: The machine that the data plane runs on.
        dataplane: How it is to run.
    """

    def __init__(self, switch: Switch, host: DataPlaneHost, dataplane: DataPlane) -> None:
        self._switch = switch
        self._hosts = RunningDataPlane(host)
        self._settings = dataplane
        self._epoch_ns = 0

    def capabilities(self) -> Capabilities:
        """The switch's, within the lanes that the data plane delays and collects."""
        can = self._switch.capabilities()
        return can.model_copy(update={"lanes": min(can.lanes, self._settings.lanes)})

    def resolve(self, program: BottleneckProgram) -> Applied:
        """What the switch would do."""
        return self._switch.resolve(program)

    def load(self, artefact: Path) -> dict[str, Any]:
        """Bring both up; the clock is the switch's, for its times are in the postcards."""
        told = self._switch.load(artefact)
        self._epoch_ns = answers.whole(told, "epoch_ns")
        hello = self._hosts.start({"role": "hosts", **dataplane_config(self._settings)})
        return hello | {
            "epoch_ns": self._epoch_ns,
            "spec_digest": str(told.get("artefact_digest", "")),
            "switch": told,
        }

    def program(self, lane: LaneProgram) -> Applied:
        """The bottleneck to the switch, the delays to the hosts."""
        applied = self._switch.program(lane)
        self._hosts.set_delays(lane)
        return applied

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
        found = self._switch.read_registers(lane, plan.first_flow, plan.flows).flows
        made = sum(found["departed_packets"]) + sum(found["dropped_packets"])
        told = self._hosts.call("counters", lane=lane, flows=[plan.first_flow, plan.flows])
        return made - answers.whole(answers.mapping(told, "lane"), "postcards")

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        """Registers from the switch; delay line, lateness and ports from the hosts."""
        delayed = self._hosts.call("counters", lane=lane, flows=[first_flow, flows])
        found = self._switch.read_registers(lane, first_flow, flows)
        shared = self._hosts.shared_counters()
        rings = answers.mapping(shared, "rings")
        own = answers.mapping(delayed, "lane") | found.lane
        return Counters(
            flows=answers.flow_registers({"flows": found.flows}, flows),
            lane=answers.lane_registers({"lane": own | {"queue_packets": found.queue_packets}}),
            shared=shared | {"unshaped": found.unshaped, "rings": rings | _losses(found)},
        )

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        """First the hosts, so that nothing more comes to the switch."""
        self._hosts.call("reset", lane=lane, flows=[first_flow, flows])
        self._switch.reset(lane, first_flow, flows)

    def close(self) -> None:
        """Bring both down, whatever fails on the way."""
        try:
            self._hosts.close()
        finally:
            self._switch.close()


class _SettledStream(TelemetryStream):
    """Stops once the last postcards are here; what the gates make of others is their matter."""

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


def _losses(found: SwitchRegisters) -> dict[str, int]:
    """The switch's own losses, by names that say so."""
    for name, count in found.losses.items():
        if count < 0:
            raise TargetError(f"switch: loss counter {name} is {count}")
    return {f"switch_{name}": count for name, count in found.losses.items()}
