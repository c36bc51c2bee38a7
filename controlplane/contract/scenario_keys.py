"""The keys of a scenario: what competes at which bottleneck, for how long, and what is kept."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .applications import UDP
from .bounds import AcceptanceBound
from .course import SettledDuration, StartSpec, StrategyName, WindowSpec, settling_start
from .disciplines import DROPTAIL, DisciplineSpec
from .flow_group import FlowGroup, most_flows
from .harm import HarmMixes
from .limit import Admission
from .link_changes import LinkChange, TraceSpec
from .model import AliasedModel, AsText, ContractModel, Name, Needs, Several, formerly
from .path_changes import ReturnBottleneck
from .queues import (
    COMPLETE_SHARING,
    MemorySpec,
    Queues,
    QueueSpec,
    Scheduler,
    check_queues,
)
from .selection import Count, KernelRelease, SettingSelection
from .shared import CONSTANTS
from .strategy import CcaInFile, ModuleParameters, ProgramInFile, Strategy
from .sweep import Equilibrium, PairMixes, Sweep
from .traffic import OF_MIX
from .units import Buffer, Duration, Rate, Share, Size

MAX_GROUPS = CONSTANTS.groups_per_lane
MOST_JITTER_NS = 10**8
MOST_PROCESSOR_NS = 10**9

Qdisc = Literal["fq", "fq_codel", "pfifo_fast"]
"""A queue discipline of a host's interface."""


class Bottleneck(AliasedModel, Admission):
    """The bottleneck.

    Attributes:
        rate: Rate on the wire, with `overhead` counted for each packet.
        buffer: The queue's hard limit; of several queues, the memory that they share. One BDP is
            the rate times the base RTT of the first flow group.
        discipline: What the queue does before it is full, and whose packet leaves next: a
            discipline's name, or `{codel: {target: 1ms, ecn: true}}`, or one of your own:
            `{file: ./mine.c}`.
        overhead: Bytes counted for each packet in addition to its frame without FCS; Ethernet's
            FCS, preamble and inter-packet gap are 24 B.
        queues: Several queues (2 to 8) in place of one.
        scheduler: Whose packet is sent next: `drr`, deficit round robin, each queue by its weight;
            `strict_priority`, that of the first queue that has one. Left out: drr.
        shared_buffer: How much of `buffer` each queue may have: `complete_sharing`,
            `complete_partitioning`, `{static: [1MB, 200kB]}`, `{dynamic_threshold: {alpha: 1}}`,
            or one of your own: `{file: ./mine.c}`. Left out: complete_sharing.
        changes: What happens to the link in mid-trial, in the order of time: `{at: 30s, rate:
            10mbit, buffer: 4bdp}`, `{from: 80s, to: 82s, down: true}`.
        trace: A file that says what the link carries over time, from the common start on; `rate`
            is then what it has before, and what a BDP is taken with.
        return: A bottleneck of its own, drop-tail, that the acknowledgements of all flows share:
            `{rate: 1mbit, buffer: 50pkt}`. Left out: the way back has no queue.
    """

    rate: Rate
    buffer: Buffer
    discipline: DisciplineSpec = DROPTAIL
    overhead: Size = Size(0)
    queues: tuple[QueueSpec, ...] | None = None
    scheduler: Scheduler | None = None
    shared_buffer: MemorySpec | None = formerly("memory", "shared_buffer")
    changes: tuple[LinkChange, ...] = ()
    trace: TraceSpec | None = None
    return_: Annotated[ReturnBottleneck | None, Field(alias="return")] = None

    def several(self, base_rtt: Duration) -> Queues | None:
        """What is asked for of several queues; None: there is one.

        Args:
            base_rtt: That a BDP is taken with.
        """
        if self.queues is None:
            return None
        made = tuple(queue.resolved(self.rate, base_rtt) for queue in self.queues)
        points = {point: i for i, queue in enumerate(self.queues) for point in queue.dscp or ()}
        return Queues(
            queues=made,
            scheduler=self.scheduler or "drr",
            memory=(self.shared_buffer or COMPLETE_SHARING).resolved(self.rate, base_rtt),
            dscp=tuple(points.items()),
            dscp_default=next((i for i, q in enumerate(made) if not q.takes), len(made) - 1),
        )

    @model_validator(mode="after")
    def _check(self) -> Bottleneck:
        if self.rate.bps == 0:
            raise ValueError("rate: must be more than 0; write e.g. 100mbit")
        if self.overhead.bytes > CONSTANTS.overhead_bytes_max:
            most = Size(CONSTANTS.overhead_bytes_max)
            raise ValueError(f"overhead: {self.overhead} is too large; write at most {most}")
        self.check(self.rate, self.overhead)
        if self.shaper is not None and (self.changes or self.trace):
            raise ValueError(
                "shaper: its tokens come at one rate; remove it, or `changes` and `trace`"
            )
        _check_queues(self)
        return self


