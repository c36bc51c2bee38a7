"""The packet path in virtual time: P4 ingress, queue, P4 egress, postcards.

On one core or more, and with each queue discipline.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..contract.benchmark import Benchmark
from ..contract.disciplines import DISCIPLINES, Discipline
from ..contract.errors import ConfigError, TargetError
from ..contract.messages.message import read_message
from ..contract.messages.replay import PathSpeed
from ..contract.target import Lane, Limit
from ..machine.host.programs import run_dataplane
from ..machine.log import ShowStep
from ..machine.paths import REPLAY, built, spec
from ..store.staging import scratch_folder
from ..targets.dpdk import replay_config

RATE_BPS = 10**9
BUFFER_BYTES = 10**7
"""Two BDP at 1 Gbit/s and 40 ms: packets that have stood in it are in no cache any more."""
TARGET_MPPS = 2.0
TARGET_SHARE = 0.9
"""Wanted of each further core; two packet loops are then 1.8 times as fast as one."""
MOST_TIME = {"red": 1.1, "codel": 1.1, "fq_codel": 1.3, "dualpi2": 1.3}
"""Wanted of disciplines: the time that a packet takes, over drop-tail's."""


class Pipeline(Enum):
    """How the data plane runs the P4 program."""

    AUTO = "auto"
    NATIVE = "native"
    INTERPRETED = "interpreted"


@dataclass(frozen=True)
class Packets:
    """What is put through the path, in memory, at 1 Gbit/s and 2 % overload.

    Attributes:
        burst: Packets that arrive at one time, 1 to 64.
    """

    count: int
    flows: int
    burst: int
    pipeline: Pipeline = Pipeline.AUTO

    def __str__(self) -> str:
        return f"{self.count} packets of {self.flows} flows, {self.burst} at once"

    def through(
        self, cores: Sequence[int] = (), *, discipline: Discipline | None = None
    ) -> PathSpeed:
        """Put them through once.

        Args:
            cores: A packet loop for each; none: one loop, anywhere.

        Raises:
            NashbedError: The data plane is not built, or refused.
        """
        limit = Limit(unit="bytes", value=BUFFER_BYTES)
        config = replay_config(spec(), Lane(rate_bps=RATE_BPS, limit=limit, discipline=discipline))
        config["pipeline"] = self.pipeline.value
        if cores:
            # Each loop has its part of the packets, and tables of its own.
            config["cores"] = list(cores)
            config["queue_packets"] *= len(cores)
            config["memory_mb"] *= len(cores)
        with scratch_folder("bench") as folder:
            file = folder / "dataplane.json"
            file.write_text(json.dumps(config))
            command = [str(built(REPLAY)), "--config", str(file)]
            what = f"{self.count},{self.flows},{self.burst}"
            done = run_dataplane([*command, "--bench", what])
        last_line = done.out.splitlines()[-1] if done.out else ""
        speed = read_message(PathSpeed, last_line, "nashbed-replay: --bench")
        if speed.departed + speed.dropped != speed.postcards:
            raise TargetError(f"the data plane lost postcards: {last_line}")
        return speed


def bench_replay(packets: Packets, repetitions: int) -> tuple[Benchmark, ...]:
    """Time packets through the whole path."""
    answers = [packets.through() for _ in range(repetitions)]
    ran_as = answers[0].pipeline
    speed = Benchmark(
        name="replay_mpps",
        unit="million packets per second",
        values=tuple(answer.mpps for answer in answers),
        wanted=TARGET_MPPS,
        detail=f"{packets}, P4 {ran_as}, one core",
        data={
            "packets": packets.count,
            "flows": packets.flows,
            "burst": packets.burst,
            "pipeline": ran_as,
        },
    )
    return (speed,)


def bench_loops(
    packets: Packets, repetitions: int, loops: int, show_step: ShowStep
) -> tuple[Benchmark, ...]:
    """Packet loops side by side, each with a lane and a core of its own, and one alone, in turns.

    Raises:
        ConfigError: There are fewer cores.
    """
    cores = sorted(os.sched_getaffinity(0))
    if loops > len(cores):
        raise ConfigError(f"--loops {loops}: a core for each is needed, and {len(cores)} are here")
    alone, together = [], []
    for turn in range(repetitions):
        show_step(f"one loop and {loops}", turn, repetitions)
        alone.append(packets.through().mpps)
        together.append(packets.through(cores[:loops]).mpps)
    return (
        Benchmark(
            name="replay_loops_mpps",
            unit="million packets per second",
            values=tuple(together),
            detail=f"{loops} packet loops, a lane and a core each; of each {packets}",
        ),
        Benchmark(
            name="replay_loops_ratio",
            unit="",
            values=tuple(many / one for many, one in zip(together, alone, strict=True)),
            wanted=TARGET_SHARE * loops,
            detail=f"{loops} packet loops over one, in turns",
        ),
    )


def bench_disciplines(
    packets: Packets, repetitions: int, show_step: ShowStep
) -> tuple[Benchmark, ...]:
    """Each queue discipline of ours with its defaults, and drop-tail, in turns."""
    programs = {
        name: Discipline(name=name, parameters=m().told()) for name, m in DISCIPLINES.items()
    }
    speeds: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(repetitions):
        show_step("each discipline", turn, repetitions)
        for name, program in programs.items():
            speeds[name].append(packets.through(discipline=program).mpps)
    usual = speeds.pop("droptail")
    return tuple(
        Benchmark(
            name=f"replay_{name}_over_droptail",
            unit="",
            values=tuple(plain / slow for plain, slow in zip(usual, values, strict=True)),
            wanted=MOST_TIME.get(name),
            sense="at most",
            detail=f"time of a packet over drop-tail's, in turns; {packets}",
        )
        for name, values in speeds.items()
    )
