"""A scenario: what competes at which bottleneck, for how long, and what is kept.

It never names a machine, a port or a target: the testbed file does.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    Field,
    model_validator,
)

from .applications import UDP, Application, Media, check_application, check_applications
from .course import (
    OffsetStart,
    OrderedStart,
    RandomStart,
    SettledDuration,
    StaggeredStart,
    StartSpec,
    StrategyName,
    WindowSpec,
)
from .disciplines import DROPTAIL, DisciplineSpec
from .dscp import Dscp
from .functions import PATTERN as FUNCTION_PATTERN
from .harm import HarmMixes, check_harm, check_harm_bound
from .link_changes import LinkChange, Policer, TraceSpec, check_link
from .model import AliasedModel, ContractModel, Name
from .path_changes import ChangingPath, ReturnBottleneck, check_path, check_rtt, check_times
from .place import MAX_FLOWS, Count, KernelRelease, Place
from .queues import (
    COMPLETE_SHARING,
    FlowKind,
    MemorySpec,
    Queue,
    Queues,
    Scheduler,
    check_limits,
    check_queues,
    check_shares,
)
from .shared import CONSTANTS
from .strategy import Strategy
from .target import Arrivals, LimitCounts
from .traffic import (
    OF_MIX,
    ArrivalSpec,
    Connections,
    SizeSpec,
    check_background_start,
    check_direction,
    check_directions,
    check_group,
    check_order,
    most_flows,
)
from .traffic_bounds import (
    BitrateBound,
    BurstBound,
    HarmBound,
    PartBound,
    SlowdownBound,
    TimeBound,
    TrafficBound,
)
from .units import NS_PER_S, PACKET_BYTES, Buffer, Duration, Rate, Share, Size, counted

MAX_GROUPS = CONSTANTS.groups_per_lane
MOST_JITTER_NS = 10**8
NEED_ECN = frozenset({"dctcp", "prague", "bbr2_ecn", "bbr3_ecn"})
"""Strategies that turn into another one on a connection without ECN."""


class Bottleneck(AliasedModel):
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
        cell: If given, the limit is enforced in cells of this size, as switch chips do; a packet
            takes whole cells.
        arrivals: What the queue admits or drops as one: `frames`, each by itself, as a switch
            does; `trains`, frames of one flow that arrive back to back, as a Linux router does.
        limit_counts: Until when a packet (or a train, as one) counts against the limit: `system`,
            until its last bit has left; `queue`, until its first bit leaves, as in a Linux router.
            Left out: as the target has it, which is `system` except on a Tofino.
        queues: Several queues (2 to 8) in place of one.
        scheduler: Whose packet is sent next: `drr`, deficit round robin, each queue by its weight;
            `strict_priority`, that of the first queue that has one. Left out: drr.
        memory: How much of `buffer` each queue may have: `complete_sharing`,
            `complete_partitioning`, `{static: [1MB, 200kB]}`, `{dynamic_threshold: {alpha: 1}}`,
            or one of your own: `{file: ./mine.c}`. Left out: complete_sharing.
        changes: What happens to the link in mid-trial, in the order of time: `{at: 30s, rate:
            10mbit, buffer: 4bdp}`, `{from: 80s, to: 82s, down: true}`.
        trace: A file that says what the link carries over time, from the common start on; `rate`
            is then what it has before, and what a BDP is taken with.
        policer: A token bucket in front of the queue.
        return: A bottleneck of its own, drop-tail, that the acknowledgements of all flows share:
            `{rate: 1mbit, buffer: 50pkt}`. Left out: the way back has no queue.
    """

    rate: Rate
    buffer: Buffer
    discipline: DisciplineSpec = DROPTAIL
    overhead: Size = Size(0)
    cell: Size | None = None
    arrivals: Arrivals = "frames"
    limit_counts: LimitCounts | None = None
    queues: tuple[Queue, ...] | None = None
    scheduler: Scheduler | None = None
    memory: MemorySpec | None = None
    changes: tuple[LinkChange, ...] = ()
    trace: TraceSpec | None = None
    policer: Policer | None = None
    return_: Annotated[ReturnBottleneck | None, Field(alias="return")] = None

    @property
    def shared(self) -> Queues | None:
        """The several queues; None: there is one."""
        if self.queues is None:
            return None
        memory = COMPLETE_SHARING if self.memory is None else self.memory
        return Queues(scheduler=self.scheduler or "drr", memory=memory, queues=self.queues)

    @model_validator(mode="after")
    def _check(self) -> Bottleneck:
        if self.rate.bps == 0:
            raise ValueError("rate: must be more than 0; write e.g. 100mbit")
        if self.overhead.bytes > CONSTANTS.overhead_bytes_max:
            most = Size(CONSTANTS.overhead_bytes_max)
            raise ValueError(f"overhead: {self.overhead} is too large; write at most {most}")
        largest = CONSTANTS.cell_bytes_max
        if self.cell is not None and not 1 <= self.cell.bytes <= largest:
            raise ValueError(f"cell: {self.cell} is out of range; write 1B to {largest}B")
        if self.cell is not None and self.arrivals == "trains":
            raise ValueError(
                "arrivals: trains are a Linux router's, which has no cells; remove `cell`, or "
                "write `arrivals: frames`"
            )
        _check_queues(self)
        return self


