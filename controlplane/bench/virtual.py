"""How much faster than the clock a trial in virtual time is, and what it takes."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..config import Loaded, parse_scenario
from ..contract.benchmark import Benchmark
from ..contract.errors import ConfigError
from ..contract.testbed import Testbed
from ..lane.generators import Generators
from ..lane.lab import compiled_program, opened_lab
from ..lane.programmed import programmed
from ..machine.host.runs import id_of
from ..machine.host.session import SessionRequest
from ..machine.log import ShowStep
from ..machine.sessions import local_session
from ..plan.attempt import make_attempt
from ..run.planning import plan_run

SCENARIO = """\
name: speed
title: A trial in virtual time
bottleneck: {{rate: {rate}, buffer: 2bdp}}
flows:
- {{name: main, count: {flows}, base_rtt: 40ms}}
{transfers}
strategies: [cubic, bbr]
duration: {seconds}s
warmup: 1s
trials: 1
seed: 1
sweep: {{mixes: [{bbr}]}}
telemetry: {{postcards: {{bins: 100ms}}}}
"""
TRANSFERS = """\
- {{name: short, base_rtt: 40ms, arrivals: {{poisson: {transfers}/s}},
   size: {{lognormal: {{median: 5kB, sigma: 1}}}}}}
"""
"""Of 8.2 kB on average: 1,000 a second bring 66 Mbit/s."""
LANE = 0


@dataclass(frozen=True)
class Case:
    """One kind of trial: 40 ms, 2 BDP, half of the flows BBR.

    Attributes:
        wanted: What its Gbit/s per core should be of kernel TCP's; None: no bound.
    """

    rate: str
    flows: int
    seconds: int
    wanted: float | None = None
    transfers: int = 0

    @property
    def name(self) -> str:
        """What names of its benchmarks end with."""
        short = f"_{self.transfers}_transfers" if self.transfers else ""
        return f"{self.rate}_{self.flows}_flows{short}"

    @property
    def text(self) -> str:
        """Its flows in words."""
        return f"{self.flows} flows" + (
            f" and {self.transfers} short ones a second" if self.transfers else ""
        )


CASES = (
    Case("50mbit", 10, 60),
    Case("100mbit", 10, 60),
    Case("100mbit", 50, 30),
    Case("100mbit", 100, 30),
    Case("500mbit", 10, 15),
    Case("1gbit", 10, 10, wanted=0.5),
    Case("100mbit", 2, 10, transfers=1000),
)


@dataclass(frozen=True)
class Timed:
    """One trial.

    Attributes:
        virtual_s: Virtual time from the order to start until the last report, in seconds.
        wall_s: The same by this machine's clock.
    """

    virtual_s: float
    wall_s: float
    payload_bytes: int
    memory_bytes: int

    @property
    def speedup(self) -> float:
        """How many times faster than the clock."""
        return self.virtual_s / self.wall_s

    @property
    def gbps(self) -> float:
        """Payload for each second of the core that simulates it, in Gbit/s."""
        return self.payload_bytes * 8 / self.wall_s / 1e9


def require_virtual(testbed: Testbed) -> None:
    """Raise ConfigError for a testbed in real time."""
    if not testbed.is_virtual:
        raise ConfigError(
            f"testbed {testbed.name!r}: target {testbed.target} runs in real time; choose a "
            "testbed of target virtual"
        )


def bench_virtual(
    testbed: Loaded[Testbed],
    folder: Path,
    repetitions: int,
    show_step: ShowStep,
    cases: Sequence[Case] = CASES,
) -> tuple[Benchmark, ...]:
    """Run each kind of trial on one core, in turns.

    Raises:
        ConfigError: The testbed is not in virtual time.
        NashbedError: A trial failed.
    """
    require_virtual(testbed.model)
    timed: dict[Case, list[Timed]] = {case: [] for case in cases}
    total = repetitions * len(cases)
    for number in range(total):
        case = cases[number % len(cases)]
        show_step(f"{case.text}, {case.rate}", number, total)
        turn = folder / f"turn{number:02d}"
        turn.mkdir()
        timed[case].append(_time_trial(testbed, turn, case))
    return tuple(each for case in cases for each in _benchmarks(case, timed[case]))


def _benchmarks(case: Case, timed: Sequence[Timed]) -> tuple[Benchmark, Benchmark]:
    memory_mib = max(each.memory_bytes for each in timed) / 2**20
    speedup = Benchmark(
        name=f"virtual_speedup_{case.name}",
        unit="times the clock",
        values=tuple(each.speedup for each in timed),
        detail=f"{case.seconds} s of {case.text}, 40 ms, 2 BDP, on one core; {memory_mib:.0f} MiB",
        data={"memory_mib": memory_mib, "wall_s": [each.wall_s for each in timed]},
    )
    payload = Benchmark(
        name=f"virtual_gbps_{case.name}",
        unit="Gbit/s per core",
        values=tuple(each.gbps for each in timed),
        wanted_ratio=case.wanted,
        detail=f"payload that the sinks read in the same trials: {case.text}",
    )
    return speedup, payload


def _time_trial(testbed: Loaded[Testbed], folder: Path, case: Case) -> Timed:
    text = SCENARIO.format(
        rate=case.rate,
        flows=case.flows,
        seconds=case.seconds,
        bbr=case.flows // 2,
        transfers=TRANSFERS.format(transfers=case.transfers) if case.transfers else "",
    )
    scenario, bed = parse_scenario(text, case.name), testbed.model
    (trial,) = plan_run(scenario, testbed).trials
    groups, window = len(scenario.model.flows), trial.setting.largest_window_bytes
    attempt = make_attempt(scenario.model, trial, 0, LANE, folder)
    session = local_session(SessionRequest(id_of(folder), folder, bed, 1, groups, window))
    with (
        opened_lab(session, bed, compiled_program(bed)) as lab,
        programmed(lab, attempt.program(), attempt.telemetry()),
        Generators(session, attempt, threading.Event()) as generators,
    ):
        generators.start()
        begun_ns, begun = session.clock.now_ns(), time.perf_counter()
        reports = generators.await_ends(generators.order_start())
        wall_s = time.perf_counter() - begun
        return Timed(
            virtual_s=(session.clock.now_ns() - begun_ns) / 1e9,
            wall_s=wall_s,
            payload_bytes=sum(flow.bytes for flow in reports.sink.flows),
            memory_bytes=session.peak_memory_bytes,
        )
