"""Processor time for each packet: the data plane's loop, and the flow generators."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from ..contract.benchmark import Benchmark
from ..contract.certificate import CoreShares
from ..contract.errors import ConfigError, HostError
from ..contract.messages.dataplane import SharedCounters
from ..contract.model import ContractModel, JsonObject
from ..contract.units import Buffer, Duration, Rate
from ..lane.lab import Lab
from ..machine.c_files.finding import check_strategies
from ..machine.c_files.kernel_support import available_ccas
from ..machine.host.counters import CpuTime
from ..machine.log import ShowStep
from ..machine.sessions import check_host
from ..plan.estimates import RAW_BYTES_PER_PACKET
from .site import BenchSite
from .traffic import STRATEGIES, Traffic, TrafficResult, cross_lab, disturbance, make_attempts

BASE_RTT = Duration(40 * 10**6)
BUFFER = "2bdp"
WARMUP_S = 3.0
SMALLEST_SEGMENT = 700
"""For the disk space of postcards: bytes of a packet on average, at the least."""


def cpu_traffic(lanes: int, rate: Rate, flows: int, seconds: float) -> Traffic:
    """What is measured by: lanes as a sweep has them, half CUBIC and half BBR.

    Args:
        lanes: Lanes side by side.
        rate: Rate of each.
        flows: Flows of each.
        seconds: Measured window.
    """
    return Traffic(
        rate=rate,
        buffer=Buffer.parse(BUFFER),
        base_rtt=BASE_RTT,
        counts={"cubic": flows - flows // 2, "bbr": flows // 2},
        seconds=seconds,
        warmup_s=WARMUP_S,
        lanes=lanes,
    )


def bench_cpu(
    site: BenchSite, traffic: Traffic, repetitions: int, show_step: ShowStep
) -> tuple[Benchmark, ...]:
    """Processor time for each packet while lanes run side by side as trials do.

    The data plane polls, so its cores are always busy; what counts is what rounds of its loops with
    work take, by the clock. A packet is a frame that it took in, data and ACKs alike. The flow
    generators' is user and system time of their processes; a packet is a frame that a host sent
    or received. What the kernel does for a host while no process of ours is on the core
    is in neither: `data` has what the cores did in all.

    Args:
        site: Testbed and folder.
        traffic: What crosses the lanes.
        repetitions: How often.
        show_step: Called before each of them.

    Raises:
        ConfigError: The testbed's data plane has not that many lanes or is not the bottleneck.
        HostError: Not root, no huge pages, nothing arrived.
        TargetError: The data plane failed, or postcards were lost.
    """
    _check(site, traffic)
    with site.logged(), site.lab(traffic.lanes, traffic.largest_window_bytes) as lab:
        done = [_once(site, lab, traffic, n, repetitions, show_step) for n in range(repetitions)]
    return _benchmarks(traffic, [Cost(each, site.bed.dataplane.cores) for each in done])


def _check(site: BenchSite, traffic: Traffic) -> None:
    bed = site.bed
    site.require_own_bottleneck("this is measured")
    if traffic.lanes > bed.dataplane.lanes:
        raise ConfigError(
            f"--lanes {traffic.lanes}: testbed {bed.name!r} has only {bed.dataplane.lanes} "
            "(dataplane.lanes)"
        )
    check_strategies(STRATEGIES, "bench cpu", available_ccas())
    seconds = traffic.seconds + traffic.warmup_s
    packets = traffic.lanes * traffic.rate.bps * seconds / (8 * SMALLEST_SEGMENT)
    check_host(bed, site.folder, int(packets * RAW_BYTES_PER_PACKET))


def _once(
    site: BenchSite, lab: Lab, traffic: Traffic, number: int, of: int, show_step: ShowStep
) -> TrafficResult:
    show_step(f"{traffic.lanes} lanes at {traffic.rate}", number, of)
    folder = site.turn_folder()
    try:
        attempts = make_attempts(traffic, folder)
        return cross_lab(lab, traffic, [(attempt, attempt.program()) for attempt in attempts])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class CostFigures(ContractModel):
    """What a repetition says in JSON; times are for each frame at a host.

    Attributes:
        goodput_gbps: Goodput in Gbit/s.
        frames_through_dataplane: Frames that the data plane took in.
        frames_at_hosts: Frames that a host sent or received.
        loop_busy_share: Share of its time that a packet loop had work, on average.
        senders_user_ns: The senders' own time.
        senders_system_ns: The kernel's, on their behalf.
        sinks_user_ns: The sinks' own time.
        sinks_system_ns: The kernel's, on their behalf.
        all_but_the_loops_core_ns: Time of all cores but the loops', whoever used them.
        others_share: What everybody else used of the other cores, in cores.
        cores: What each core did.
    """

    goodput_gbps: float
    frames_through_dataplane: int
    frames_at_hosts: int
    loop_busy_share: float
    senders_user_ns: float
    senders_system_ns: float
    sinks_user_ns: float
    sinks_system_ns: float
    all_but_the_loops_core_ns: float
    others_share: float
    cores: tuple[CoreShares, ...]


class Cost:
    """What one repetition cost.

    Args:
        crossed: What came of the traffic.
        cores: The packet loops' cores.
    """

    def __init__(self, crossed: TrafficResult, cores: Sequence[int]) -> None:
        self._crossed = crossed
        self._cores = cores
        self.taken_in = crossed.counted(_received)
        self.given_out = crossed.counted(_sent)
        if self.taken_in == 0:
            raise HostError("bench cpu: no packet arrived at the data plane in the window")

    @property
    def at_hosts(self) -> int:
        """Frames that a host sent or received."""
        return self.taken_in + self.given_out

    @property
    def senders(self) -> CpuTime:
        """CPU time of the sending processes."""
        return self._crossed.last.senders - self._crossed.first.senders

    @property
    def sinks(self) -> CpuTime:
        """CPU time of the receiving processes."""
        return self._crossed.last.sinks - self._crossed.first.sinks

    @property
    def dataplane_ns(self) -> float:
        """Time of the loops for each frame that they received."""
        return self._crossed.busy_ns / self.taken_in

    @property
    def flows_ns(self) -> float:
        """Time of the generators for each frame that a host sent or received."""
        return (self.senders + self.sinks).total_ns / self.at_hosts

    @property
    def elsewhere_ns(self) -> float:
        """Time of all cores but the loops', whoever used them, for each frame at a host."""
        others = [each for each in self._crossed.cores if each.core not in self._cores]
        used = sum(1 - each.idle - each.steal for each in others)
        return used * self._crossed.ns / self.at_hosts

    @property
    def others_share(self) -> float:
        """What everybody else used of the other cores."""
        return self._crossed.others_share(self._cores)

    def figures(self) -> JsonObject:
        """Everything behind the benchmarks: `CostFigures` as plain data."""
        return CostFigures(
            goodput_gbps=self._crossed.goodput_bps / 1e9,
            frames_through_dataplane=self.taken_in,
            frames_at_hosts=self.at_hosts,
            loop_busy_share=self._crossed.busy_share(len(self._cores)),
            senders_user_ns=self.senders.user_ns / self.at_hosts,
            senders_system_ns=self.senders.system_ns / self.at_hosts,
            sinks_user_ns=self.sinks.user_ns / self.at_hosts,
            sinks_system_ns=self.sinks.system_ns / self.at_hosts,
            all_but_the_loops_core_ns=self.elsewhere_ns,
            others_share=round(self.others_share, 4),
            cores=tuple(self._crossed.cores),
        ).model_dump(mode="json")