def _check_queues(bottleneck: Bottleneck) -> None:
    """What goes with several queues, and what only with them."""
    if bottleneck.queues is None:
        for key in ("scheduler", "shared_buffer"):
            if getattr(bottleneck, key) is not None:
                raise ValueError(f"{key}: is for several queues; write `queues`, or remove it")
        return
    if not bottleneck.discipline.is_droptail:
        raise ValueError(
            "discipline: there are several queues; write it under each queue that is to have it"
        )
    if bottleneck.arrive_as == "trains":
        raise ValueError(
            "arrive_as: several queues take frame by frame; write `arrive_as: frames`, or one queue"
        )
    memory = bottleneck.shared_buffer or COMPLETE_SHARING
    check_queues(bottleneck.scheduler or "drr", memory, bottleneck.queues)


class ProcessorTime(ContractModel):
    """Time that a call takes which sends or receives UDP datagrams; each thread has its own core.

    Attributes:
        per_datagram: For each datagram, of which one call may send many (UDP_SEGMENT).
        per_kilobyte: For each 1000 bytes of payload, as encryption takes.
    """

    per_datagram: Duration = Duration(0)
    per_kilobyte: Duration = Duration(0)

    @model_validator(mode="after")
    def _check(self) -> ProcessorTime:
        for key in ("per_datagram", "per_kilobyte"):
            value: Duration = getattr(self, key)
            if value.ns > MOST_PROCESSOR_NS:
                raise ValueError(f"{key}: {value} is out of range; write 0s to 1s")
        return self


