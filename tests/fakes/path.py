"""A calibrated path without a machine: target, probes and time in one process, all virtual.

Frames that probers "send" go through the plain drop-tail model; postcards, registers and the
probe's files follow from it. `Faults` makes the path lie in one way each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.messages.dataplane import (
    Counters,
    DepartureLateness,
    DisturbanceTotals,
    Hello,
    LoopCounters,
    TelemetryTotals,
)
from nashbed.controlplane.contract.records import POSTCARD, PROBE_ECHO, PROBE_SCHEDULE, PROBED, SEEN
from nashbed.controlplane.contract.shared import FIRST_SENDER_PORT, FLOW_REGISTERS
from nashbed.controlplane.contract.target import Applied, Capabilities, LaneProgram, TelemetryPlan
from nashbed.controlplane.machine.host.layout import Side
from nashbed.controlplane.machine.host.session import PathEnds
from nashbed.controlplane.machine.process.clock import Clock
from nashbed.controlplane.machine.process.command import Completed
from nashbed.controlplane.targets import Target, TelemetryStream
from tests.fakes.session import FakeSession
from tests.model.droptail import Arrival, Outcome, droptail

NS = 10**9
PATH_NS = 15_000
"""What the path itself adds to a round trip."""
REFLECTION_NS = 40_000


@dataclass(frozen=True)
class Faults:
    """How the path lies.

    Attributes:
        rate: Really sent at this share of the applied rate.
        limit_bytes: Really dropped at so much more.
        delay_ns: Really added to every round trip.
        second_queue_bps: Rate of a hidden queue behind the bottleneck; 0: none.
        clock_step_ns: What postcards' times are multiples of.
        clock_back: Whether one time goes back.
        lost_card: Whether a postcard is lost.
        lost_frames: How many frames each of the first measurements loses before the bottleneck.
        first_leaves: Whether the first frame of a burst leaves at once, as from a switch that
            serves one packet a second and knows no standstill.
        dies: Whether the target dies when it is programmed for the second time.
    """

    rate: float = 1.0
    limit_bytes: int = 0
    delay_ns: int = 0
    second_queue_bps: int = 0
    clock_step_ns: int = 1
    clock_back: bool = False
    lost_card: bool = False
    lost_frames: tuple[int, ...] = ()
    first_leaves: bool = False
    dies: bool = False


@dataclass(frozen=True)
class Frame:
    flow: int
    size: int
    sent_ns: int
    source_port: int
    prober: FakeProcess
    index: int


class World(Clock):
    """The path, and the clock that everything in it goes by."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.t_ns = 5 * NS
        self.epoch_ns = NS
        self.program: LaneProgram | None = None
        self.probers: list[FakeProcess] = []
        self.measurements = 0
        self._known: dict[int, tuple[list[Frame], list[Outcome]]] = {}

    # The hosts' clock.

    def now_ns(self) -> int:
        return self.t_ns

    def sleep(self, seconds: float) -> None:
        self.t_ns += int(seconds * NS)

    # What happens to the frames.

    def clear(self) -> None:
        self.probers.clear()
        self._known.clear()

    def fate(self) -> tuple[list[Frame], list[Outcome]]:
        """All frames in the order of their arrival, and what becomes of each."""
        key = len(self.probers)
        if key not in self._known:
            frames = [frame for prober in self.probers for frame in prober.frames()]
            frames.sort(key=self.arrival_ns)
            lost = self.faults.lost_frames[self.measurements - 1 :][:1]
            frames = frames[sum(lost) :]
            self._known[key] = (frames, self.outcomes(frames))
        return self._known[key]

    def base_rtt_ns(self, flow: int) -> int:
        assert self.program is not None
        delay = self.program.delays[max(0, flow - 1)]
        return delay.forward_ns + delay.reverse_ns

    def arrival_ns(self, frame: Frame) -> int:
        return frame.sent_ns + self.base_rtt_ns(frame.flow) // 2 + PATH_NS // 2

    def outcomes(self, frames: list[Frame]) -> list[Outcome]:
        assert self.program is not None
        bottleneck = self.program.bottleneck
        limit = bottleneck.limit
        arrivals = [Arrival(self.arrival_ns(f) - self.epoch_ns, f.size) for f in frames]
        gone = arrivals[: self.faults.first_leaves]
        return [Outcome(False, 0, each.time_ns + 1) for each in gone] + droptail(
            arrivals[len(gone) :],
            int(bottleneck.rate_bps * self.faults.rate),
            limit.value + self.faults.limit_bytes,
            limit.unit,
            limit.cell_bytes or 80,
            bottleneck.overhead_bytes,
        )

    def received_ns(self, frames: list[Frame], outcomes: list[Outcome]) -> list[int | None]:
        """When each frame reaches the receivers; None: dropped, or still queued."""
        hidden, last = self.faults.second_queue_bps, 0
        times: list[int | None] = []
        for frame, outcome in zip(frames, outcomes, strict=True):
            departure = outcome.departure_ns + self.epoch_ns
            if outcome.dropped or departure > self.t_ns:
                times.append(None)
                continue
            if hidden:
                last = max(last, departure) + frame.size * 8 * NS // hidden
            times.append(max(last, departure))
        return times

    def postcards(self) -> np.ndarray[Any, Any]:
        rows = [
            (o.departure_ns, f, self.arrival_ns(f) - self.epoch_ns, o)
            for f, o in zip(*self.fate(), strict=True)
            if o.dropped or o.departure_ns + self.epoch_ns <= self.t_ns
        ]
        rows.sort(key=lambda row: row[0])
        raw = np.zeros(len(rows), POSTCARD)
        for number, (_, frame, enqueue, outcome) in enumerate(rows):
            times = [self.stamp(t) for t in (enqueue, outcome.departure_ns)]
            if self.faults.clock_back and number == 50:
                times[1] -= 10**7
            raw[number] = (
                1, outcome.dropped, 0, frame.flow, frame.size, outcome.queue_bytes,
                times[0] >> 32, times[0] & 0xFFFFFFFF, times[1] >> 32, times[1] & 0xFFFFFFFF,
                0, number, frame.size - 42, 0, 0,
            )  # fmt: skip
        return np.delete(raw, 10) if self.faults.lost_card else raw

    def stamp(self, t_ns: int) -> int:
        return t_ns // self.faults.clock_step_ns * self.faults.clock_step_ns

    def registers(self, flows: int) -> dict[str, list[int]]:
        registers = {name: [0] * flows for name in FLOW_REGISTERS}
        for frame, outcome in zip(*self.fate(), strict=True):
            if outcome.dropped:
                kinds = ("arrived", "dropped")
            elif outcome.departure_ns + self.epoch_ns <= self.t_ns:
                kinds = ("arrived", "departed")
            else:
                kinds = ("arrived",)
                registers["in_queue_bytes"][frame.flow] += frame.size
            for kind in kinds:
                registers[f"{kind}_packets"][frame.flow] += 1
                registers[f"{kind}_bytes"][frame.flow] += frame.size
        return registers

    # The files of nashbed-probe.

    def write_probed(self, prober: FakeProcess) -> int:
        probed = np.zeros(len(prober.schedule), PROBED)
        probed["sent_ns"] = prober.start_ns + prober.schedule["at_ns"]
        frames, outcomes = self.fate()
        for frame, t in zip(frames, self.received_ns(frames, outcomes), strict=True):
            if frame.prober is not prober or t is None:
                continue
            if prober.schedule[frame.index]["flags"] != PROBE_ECHO:
                continue
            back = self.base_rtt_ns(frame.flow) - self.base_rtt_ns(frame.flow) // 2 + PATH_NS // 2
            returned = t + REFLECTION_NS
            received = returned + back + self.faults.delay_ns
            probed[frame.index] = (frame.sent_ns, t, returned, received)
        probed.tofile(prober.folder / "probed.bin")
        return len(probed)

    def write_seen(self, folder: Path) -> int:
        frames, outcomes = self.fate()
        times = self.received_ns(frames, outcomes)
        rows = [
            (t, f.index, f.source_port, max(0, f.flow - 1), f.size, (0, 0, 0))
            for f, t in zip(frames, times, strict=True)
            if t is not None
        ]
        np.array(rows, SEEN).tofile(folder / "seen.bin")
        return len(rows)