def _check_queues(bottleneck: Bottleneck) -> None:
    """What goes with several queues, and what only with them."""
    if bottleneck.queues is None:
        for key in ("scheduler", "memory"):
            if getattr(bottleneck, key) is not None:
                raise ValueError(f"{key}: is for several queues; write `queues`, or remove it")
        return
    if not bottleneck.discipline.is_droptail:
        raise ValueError(
            "discipline: there are several queues; write it under each queue that is to have it"
        )
    if bottleneck.cell is not None:
        raise ValueError("cell: several queues share their memory by the byte; remove `cell`")
    if bottleneck.arrivals == "trains":
        raise ValueError(
            "arrivals: several queues take frame by frame; write `arrivals: frames`, or one queue"
        )
    memory = COMPLETE_SHARING if bottleneck.memory is None else bottleneck.memory
    check_queues(bottleneck.scheduler or "drr", memory, bottleneck.queues)


class FlowGroup(ChangingPath):
    """Flows with the same base RTT.

    Attributes:
        name: The group's name, unique in the scenario.
        count: Number of flows, which send until the end; left out where there are `arrivals`.
        base_rtt: Round-trip time without queueing.
        start_offset: How long after the common start this group's flows start.
        random_loss: Share of packets lost at random on the forward path, before the queue.
        dscp: The DSCP that its senders set (IP_TOS), by name (ef, af41, cs5, le) or as 0 to 63.
            Left out: none, which is 0.
        strategy: `of_mix`: its flows run the strategies that the mix says. A CCA by its name: they
            all run this one; the group then is no part of the mix, but background, and stands
            behind the groups of the mix.
        arrivals: Transfers that end come in place of flows that send until the end:
            `{poisson: 20/s}` or `{every: 50ms}`, from the group's start until the trial's end. They
            are background; `of_mix` draws the strategy of each with the shares of the mix.
        size: Bytes of a transfer: `1MB`, `{lognormal: {median: 20kB, sigma: 1.5}}`, or
            `{one_of: [2kB, 1MB]}`, or `{file: sizes.csv}`, a file with a size on each line.
        connections: `new`: each transfer has a connection of its own, with its handshake and end;
            `kept`: it takes an idle one of its group and strategy, if there is one. Left out: new.
        direction: `forward`; or `reverse`: the group's data takes the way of the others'
            acknowledgements, through the bottleneck on the way back, and its acknowledgements come
            through the queue. Its `strategy` is one of its own.
        app: What limits its flows besides the network. Left out: nothing, they send bulk data.
        udp: Its flows are paced datagrams without congestion control, and background.
    """

    name: Name
    count: Count = 0
    base_rtt: Duration
    start_offset: Duration = Duration(0)
    random_loss: Share = Share(0)
    dscp: Dscp | None = None
    strategy: StrategyName = OF_MIX
    arrivals: ArrivalSpec | None = None
    size: SizeSpec | None = None
    connections: Connections | None = None
    direction: Literal["forward", "reverse"] = "forward"
    app: Application | None = None
    udp: Media | None = None

    @property
    def mixed(self) -> bool:
        """Whether its flows are part of the mix; if not, they are background."""
        return self.runs == OF_MIX and self.arrivals is None

    @property
    def reverse(self) -> bool:
        """Whether its data takes the way of the others' acknowledgements."""
        return self.direction == "reverse"

    @property
    def runs(self) -> str:
        """Its strategy; of datagrams `udp`."""
        return self.strategy if self.udp is None else UDP

    @model_validator(mode="after")
    def _check(self) -> FlowGroup:
        check_group(self)
        check_rtt("base_rtt", self.base_rtt)
        check_path(self, self.base_rtt)
        if self.random_loss.ppb >= 10**9:
            raise ValueError(
                f"random_loss: {self.random_loss} drops every packet; write less than 100%"
            )
        check_application(self)
        check_direction(self)
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
        jitter: Each host takes up to so long to process what it sends at one instant, uniformly at
            random, in order. Without it virtual time is exact, and flows may stay in phase with
            the queue (Floyd and Jacobson, On Traffic Phase Effects, 1992, who recommend one to
            two service times of the bottleneck); a busy machine has it anyway.
        ecn: Which flows negotiate ECN: `true`, all of them; or those of the strategies and flow
            groups that are listed. DCTCP, Prague, `bbr2_ecn` and `bbr3_ecn` need it.
    """

    wmem_max: Size | None = None
    rmem_max: Size | None = None
    read_interval: Duration = Duration(0)
    jitter: Duration = Duration(0)
    ecn: bool | tuple[Name, ...] = False

    def negotiates_ecn(self, strategy: str, group: str) -> bool:
        """Whether flows of a strategy and of a flow group ask for ECN."""
        return self.ecn if isinstance(self.ecn, bool) else bool({strategy, group} & {*self.ecn})

    @model_validator(mode="after")
    def _check(self) -> Hosts:
        if self.read_interval.ns and not 10**5 <= self.read_interval.ns <= 10**9:
            raise ValueError(
                f"read_interval: {self.read_interval} is out of range; write 0s or 0.1ms to 1s"
            )
        if self.jitter.ns > MOST_JITTER_NS:
            raise ValueError(f"jitter: {self.jitter} is out of range; write 0s to 100ms")
        for key in ("wmem_max", "rmem_max"):
            size: Size | None = getattr(self, key)
            if size is not None and not 2**17 <= size.bytes < 2**31:
                raise ValueError(f"{key}: {size} is out of range; write 128KiB to 2047MiB")
        return self


MixSpec = Count | tuple[Count, ...] | dict[StrategyName, Count]
"""How many flows run the second strategy: one number for one group, a list with one number
for each group, or a mapping strategy -> count (one group, any number of strategies)."""


class PairMixes(ContractModel):
    """Mixes of two strategies at a time, of one flow group: a game of every pair.

    Attributes:
        pairs: `all`: each strategy against each other one; `first`: each against the first.
        second: How many flows run the later strategy of a pair; left out: every number.
    """

    pairs: Literal["all", "first"]
    second: tuple[Count, ...] | None = None

    def counts(self, flows: int) -> tuple[int, ...]:
        """How many of so many flows run the later strategy of a pair, in the order of the runs."""
        return tuple(range(flows + 1)) if self.second is None else self.second

    @model_validator(mode="after")
    def _check(self) -> PairMixes:
        if self.second is not None and len(set(self.second)) < max(len(self.second), 1):
            raise ValueError("second: is empty, or lists a number twice")
        return self


class Sweep(ContractModel):
    """What is varied. Every combination is a setting; every setting runs every mix.

    Attributes:
        buffer: Buffers in place of the bottleneck's.
        discipline: Queue disciplines in place of the bottleneck's.
        memory: Policies of the memory that several queues share, in place of the bottleneck's.
        rate: Rates in place of the bottleneck's.
        base_rtt: Base RTTs in place of the flow group's; there must be only one group.
        random_loss: Random losses in place of every flow group's.
        kernel: Guest kernels in place of the scenario's.
        start: Starts in place of the scenario's.
        mixes: `all`; `{pairs: all}` or `{pairs: first}`, which have two strategies at a time;
            `{harm_to: cubic}`, one flow alone and beside each strategy; or the mixes to run.
    """

    buffer: tuple[Buffer, ...] | None = None
    discipline: tuple[DisciplineSpec, ...] | None = None
    memory: tuple[MemorySpec, ...] | None = None
    rate: tuple[Rate, ...] | None = None
    base_rtt: tuple[Duration, ...] | None = None
    random_loss: tuple[Share, ...] | None = None
    kernel: tuple[KernelRelease, ...] | None = None
    start: tuple[StartSpec, ...] | None = None
    mixes: Literal["all"] | PairMixes | HarmMixes | tuple[MixSpec, ...] = "all"

    @model_validator(mode="after")
    def _check(self) -> Sweep:
        for key in type(self).model_fields:
            values = getattr(self, key)
            if values == ():
                raise ValueError(f"{key}: is empty; give at least one value or leave the key out")
            if isinstance(values, tuple) and len({str(v) for v in values}) != len(values):
                raise ValueError(f"{key}: a value is listed twice; remove one of them")
        return self


class DelayUtility(ContractModel):
    """Throughput minus the cost of delay.

    Attributes:
        delay_cost: Throughput that a flow would give up for one millisecond less of mean queueing
            delay.
    """

    delay_cost: Rate


class UserUtility(ContractModel):
    """A utility function of the user's own.

    Attributes:
        function: Import path, `module:function`. It takes one mapping from a metric's name to
            its value for the flows of one strategy and group, and returns bit/s.
    """

    function: Annotated[str, Field(pattern=FUNCTION_PATTERN, max_length=200)]


UtilitySpec = Literal["throughput"] | DelayUtility | UserUtility


class Equilibrium(ContractModel):
    """How equilibria are searched for.

    Attributes:
        search: `exhaustive` runs every mix of the sweep. `adaptive` chooses mixes as results
            arrive until an equilibrium is found and its interval is closed on both sides;
            `trials` is then the most repetitions of a mix whose verdict is unclear.
        budget: The most mixes of a setting that an adaptive search measures; left out: as many as
            it takes.
        utility: What a flow maximises: `throughput`, `{delay_cost: 100kbit}` (for each ms), or
            `{function: module:function}`.
        epsilon: Gain, as a share of the fair share, that is too small to switch for.
    """

    search: Literal["exhaustive", "adaptive"] = "exhaustive"
    budget: Annotated[int, Field(strict=True, ge=3)] | None = None
    utility: UtilitySpec = "throughput"
    epsilon: Share = Share(100_000_000)


class SampledPostcards(ContractModel):
    """Keep some postcards.

    Attributes:
        sample: One in so many is kept.
    """

    sample: Annotated[int, Field(strict=True, ge=1, le=1_000_000)]


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
        postcards: Every postcard, one in n, or bins only.
        tcp_info: Sampling interval of the senders' TCP state.
        goodput: Interval of the sinks' byte counts.
        capture: Keep the headers of every segment at the senders (capture.pcap), for the RTT of
            each packet, at rates that a capture can keep up with. `both`: at the receivers, too
            (behind.pcap), for queueing delays that are independent of the switch.
    """

    postcards: Literal["all"] | SampledPostcards | BinnedPostcards = "all"
    tcp_info: Duration = Duration(50_000_000)
    goodput: Duration = Duration(100_000_000)
    capture: bool | Literal["both"] = False

    @property
    def mode(self) -> Literal["all", "sample", "bins"]:
        """Which way of keeping postcards this is."""
        if isinstance(self.postcards, SampledPostcards):
            return "sample"
        return "bins" if isinstance(self.postcards, BinnedPostcards) else "all"

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
            200 ms.
        lateness_p999: Bound on the 99.9th percentile of departure lateness; `auto` is the
            larger of 1 % of the smallest base RTT and 0.5 ms. Judged only where a switch beside
            the hosts is the bottleneck: elsewhere the return path compensates.
        loop_gap: Bound on the longest pause of the data plane's loop in the measured window;
            `auto` is the larger of the smallest base RTT and 10 ms. Judged only where no port
            stamps arrivals.
        sampling_lateness: A trial whose TCP_INFO timer is later than this on average is marked;
            `auto` is a quarter of the sampling interval.
        overlap: Every flow must send, or have data to send, within this share of the measured
            window, both at its beginning and at its end.
    """

    round_trip_error: Literal["auto"] | Share = "auto"
    paused: Literal["auto"] | Share = "auto"
    longest_hold_up: Literal["auto"] | Duration = "auto"
    lateness_p999: Literal["auto"] | Duration = "auto"
    loop_gap: Literal["auto"] | Duration = "auto"
    sampling_lateness: Literal["auto"] | Duration = "auto"
    overlap: Share = Share(250_000_000)


class ThroughputBound(Place):
    """Mean per-flow throughput of one strategy at one mix.

    Attributes:
        metric: What is bounded.
        strategy: Whose throughput.
        mix: Number of flows of each strategy listed; the other strategies have the rest.
        expect: Expected per-flow throughput.
        tolerance: Allowed deviation, as a share of `expect`.
    """

    metric: Literal["per_flow_throughput"]
    strategy: StrategyName
    mix: dict[StrategyName, Count]
    expect: Rate
    tolerance: Share


class DelayBound(Place):
    """Mean queueing delay of a setting, of one mix or over all its mixes.

    Attributes:
        metric: What is bounded.
        mix: As in ThroughputBound; left out: the mean over all mixes with every strategy.
        min: Smallest allowed delay.
        max: Largest allowed delay.
    """

    metric: Literal["mean_queueing_delay"]
    mix: dict[StrategyName, Count] | None = None
    min: Duration
    max: Duration


class RttBound(Place):
    """RTT measured by the senders' kernels, averaged over one strategy's flows.

    Attributes:
        metric: The mean of the smoothed RTT in the window, or its largest value.
        strategy: Whose RTT.
        mix: As in ThroughputBound.
        min: Smallest allowed RTT.
        max: Largest allowed RTT; left out: no bound.
    """

    metric: Literal["mean_rtt", "peak_rtt"]
    strategy: StrategyName
    mix: dict[StrategyName, Count]
    min: Duration = Duration(0)
    max: Duration | None = None


class ShareBound(Place):
    """Share of the throughput that all flows of one strategy have together.

    Attributes:
        metric: What is bounded.
        strategy: Whose share.
        mix: As in ThroughputBound.
        min: Smallest allowed share.
        max: Largest allowed share.
    """

    metric: Literal["throughput_share"]
    strategy: StrategyName
    mix: dict[StrategyName, Count]
    min: Share = Share(0)
    max: Share = Share(10**9)


class LossBound(Place):
    """Share of the packets that the queue dropped or marked, or of the payload sent again.

    Attributes:
        metric: What is bounded.
        mix: As in ThroughputBound.
        min: Smallest allowed share.
        max: Largest allowed share.
    """

    metric: Literal["loss_rate", "mark_rate", "retransmit_share"]
    mix: dict[StrategyName, Count]
    min: Share = Share(0)
    max: Share = Share(10**9)


class RatioBound(Place):
    """Per-flow throughput of one strategy, divided by that of another.

    Attributes:
        metric: What is bounded.
        strategy: Whose throughput.
        over: Whose throughput it is divided by.
        mix: The mix in which both are measured; left out: each where all flows run it.
        min: Smallest allowed ratio.
        max: Largest allowed ratio; left out: no bound.
    """

    metric: Literal["throughput_ratio"]
    strategy: StrategyName
    over: StrategyName
    mix: dict[StrategyName, Count] | None = None
    min: Annotated[float, Field(ge=0)] = 0.0
    max: Annotated[float, Field(ge=0)] | None = None


class CrossingBound(Place):
    """Where the strategies' per-flow throughputs cross, in flows of the second strategy.

    Attributes:
        metric: What is bounded.
        expect: Expected crossing, in flows (a fraction is between two mixes).
        tolerance: Allowed difference, in flows.
    """

    metric: Literal["crossing"]
    expect: Annotated[float, Field(ge=0)]
    tolerance: Annotated[float, Field(ge=0)]


class EquilibriumBound(Place):
    """Flows of one strategy at the equilibrium, judged on all that the measurement leaves open.

    With one flow group and two strategies the measurement gives an interval for where the lead
    in throughput (or utility) ends, with 95 % confidence, and with it a range of mixes. The bound
    is met if this whole range is allowed, for every equilibrium that there is; it is missed if
    the range of one equilibrium is allowed nowhere; otherwise it is undecided, which is not
    met: more repetitions make the range narrower. In other games, and where the mixes are too
    few for an interval, every equilibrium of the means must be allowed.

    Attributes:
        metric: What is bounded.
        strategy: Whose flows.
        group: Only those of this flow group; left out: of all.
        min: Smallest allowed number.
        max: Largest allowed number; left out: no bound.
    """

    metric: Literal["equilibrium"]
    strategy: StrategyName
    group: Name | None = None
    min: Count = 0
    max: Count = MAX_FLOWS


class EquilibriumCountBound(Place):
    """How many mixes are equilibria.

    Attributes:
        metric: What is bounded.
        min: Smallest allowed number.
        max: Largest allowed number.
    """

    metric: Literal["equilibrium_count"]
    min: Count = 0
    max: Count = MAX_FLOWS


class RttOrderBound(Place):
    """Share of one strategy's flows that are among as many flows with the shortest base RTTs.

    At every equilibrium in which a flow runs the strategy: the smallest share of them counts.

    Attributes:
        metric: What is bounded.
        strategy: Whose flows.
        min: Smallest allowed share; 100 %: they are the flows with the shortest base RTTs.
    """

    metric: Literal["rtt_order"]
    strategy: StrategyName
    min: Share = Share(10**9)


AcceptanceBound = Annotated[
    ThroughputBound
    | DelayBound
    | RttBound
    | ShareBound
    | LossBound
    | RatioBound
    | CrossingBound
    | EquilibriumBound
    | EquilibriumCountBound
    | RttOrderBound
    | TimeBound
    | PartBound
    | SlowdownBound
    | HarmBound
    | BitrateBound
    | BurstBound,
    Field(discriminator="metric"),
]


class ReferenceSeries(Place):
    """A published series, drawn together with the measured one.

    Attributes:
        label: Its source.
        strategy: Whose values.
        axis: What x is: flows of the second strategy, buffers in BDP of the first group,
            buffers in MB, or random losses in per cent.
        quantity: What y is: per-flow throughput in Mbit/s, aggregate throughput in Mbit/s,
            share of the throughput (0 to 1), or flows of the strategy at the equilibrium.
        x: Values of the axis.
        y: Values of the quantity.
    """

    label: Annotated[str, Field(min_length=1, max_length=80)]
    strategy: StrategyName
    axis: Literal["mix", "buffer_bdp", "buffer_mb", "random_loss"] = "mix"
    quantity: Literal["per_flow", "aggregate", "share", "equilibrium"] = "per_flow"
    x: Annotated[tuple[float, ...], Field(min_length=1)]
    y: Annotated[tuple[float, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check(self) -> ReferenceSeries:
        if len(self.x) != len(self.y):
            raise ValueError(f"y: has {len(self.y)} values, x has {len(self.x)}")
        return self


class Scenario(ContractModel):
    """A whole scenario.

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
            relative to this one: `./mycc.c` is `mycc` from there on. A mix counts the flows of the
            second one.
        duration: Length of a trial from the common start (with `iperf3`: of each process's
            sending), or `{until: settled, at_least: 60s, at_most: 1800s}`.
        warmup: Time at the beginning of a trial that is not measured.
        window: What is measured: `after_warmup`, or `whole`. A trial that runs until it is settled
            is measured while it was found steady.
        trials: Repetitions of each setting and mix.
        seed: Seed of everything random.
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
    flows: Annotated[tuple[FlowGroup, ...], Field(min_length=1, max_length=MAX_GROUPS)]
    hosts: Hosts = Hosts()
    start: StartSpec = "together"
    start_jitter: Duration = Duration(100_000_000)
    strategies: Annotated[tuple[Strategy, ...], Field(min_length=2, max_length=12)]
    duration: SettledDuration | Duration
    warmup: Duration
    window: WindowSpec = "after_warmup"
    trials: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 1
    kernel: KernelRelease | None = None
    max_attempts: Annotated[int, Field(strict=True, ge=1, le=10)] = 3
    sweep: Sweep = Sweep()
    equilibrium: Equilibrium = Equilibrium()
    telemetry: Telemetry = Telemetry()
    gates: Gates = Gates()
    acceptance: tuple[AcceptanceBound, ...] = ()
    reference: tuple[ReferenceSeries, ...] = ()

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
        """Every CCA that flows run: the strategies, and those of background groups."""
        fixed = (group.runs for group in self.flows if group.runs not in (OF_MIX, UDP))
        return tuple(dict.fromkeys((*self.strategies, *fixed)))

    @property
    def longest(self) -> Duration:
        """Length of a trial that nothing ends early."""
        return self.duration if isinstance(self.duration, Duration) else self.duration.at_most

    @property
    def shortest(self) -> Duration:
        """Length that every trial has."""
        return self.duration if isinstance(self.duration, Duration) else self.duration.at_least

    def seeks_equilibria(self, any_decided: bool) -> bool:
        """Whether a run can say anything about equilibria; with selected mixes it may not.

        Args:
            any_decided: Whether there is a verdict on any of its mixes.
        """
        mixes = self.sweep.mixes
        if isinstance(mixes, PairMixes):
            return any(0 < k < self.total_flows for k in mixes.counts(self.total_flows))
        return mixes == "all" or (any_decided and not isinstance(mixes, HarmMixes))

    @property
    def smallest_buffer_bytes(self) -> int:
        """The smallest buffer: one packet, in whole cells."""
        cell = self.bottleneck.cell
        return PACKET_BYTES if cell is None else -(-PACKET_BYTES // cell.bytes) * cell.bytes

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        _check_names(self)
        _check_times(self)
        _check_sweep(self)
        _check_buffers(self)
        check_link(self)
        _check_disciplines(self)
        _check_several(self)
        _check_mixes(self)
        _check_search(self)
        _check_named_strategies(self)
        _check_ecn(self)
        check_times(
            self.flows,
            self.longest,
            swept=self.sweep.base_rtt is not None,
            settles=isinstance(self.duration, SettledDuration),
        )
        check_applications(self)
        check_directions(self)
        return self


def _check_search(scenario: Scenario) -> None:
    if scenario.equilibrium.search == "adaptive" and scenario.sweep.mixes != "all":
        raise ValueError(
            "sweep.mixes: an adaptive search chooses the mixes; write `mixes: all`, or "
            "equilibrium.search: exhaustive"
        )
    if scenario.equilibrium.search == "exhaustive" and scenario.equilibrium.budget is not None:
        raise ValueError(
            "equilibrium.budget: an exhaustive search runs every mix of the sweep; remove it, or "
            "write search: adaptive"
        )


def _check_names(scenario: Scenario) -> None:
    names = [group.name for group in scenario.flows]
    if len(set(names)) != len(names):
        raise ValueError("flows: two groups have the same name; name each group differently")
    if len(set(scenario.strategies)) != len(scenario.strategies):
        raise ValueError("strategies: a congestion control is listed twice; remove one of them")
    if scenario.most_flows > MAX_FLOWS:
        raise ValueError(
            f"flows: up to {scenario.most_flows} flows in a trial are too many; write at most "
            f"{MAX_FLOWS}"
        )
    check_order(scenario)


def _check_times(scenario: Scenario) -> None:
    if scenario.longest.ns > CONSTANTS.duration_ns_max:
        hours = CONSTANTS.duration_ns_max // (3600 * NS_PER_S)
        raise ValueError(f"duration: {scenario.longest} is too long; write at most {hours}h")
    if scenario.warmup.ns >= scenario.shortest.ns:
        raise ValueError(
            f"warmup: {scenario.warmup} leaves nothing to measure; "
            f"make it shorter than the duration ({scenario.shortest})"
        )
    for start in scenario.sweep.start or (scenario.start,):
        _check_start(scenario, start)


def _check_start(scenario: Scenario, start: StartSpec) -> None:
    """One of the ways in which a scenario's flows start."""
    if start == "iperf3":
        _check_iperf3(scenario)
    elif isinstance(start, OrderedStart | OffsetStart):
        _check_start_names(scenario, start)
    elif start != "together" and isinstance(scenario.duration, SettledDuration):
        raise ValueError(
            "start: a trial that is to settle starts the other way round every other time; write "
            "together, an order or offsets"
        )
    for i, group in enumerate(scenario.flows):
        _check_latest_start(scenario, start, i, group)


def _check_iperf3(scenario: Scenario) -> None:
    """What an iperf3 process cannot do."""
    if not isinstance(scenario.duration, Duration):
        raise ValueError(
            "start: iperf3 sends for a fixed time; write a `duration` such as 120s, or another "
            "start"
        )
    for i, group in enumerate(scenario.flows):
        if group.arrivals is not None:
            raise ValueError(
                f"flows.{i}.arrivals: iperf3 sends bulk data; write another start, e.g. together"
            )
        if group.start_offset.ns:
            raise ValueError(
                f"flows.{i}.start_offset: iperf3 processes start together; remove the offset, or "
                "write another start"
            )


def _check_start_names(scenario: Scenario, start: OrderedStart | OffsetStart) -> None:
    if isinstance(start, OffsetStart):
        _check_known(scenario, "start.offsets", set(start.offsets))
    elif sorted(start.order) != sorted(scenario.strategies):
        raise ValueError("start.order: name every strategy once: " + ", ".join(scenario.strategies))


def _latest_start(scenario: Scenario, start: StartSpec) -> Duration:
    """The longest that a flow may start after its group's offset, jitter excepted."""
    if isinstance(start, StaggeredStart):
        return Duration(start.staggered.ns * (scenario.total_flows - 1))
    if isinstance(start, OrderedStart):
        return Duration(start.gap.ns * (len(start.order) - 1))
    if isinstance(start, OffsetStart):
        return max(start.offsets.values(), default=Duration(0), key=lambda offset: offset.ns)
    return start.random if isinstance(start, RandomStart) else Duration(0)


def _check_whole(scenario: Scenario, latest: Duration) -> None:
    """Every strategy is measured from its own start, which must come before the end."""
    if latest.ns + scenario.start_jitter.ns >= scenario.shortest.ns:
        raise ValueError(
            f"start: the last flow starts up to {latest} late, which is beyond the duration "
            f"({scenario.shortest})"
        )
    if not isinstance(scenario.duration, Duration):
        raise ValueError(
            "window: a trial that runs until it is settled is measured where it was steady; "
            "remove `window: whole`, or write a fixed duration"
        )


def _check_latest_start(scenario: Scenario, start: StartSpec, i: int, group: FlowGroup) -> None:
    latest = _latest_start(scenario, start) if group.mixed else Duration(0)
    if not group.mixed:
        check_background_start(scenario, i, group)
        return
    if scenario.window == "whole":
        _check_whole(scenario, latest)
        return
    if group.start_offset.ns + latest.ns + scenario.start_jitter.ns <= scenario.warmup.ns:
        return
    if latest.ns:
        raise ValueError(
            f"start: the last flow starts up to {latest} late; with start_offset "
            f"{group.start_offset} and start_jitter {scenario.start_jitter} that is longer than "
            f"warmup {scenario.warmup}; all flows must run for the whole measured window"
        )
    raise ValueError(
        f"flows.{i}.start_offset: {group.start_offset} and start_jitter "
        f"{scenario.start_jitter} together are longer than warmup {scenario.warmup}; all "
        "flows must run for the whole measured window"
    )


def _check_sweep(scenario: Scenario) -> None:
    if scenario.sweep.base_rtt is not None and len(scenario.mixed) > 1:
        raise ValueError(
            "sweep.base_rtt: needs one flow group in the mix; remove it, or the other groups"
        )
    for rate in scenario.sweep.rate or ():
        if rate.bps == 0:
            raise ValueError("sweep.rate: must be more than 0; write e.g. 100mbit")
    for rtt in scenario.sweep.base_rtt or ():
        check_rtt("sweep.base_rtt", rtt)
    for loss in scenario.sweep.random_loss or ():
        if loss.ppb >= 10**9:
            raise ValueError(f"sweep.random_loss: {loss} drops every packet; write less than 100%")


def _check_buffers(scenario: Scenario) -> None:
    swept = scenario.sweep.buffer is not None
    key = "sweep.buffer" if swept else "bottleneck.buffer"
    least = scenario.smallest_buffer_bytes
    for buffer in scenario.sweep.buffer or (scenario.bottleneck.buffer,):
        if buffer.unit == "packets" and scenario.bottleneck.arrivals == "trains":
            raise ValueError(
                f"{key}: {buffer}: a Linux queue counts a whole train as one packet; with "
                "`arrivals: trains` write the buffer in bytes or as bdp"
            )
        for rate in scenario.sweep.rate or (scenario.bottleneck.rate,):
            for rtt in scenario.sweep.base_rtt or (scenario.flows[0].base_rtt,):
                size = buffer.to_bytes(rate, rtt)
                if size < least:
                    raise ValueError(
                        f"{key}: {buffer} at {rate} and {rtt} is {size} B, less than one "
                        f"packet; write at least {least}B"
                    )


def _check_disciplines(scenario: Scenario) -> None:
    swept = scenario.sweep.discipline
    key = "bottleneck.discipline" if swept is None else "sweep.discipline"
    for discipline in swept or (scenario.bottleneck.discipline,):
        if not discipline.is_droptail and scenario.bottleneck.arrivals == "trains":
            raise ValueError(
                f"{key}: {discipline.name} decides packet by packet; with `arrivals: trains` "
                "write droptail"
            )


def _check_several(scenario: Scenario) -> None:
    """Several queues: nothing is swept that they have not, and every flow has one queue."""
    queues, sweep = scenario.bottleneck.shared, scenario.sweep
    if queues is None:
        if sweep.memory is not None:
            raise ValueError(
                "sweep.memory: is for several queues; write `bottleneck.queues`, or remove it"
            )
        return
    if sweep.discipline is not None:
        raise ValueError(
            "sweep.discipline: there are several queues, each with its own; sweep `memory`, or "
            "write one queue"
        )
    for i, memory in enumerate(sweep.memory or ()):
        check_shares(memory, queues.queues, f"sweep.memory.{i}")
    _check_queue_names(scenario, queues)
    _check_covered(scenario, queues)
    where = "bottleneck.memory" if sweep.memory is None else "sweep.memory"
    for memory in sweep.memory or (queues.memory,):
        for rate in sweep.rate or (scenario.bottleneck.rate,):
            for rtt in sweep.base_rtt or (scenario.flows[0].base_rtt,):
                check_limits(queues.with_memory(memory), rate, rtt, where)


def _check_queue_names(scenario: Scenario, queues: Queues) -> None:
    known = [*scenario.ccas, *(group.name for group in scenario.flows)]
    for index, queue in enumerate(queues.queues):
        for name in queue.flows or ():
            if name not in known:
                raise ValueError(
                    f"bottleneck.queues.{index}.flows: {name!r} is neither a strategy nor a flow "
                    f"group ({', '.join(known)})"
                )


def _check_covered(scenario: Scenario, queues: Queues) -> None:
    for kind in _flow_kinds(scenario):
        claimed = queues.claimants(kind)
        flows = f"{kind.strategy} flows of group {kind.group!r}"
        if len(claimed) > 1:
            first, second = (queues.queues[index].name for index in claimed[:2])
            raise ValueError(
                f"bottleneck.queues.{claimed[1]}.flows: {flows} are in queue {first!r} already, "
                f"and in {second!r}; name the group or the strategy, and let a queue take the rest"
            )
        if queues.queue_of(kind) is None:
            raise ValueError(
                f"bottleneck.queues: no queue takes {flows}; name them in one, or add a queue "
                "without flows and dscp, which takes the rest"
            )


def _flow_kinds(scenario: Scenario) -> list[FlowKind]:
    """What the flows of every group and strategy are sorted by."""
    return [
        FlowKind(strategy, group.name, group.dscp)
        for group in scenario.flows
        for strategy in (scenario.strategies if group.runs == OF_MIX else (group.runs,))
    ]


def _check_mixes(scenario: Scenario) -> None:
    if scenario.sweep.mixes == "all":
        return
    if isinstance(scenario.sweep.mixes, PairMixes):
        _check_pairs(scenario, scenario.sweep.mixes)
        return
    if isinstance(scenario.sweep.mixes, HarmMixes):
        check_harm(scenario, scenario.sweep.mixes)
        return
    for i, mix in enumerate(scenario.sweep.mixes):
        problem = mix_problem(scenario, mix)
        if problem:
            raise ValueError(f"sweep.mixes.{i}: {problem}")


def _check_pairs(scenario: Scenario, mixes: PairMixes) -> None:
    if len(scenario.mixed) != 1:
        raise ValueError("sweep.mixes: pairs need a scenario with one flow group in the mix")
    most, flows = max(mixes.second or (0,)), scenario.flows[0].count
    if most > flows:
        raise ValueError(f"sweep.mixes.second: {most} flows, but the group has {flows}")


def mix_problem(scenario: Scenario, mix: MixSpec) -> str | None:
    """Say what is wrong with a mix of this scenario, or None.

    Args:
        scenario: The scenario (flow groups and strategies are looked at).
        mix: The mix as written.
    """
    if isinstance(mix, dict):
        return _mapping_problem(scenario, mix)
    if len(scenario.strategies) != 2:
        return "with more than two strategies write a mapping, e.g. {cubic: 4, bbr: 3, reno: 3}"
    counts = (mix,) if isinstance(mix, int) else mix
    if len(counts) != len(scenario.mixed):
        return f"{counted(len(counts), 'number')} for {counted(len(scenario.mixed), 'flow group')}"
    for count, group in zip(counts, scenario.mixed, strict=True):
        if count > group.count:
            flows = f"{count} {scenario.strategies[1]} flows"
            return f"{flows}, but group {group.name!r} has {group.count}"
    return None


def _mapping_problem(scenario: Scenario, mix: dict[str, int]) -> str | None:
    if len(scenario.mixed) != 1:
        return "a mapping needs a scenario with one flow group"
    unknown = sorted(set(mix) - set(scenario.strategies))
    if unknown:
        return f"{unknown[0]!r} is not among the strategies ({', '.join(scenario.strategies)})"
    if sum(mix.values()) != scenario.flows[0].count:
        return f"the counts add up to {sum(mix.values())}, not to {scenario.flows[0].count} flows"
    return None


def _check_named_strategies(scenario: Scenario) -> None:
    for i, bound in enumerate(scenario.acceptance):
        mix = getattr(bound, "mix", None) or {}
        named = {name for key in ("strategy", "over") if (name := getattr(bound, key, None))}
        if not isinstance(bound, TrafficBound):
            _check_known(scenario, f"acceptance.{i}", named)
        _check_known(scenario, f"acceptance.{i}", set(mix))
        if sum(mix.values()) > scenario.total_flows:
            raise ValueError(
                f"acceptance.{i}.mix: has more flows than the scenario ({scenario.total_flows})"
            )
        if isinstance(bound, RttOrderBound) and len({g.base_rtt for g in scenario.mixed}) < 2:
            raise ValueError(
                f"acceptance.{i}: rtt_order needs flow groups of different base RTTs; remove it, "
                "or add a group"
            )
        if isinstance(bound, HarmBound):
            check_harm_bound(scenario, f"acceptance.{i}", bound.by)
        group = getattr(bound, "group", None)
        among = scenario.flows if isinstance(bound, TrafficBound) else scenario.mixed
        if group is not None and group not in {g.name for g in among}:
            raise ValueError(f"acceptance.{i}.group: there is no flow group {group!r}")
    for i, series in enumerate(scenario.reference):
        _check_known(scenario, f"reference.{i}.strategy", {series.strategy})


def _check_ecn(scenario: Scenario) -> None:
    """Every name of `hosts.ecn` is known, and DCTCP and its like have what they need."""
    hosts, groups = scenario.hosts, [group.name for group in scenario.flows]
    listed = () if isinstance(hosts.ecn, bool) else hosts.ecn
    for name in listed:
        if name not in {*scenario.ccas, *groups}:
            known = ", ".join([*scenario.ccas, *groups])
            raise ValueError(
                f"hosts.ecn: {name!r} is neither a strategy nor a flow group ({known})"
            )
    for kind in _flow_kinds(scenario):
        strategy = kind.strategy
        if strategy in NEED_ECN and not hosts.negotiates_ecn(strategy, kind.group):
            raise ValueError(
                f"strategies: {strategy} needs ECN; write `hosts: {{ecn: [{strategy}]}}`"
            )


def _check_known(scenario: Scenario, where: str, named: set[str]) -> None:
    """Refuse a strategy that the scenario does not have."""
    unknown = named - set(scenario.strategies)
    if unknown:
        raise ValueError(
            f"{where}: {min(unknown)!r} is not among the strategies "
            f"({', '.join(scenario.strategies)})"
        )