class Hosts(ContractModel):
    """What the hosts are told. By default no flow is limited by a socket buffer.

    Attributes:
        wmem_max: Largest send buffer of a flow (the third value of net.ipv4.tcp_wmem); Ubuntu
            and Debian have 4MiB.
        rmem_max: Largest receive buffer (of net.ipv4.tcp_rmem), of which a kernel up to 6.1
            offers half as window; Ubuntu and Debian have 6MiB.
        read_interval: The receivers' program reads only so often, which thins ACKs: the kernel
            acknowledges once what waited, where it can no longer offer the same window. 0: it
            reads soon enough for one ACK for every second segment.
        processing_jitter: Each host takes up to so long to process what it sends at one instant,
            uniformly at random, in order. Without it virtual time is exact, and flows may stay in
            phase with the queue (Floyd and Jacobson, On Traffic Phase Effects, 1992, who recommend
            one to two service times of the bottleneck); a busy machine has it anyway.
        ecn: Which flows negotiate ECN: `true`, all of them; or those of the strategies and flow
            groups that are listed. DCTCP, Prague, `bbr2_ecn` and `bbr3_ecn` need it.
        qdisc: Queue discipline of the hosts' interfaces, with the kernel's own parameters: `fq`,
            which paces every flow, CUBIC's at up to twice cwnd/RTT, in place of TCP's own timer,
            which paces BBR's alone; `fq_codel`; `pfifo_fast`. Left out: none in virtual time; in
            namespaces a FIFO that is empty but for moments.
        cpu: What UDP costs a processor, where strategies are programs: `{per_datagram: 5us,
            per_kilobyte: 1us}`. UDP flows of nashbed's own pay, too; TCP does not. Left out:
            nothing, no program is limited by its processor.
    """

    wmem_max: Size | None = None
    rmem_max: Size | None = None
    read_interval: Duration = Duration(0)
    processing_jitter: Duration = formerly("jitter", "processing_jitter", Duration(0))
    ecn: bool | tuple[Name, ...] = False
    qdisc: Qdisc | None = None
    cpu: Annotated[
        ProcessorTime | None,
        Needs("{key}: processors have a price in virtual time alone; remove it", "virtual_time"),
    ] = None

    def negotiates_ecn(self, strategy: str, group: str) -> bool:
        """Whether flows of a strategy and of a flow group ask for ECN."""
        return self.ecn if isinstance(self.ecn, bool) else bool({strategy, group} & {*self.ecn})

    @model_validator(mode="after")
    def _check(self) -> Hosts:
        if self.read_interval.ns and not 10**5 <= self.read_interval.ns <= 10**9:
            raise ValueError(
                f"read_interval: {self.read_interval} is out of range; write 0s or 0.1ms to 1s"
            )
        if self.processing_jitter.ns > MOST_JITTER_NS:
            raise ValueError(
                f"processing_jitter: {self.processing_jitter} is out of range; write 0s to 100ms"
            )
        for key in ("wmem_max", "rmem_max"):
            size: Size | None = getattr(self, key)
            if size is not None and not 2**17 <= size.bytes < 2**31:
                raise ValueError(f"{key}: {size} is out of range; write 128KiB to 2047MiB")
        return self


class BinnedPostcards(ContractModel):
    """Keep only per-flow sums over bins of this length."""

    bins: Duration

    @model_validator(mode="after")
    def _check(self) -> BinnedPostcards:
        if not 10**6 <= self.bins.ns <= 10**9:
            raise ValueError(f"bins: {self.bins} is out of range; write 1ms to 1s")
        return self


class Telemetry(ContractModel):
    """What is kept of a trial.

    Attributes:
        postcards: Every postcard, or bins only.
        tcp_info: Sampling interval of the senders' TCP state.
        goodput: Interval of the sinks' byte counts.
        capture: Keep the headers of every segment at the senders (capture.pcap), for the RTT of
            each packet, at rates that a capture can keep up with. `both`: at the receivers, too
            (behind.pcap), for queueing delays that are independent of the switch.
    """

    postcards: Literal["all"] | BinnedPostcards = "all"
    tcp_info: Duration = Duration(50_000_000)
    goodput: Duration = Duration(100_000_000)
    capture: bool | Literal["both"] = False

    @model_validator(mode="after")
    def _check(self) -> Telemetry:
        for key in ("tcp_info", "goodput"):
            value: Duration = getattr(self, key)
            if not 10**6 <= value.ns <= 10**10:
                raise ValueError(f"{key}: {value} is out of range; write 1ms to 10s")
        return self


class Gates(ContractModel):
    """Bounds of the validity gates.

    Attributes:
        round_trip_error: Bound on how much too long round trips may be on average, as a share of
            the smallest base RTT and the mean queueing delay together; `auto` is 1 %.
        paused: Bound on the share of the measured window in which the data plane's loop did not
            run; `auto` is 1.5 %.
        longest_hold_up: Bound on the largest error of a round trip and, in real time, on the
            longest that a host may take to answer; `auto` is the smaller of that round trip and
            200 ms. Where no port stamps arrivals, also on the longest pause of the data plane's
            loop in the measured window, for which `auto` is the larger of the smallest base RTT
            and 10 ms.
        lateness_p999: Bound on the 99.9th percentile of departure lateness; `auto` is the
            larger of 1 % of the smallest base RTT and 0.5 ms. Judged only where a switch beside
            the hosts is the bottleneck: elsewhere the return path compensates.
        overlap: Every flow must send, or have data to send, within this share of the measured
            window, both at its beginning and at its end.
    """

    round_trip_error: Literal["auto"] | Share = "auto"
    paused: Literal["auto"] | Share = "auto"
    longest_hold_up: Literal["auto"] | Duration = "auto"
    lateness_p999: Literal["auto"] | Duration = "auto"
    overlap: Share = Share(250_000_000)