class FakeProcess:
    """A prober or reflector as the control plane sees it."""

    def __init__(self, world: World, config: dict[str, Any]) -> None:
        self.name = f"probe ({config['role']})"
        self.config = config
        self.folder = Path(config["out"])
        self.start_ns: int | None = None
        self.stopped = False
        self._world = world
        if config["role"] == "prober":
            assert set(config) == {"role", "out", "schedule", "linger_ns", "sockets"}
            self.schedule = np.fromfile(config["schedule"], PROBE_SCHEDULE)
            assert np.all(np.diff(self.schedule["at_ns"]) >= 0)
            least = np.where(self.schedule["flags"] == PROBE_ECHO, 74, 60)
            assert np.all(self.schedule["frame_bytes"] >= least)
            assert np.all(self.schedule["frame_bytes"] <= 1514)
        else:
            assert set(config) == {"role", "out", "sockets"}

    def frames(self) -> list[Frame]:
        assert self.start_ns is not None
        ports = [each["local_port"] for each in self.config["sockets"]]
        return [
            Frame(port - FIRST_SENDER_PORT, int(size), self.start_ns + int(at), port, self, i)
            for i, (at, socket, size, _) in enumerate(self.schedule.tolist())
            for port in [ports[socket]]
        ]

    def wait_event(self, event: str, timeout_s: float) -> dict[str, Any]:
        if event != "done":
            return {"event": event}
        if self.config["role"] == "reflector":
            received = self._world.write_seen(self.folder)
            return {"event": "done", "received": received, "echoes": received}
        assert self.start_ns is not None
        end_ns = self.start_ns + int(self.schedule["at_ns"][-1]) + self.config["linger_ns"]
        self._world.t_ns = max(self._world.t_ns, end_ns)
        return {"event": "done", "sent": self._world.write_probed(self), "latest_ns": 0}

    def send(self, message: dict[str, Any]) -> None:
        if message == {"start": True}:
            self.start_ns = self._world.t_ns
            self._world.probers.append(self)
        else:
            assert message == {"stop": True}

    def wait_exit(self, timeout_s: float) -> int:
        return 0

    def stop(self) -> None:
        self.stopped = True