def _received(shared: SharedCounters) -> int:
    return sum(port.rx_packets for port in shared.ports.values())


def _sent(shared: SharedCounters) -> int:
    return sum(port.tx_packets for port in shared.ports.values())


def _benchmarks(traffic: Traffic, costs: list[Cost]) -> tuple[Benchmark, ...]:
    lanes = f"{traffic.lanes} lanes of {traffic.rate} and {traffic.flows} flows"
    ran = f"{lanes}, {traffic.seconds:g} s" + disturbance([cost.others_share for cost in costs])
    data = {
        "lanes": traffic.lanes,
        "rate_bps": traffic.rate.bps,
        "flows": dict(traffic.counts),
        "seconds": traffic.seconds,
        "warmup_s": traffic.warmup_s,
        "repetitions": [cost.figures() for cost in costs],
    }
    return (
        Benchmark(
            name="cpu_per_packet_ns_dataplane",
            unit="ns",
            values=tuple(cost.dataplane_ns for cost in costs),
            detail=f"rounds of the packet loops with work, for each frame taken in: {ran}",
            data=data,
        ),
        Benchmark(
            name="cpu_per_packet_ns_flows",
            unit="ns",
            values=tuple(cost.flows_ns for cost in costs),
            detail="user and system time of senders and sinks, for each frame that a host sent or "
            f"received: {ran}",
        ),
    )