class ReferenceSeries(SettingSelection):
    """A published series, drawn together with the measured one.

    Attributes:
        label: Its source.
        strategy: Whose values.
        axis: What x is: flows of the second strategy, buffers in BDP of the first group,
            buffers in MB, or random losses in per cent.
        quantity: What y is: per-flow throughput in Mbit/s, aggregate throughput in Mbit/s,
            share of the throughput (0 to 1), or flows of the strategy at the equilibrium.
        mix: Number of flows of each strategy listed, where x is no mix; the others have the rest.
        x: Values of the axis.
        y: Values of the quantity.
        ci95: Half the width of each value's 95 % interval, in the quantity; left out: none is
            published.
    """

    label: Annotated[str, Field(min_length=1, max_length=80)]
    strategy: StrategyName
    axis: Literal["mix", "buffer_bdp", "buffer_mb", "random_loss"] = "mix"
    quantity: Literal["per_flow", "aggregate", "share", "equilibrium"] = "per_flow"
    mix: dict[StrategyName, Count] | None = None
    x: Annotated[tuple[float, ...], Field(min_length=1)]
    y: Annotated[tuple[float, ...], Field(min_length=1)]
    ci95: tuple[float, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> ReferenceSeries:
        for key, values in (("y", self.y), ("ci95", self.ci95)):
            if values is not None and len(values) != len(self.x):
                raise ValueError(f"{key}: has {len(values)} values, x has {len(self.x)}")
        if self.mix is not None and (self.axis == "mix" or self.quantity == "equilibrium"):
            raise ValueError("mix: x or the equilibrium says which mixes are meant; remove it")
        return self


class ScenarioKeys(ContractModel):
    """The keys of a scenario, of which each is checked by itself.

    Attributes:
        name: Short name; part of the run directory's name.
        title: One line for the report.
        description: Free text for the report.
        bottleneck: The bottleneck.
        flows: Flow groups; the first one's base RTT defines the BDP.
        hosts: What the hosts' kernels are told.
        start: How flows start: `together`, `iperf3`, `{staggered: 100ms}`, `{order: [bbr,
            cubic], gap: 5s}`, `{offsets: {cubic: 3.84s}}` or `{random: 10s}`.
        start_jitter: Each flow starts up to this much later, at random from the seed (with
            `iperf3` they do not).
        strategies: Congestion controls, by name or, of one's own, by the path of its C file
            relative to this one: `./mycc.c` is `mycc` from there on; of a kernel module also a
            folder, `./mycc/`, and parameters, `{file: ./mycc.c, params: {beta: 717}}`. Or
            programs, each by a file that describes it, of configs/programs or relative to this one:
            `{program: ngtcp2-cubic.yaml}`. A mix counts the flows of the second one.
        duration: Length of a trial from the common start (with `iperf3`: of each process's
            sending), or `{until: settled, at_least: 60s, at_most: 1800s}`.
        warmup: Time at the beginning of a trial that is not measured.
        window: What is measured: `after_warmup`, or `whole`. A trial that runs until it is settled
            is measured while it was found steady.
        trials: Repetitions of each setting and mix.
        seed: Seed of everything random.
        paired_seeds: Whether trials of one repetition have the same seed at every setting and mix,
            so that what is compared differs in itself alone; otherwise each has its own.
        kernel: Kernel of the hosts in virtual time, by the beginning of its release, in quotes:
            "6.12"; left out: the testbed's.
        max_attempts: The most attempts at a trial, as long as it is invalid, or its host or guest
            fails.
        sweep: What is varied.
        equilibrium: How equilibria are searched for.
        telemetry: What is kept.
        gates: Bounds of the validity gates.
        acceptance: Bounds that the results must meet.
        reference: Published series for the report.
    """

    name: Name
    title: Annotated[str, Field(min_length=1, max_length=120)]
    description: str = ""
    bottleneck: Bottleneck
    flows: Annotated[Several[FlowGroup], Field(min_length=1, max_length=MAX_GROUPS)]
    hosts: Hosts = Hosts()
    start: StartSpec = "together"
    start_jitter: Duration = Duration(100_000_000)
    strategies: Annotated[Several[Strategy], Field(min_length=2, max_length=12)]
    duration: AsText[SettledDuration | Duration]
    warmup: Duration
    window: WindowSpec = "after_warmup"
    trials: Annotated[int, Field(strict=True, ge=1, le=1000)] = 5
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 1
    paired_seeds: bool = False
    kernel: KernelRelease | None = None
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=10)] = 3
    sweep: Sweep = Sweep()
    equilibrium: Equilibrium = Equilibrium()
    telemetry: Telemetry = Telemetry()
    gates: Gates = Gates()
    acceptance: tuple[AcceptanceBound, ...] = ()
    reference: tuple[ReferenceSeries, ...] = ()

    @property
    def module_parameters(self) -> ModuleParameters:
        """What strategies that are kernel modules are inserted with."""
        return {str(s): s.params for s in self.strategies if isinstance(s, CcaInFile) and s.params}

    @property
    def programs(self) -> dict[str, ProgramInFile]:
        """The strategies that are programs, by their names."""
        return {str(s): s for s in self.strategies if isinstance(s, ProgramInFile)}

    @property
    def mixed(self) -> tuple[FlowGroup, ...]:
        """The flow groups of the mix; they stand before all others."""
        return tuple(group for group in self.flows if group.mixed)

    @property
    def total_flows(self) -> int:
        """Flows of one trial that are part of the mix."""
        return sum(group.count for group in self.mixed)

    @property
    def most_flows(self) -> int:
        """Flows of one trial at the most, background and transfers included."""
        return sum(most_flows(group, self.longest.ns) for group in self.flows)

    @property
    def lasting_flows(self) -> int:
        """Flows of one trial that send until its end, background included."""
        return sum(group.count for group in self.flows)

    @property
    def ccas(self) -> tuple[str, ...]:
        """Every strategy that flows run: those of the mix, and those of background groups."""
        fixed = (group.runs for group in self.flows if group.runs not in (OF_MIX, UDP))
        return tuple(dict.fromkeys((*self.strategies, *fixed)))

    @property
    def kernel_ccas(self) -> tuple[str, ...]:
        """Those that are congestion controls of the hosts' kernel, and not programs."""
        return tuple(name for name in self.ccas if name not in self.programs)

    @property
    def longest(self) -> Duration:
        """Length of a trial that nothing ends early."""
        return self.duration if isinstance(self.duration, Duration) else self.duration.at_most

    @property
    def shortest(self) -> Duration:
        """Length that every trial has."""
        return self.duration if isinstance(self.duration, Duration) else self.duration.at_least

    def starts(self) -> tuple[StartSpec, ...]:
        """How the repetitions of a trial start, in turns; two ways where trials are to settle."""
        if not isinstance(self.duration, SettledDuration):
            return (self.start,)
        first, *others = (
            settling_start(self.start, self.strategies, r) for r in range(min(self.trials, 2))
        )
        return (first, *(each for each in others if each != first))

    def seeks_equilibria(self, any_decided: bool) -> bool:
        """Whether a run can say anything about equilibria; with selected mixes it may not.

        Args:
            any_decided: Whether there is a verdict on any of its mixes.
        """
        mixes = self.sweep.mixes
        if isinstance(mixes, PairMixes):
            return any(0 < k < self.total_flows for k in mixes.counts(self.total_flows))
        return mixes == "all" or (any_decided and not isinstance(mixes, HarmMixes))