class PathSession(FakeSession):
    """A session whose probes are in the world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self.probes: list[FakeProcess] = []

    @property
    def clock(self) -> Clock:
        return self._world

    def start_probe(self, side: Side, config: Path) -> Any:
        settings = json.loads(config.read_text())
        assert side == {"prober": "snd", "reflector": "rcv"}[settings["role"]]
        self.probes.append(FakeProcess(self._world, settings))
        return self.probes[-1]

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        raise AssertionError("no fake runs another generator")

    @property
    def path_ends(self) -> PathEnds:
        return PathEnds("nbs0", "02:6e:62:00:00:01", "02:6e:62:00:00:02")

    def host_losses(self) -> dict[str, int]:
        lost = self._world.faults.lost_frames[: self._world.measurements]
        return {"nbs0_tx_dropped": sum(lost)}


class PathTarget(Target):
    """A target that is the world."""

    def __init__(self, world: World, can: Capabilities) -> None:
        self._world = world
        self._can = can
        self.programmed: list[LaneProgram] = []
        self.resets = 0

    def capabilities(self) -> Capabilities:
        return self._can

    def resolve(self, program: Any) -> Applied:
        return Applied(
            rate_bps=program.rate_bps,
            limit=program.limit,
            buffer_bytes=program.limit.in_bytes,
            overhead_bytes=program.overhead_bytes,
        )

    def load(self, artefact: Path) -> Hello:
        return Hello(
            version="fake 1", role="bottleneck", pid=1, epoch_ns=self._world.epoch_ns, lanes=1,
            flow_capacity=64, postcard_bytes=POSTCARD.itemsize, ports={},
        )  # fmt: skip

    def program(self, lane: LaneProgram) -> Applied:
        self.programmed.append(lane)
        if self._world.faults.dies and len(self.programmed) == 2:
            raise TargetError("data plane: program: the data plane closed the connection")
        self._world.program = lane
        self._world.measurements += 1
        return self.resolve(lane.bottleneck)

    def begin(self, lane: int, t0_ns: int) -> None:
        raise AssertionError("nothing is scheduled on this path")

    def start_telemetry(self, lane: int, plan: TelemetryPlan) -> TelemetryStream:
        return PathStream(self._world, plan)

    def read_counters(self, lane: int, first_flow: int, flows: int) -> Counters:
        self._world.t_ns += NS // 10
        registers = self._world.registers(flows)
        held = sum(
            registers["arrived_packets"][i]
            - registers["departed_packets"][i]
            - registers["dropped_packets"][i]
            for i in range(flows)
        )
        late = dict.fromkeys(DepartureLateness.model_fields, 0)
        lane = {"queue_packets": held, "delay_packets": 0, "random_loss_packets": 0,
                "postcards": 0, "lateness": late}  # fmt: skip
        loop = dict.fromkeys(LoopCounters.model_fields, 0)
        shared = {"ports": {}, "rings": {}, "unshaped": {}, "loop": loop}
        return Counters.model_validate({"flows": registers, "lane": lane, "shared": shared})

    def write_disturbances(self, lane: int, folder: Path) -> DisturbanceTotals:
        raise AssertionError("a calibration asks for no disturbances")

    def reset(self, lane: int, first_flow: int, flows: int) -> None:
        self.resets += 1
        self._world.clear()

    def close(self) -> None:
        """Nothing to bring down."""


class PathStream(TelemetryStream):
    """The world's postcards, written at the end."""

    def __init__(self, world: World, plan: TelemetryPlan) -> None:
        self._world = world
        self._plan = plan

    def stop(self) -> TelemetryTotals:
        raw = self._world.postcards()
        raw.tofile(self._plan.path)
        return TelemetryTotals(seen=len(raw), written=len(raw), gaps=0, lost=0)
