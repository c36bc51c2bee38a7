"""One trial: its setting, its mix, and the record that is sealed with it (trial.json)."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from .course import StartSpec, WindowSpec
from .disciplines import DROPTAIL, Discipline
from .messages.dataplane import DepartureLateness, LaneCounters, ReturnQueueTotals
from .messages.flows import GeneratorTotals
from .model import ContractModel, Needs
from .scenario import Scenario, varied
from .sweep import written
from .target import Applied, Lane
from .units import Duration, bytes_in_flight

SocketLimit = Literal["receive window", "send buffer"]
"""What of a socket can hold a flow back."""
CertificateState = Literal["certified", "exact", "failed", "expired", "none"]
"""What a testbed's certificate is worth; see `contract.certificate.Standing`."""
BELIEVED: Final = frozenset[CertificateState](("certified", "exact"))
"""Those that leave no doubt about a testbed."""
TRIAL_FORMAT: Final = 2
FAILURES_FORMAT: Final = 1
Kind = tuple[int, str]
"""Group and strategy: flows of one kind are alike."""


class Setting(Lane):
    """One combination of the swept values: the lane that is asked for, and what is around it.

    Attributes:
        label: Part of the trial ids, e.g. `b2bdp` or `c50mbit-b1MB`.
        buffer_bytes: Requested buffer in bytes, whatever the unit of the limit.
        buffer_label: The buffer as written, e.g. `2bdp`.
        buffer_bdp: The buffer in bandwidth-delay products of the first group.
        base_rtt_ns: Base RTT of each flow group.
        random_loss_ppb: The swept random loss of every group (None: each group's own).
        kernel: Guest kernel, by the beginning of its release; empty: the testbed's.
        start: The swept start of the flows (None: the scenario's).
        duration_ns: The swept length of a trial (None: the scenario's).
        flow_counts: Flows of each group that last until the end, where they are swept (None: the
            scenario's).
        swept: Other swept keys of the scenario, and their values as written.
        rtt_range_ns: The shortest and the longest round trip without queues, where paths change
            or jitter (None: base RTTs say).
    """

    label: str
    buffer_bytes: int
    buffer_label: str
    buffer_bdp: float
    base_rtt_ns: tuple[int, ...]
    random_loss_ppb: int | None = None
    kernel: Annotated[
        str,
        Needs(
            "kernel {value}: target {of.target} runs on this machine's own; remove `kernel`, or "
            "use a testbed of target virtual",
            capability="isolated",
        ),
    ] = ""
    start: StartSpec | None = None
    duration_ns: Annotated[int | None, Field(exclude_if=lambda told: told is None)] = None
    flow_counts: Annotated[tuple[int, ...] | None, Field(exclude_if=lambda told: told is None)] = (
        None
    )
    swept: Annotated[dict[str, Any], Field(exclude_if=lambda told: not told)] = Field(
        default_factory=dict
    )
    rtt_range_ns: Annotated[tuple[int, int] | None, Field(exclude_if=lambda told: told is None)] = (
        None
    )

    @property
    def shortest_rtt_ns(self) -> int:
        """The shortest round trip without queues."""
        return min(self.base_rtt_ns) if self.rtt_range_ns is None else self.rtt_range_ns[0]

    @property
    def longest_rtt_ns(self) -> int:
        """The longest round trip without queues."""
        return max(self.base_rtt_ns) if self.rtt_range_ns is None else self.rtt_range_ns[1]

    @property
    def most_buffer_bytes(self) -> int:
        """The largest buffer of a trial."""
        return max(self.buffer_bytes, *(state.limit_bytes for state in self.changes), 0)

    @property
    def queue(self) -> Discipline:
        """The queue's discipline, where there is one queue."""
        return self.discipline or DROPTAIL

    @property
    def is_droptail(self) -> bool:
        """Whether there is one queue, and it is drop-tail."""
        return self.queues is None and self.queue.is_droptail

    @property
    def queue_label(self) -> str:
        """Discipline, or how several queues share the memory, as a part of file names."""
        return self.queue.label if self.queues is None else self.queues.label

    @property
    def queue_text(self) -> str:
        """Discipline, or the several queues, in words."""
        return self.queue.text if self.queues is None else self.queues.text

    @property
    def swept_text(self) -> str:
        """Swept keys of the bottleneck and of paths in words, e.g. `scheduler drr`; often empty."""
        named = ((key.partition(".")[2], value) for key, value in self.swept.items())
        return ", ".join(f"{key} {written(value)}" for key, value in named)

    @property
    def largest_window_bytes(self) -> int:
        """The most that a flow may have in flight: the longest round trip's BDP, and the buffer."""
        in_flight = bytes_in_flight(self.most_rate_bps, self.longest_rtt_ns)
        return self.most_buffer_bytes + in_flight


def scenario_at(scenario: Scenario, setting: Setting) -> Scenario:
    """The scenario with the start, length, flows and all else that is swept beside the lane."""
    values: dict[str, Any] = dict(setting.swept)
    if setting.start is not None:
        values["start"] = setting.start
    if setting.duration_ns is not None:
        values["duration"] = Duration(setting.duration_ns)
    counts = enumerate(setting.flow_counts or ())
    values |= {f"flows.{group}.count": count for group, count in counts if count}
    return varied(scenario, values) if values else scenario


class GroupMix(ContractModel):
    """How many flows of a group run each strategy.

    Attributes:
        group: Index of the flow group.
        name: Its name.
        counts: Strategy -> flows; every strategy of the scenario is named, zero included.
    """

    group: int
    name: str
    counts: dict[str, int]


Mix = tuple[GroupMix, ...]
"""A mix: one entry for each flow group, in the scenario's order."""


class Gate(ContractModel):
    """The verdict of one validity gate.

    Attributes:
        name: The gate's name.
        passed: Whether the trial passes it.
        value: What was measured (None: not measurable with this telemetry).
        limit: The bound.
        unit: Unit of value and limit.
        detail: One line for a person.
    """

    name: str
    passed: bool
    value: float | None
    limit: float | None
    unit: str
    detail: str


class CoreLoad(ContractModel):
    """The kernel's work on one core while a trial ran, for all that ran on it meanwhile.

    Attributes:
        core: Number of the core.
        flows: Whether it works for the flows; the packet loop's core does not.
        squeezed: How often receive work was put off because its budget was used up.
        dropped: Packets for which the core's backlog had no room.
        waiting: Packets in its backlog at the end.
        ksoftirqd_ns: Processor time of its ksoftirqd, to which receive work is put off.
        softirq: Share of its time in interrupts, which is where received packets are processed.
        steal: Share that the hypervisor gave to others.
    """

    core: int
    flows: bool
    squeezed: int
    dropped: int
    waiting: int
    ksoftirqd_ns: int
    softirq: float
    steal: float


class HostStrain(ContractModel):
    """What strained the hosts from a lane's programming until it had drained.

    Attributes:
        pressure: What the kernels of both hosts counted of memory and queues that ran short,
            without losing a segment, by host and counter. The counters are a namespace's: all
            lanes that ran meanwhile are in them.
        cores: The kernel's load of each core; None in virtual time, in which it takes no time.
    """

    pressure: dict[str, int] = Field(default_factory=dict)
    cores: tuple[CoreLoad, ...] | None = None


class Repeated(ContractModel):
    """What of a flow crossed the path more than once; of all postcards.

    Attributes:
        flow: Index of the flow in the trial.
        bytes: Payload that left the bottleneck again.
        packets: Segments that did, cut as they were before.
        late: Those that came so late that the news of the earlier copy's arrival must have been
            there before: it was lost behind the bottleneck.
        longest_ns: From a segment's departure until the arrival of its next copy, at most.
        missing_bytes: Payload that the sender sent again, and that neither a second copy nor a
            drop at the bottleneck accounts for: its earlier copy was lost before the bottleneck.
    """

    flow: int
    bytes: int
    packets: int
    late: int
    longest_ns: int
    missing_bytes: int


class WindowLimited(ContractModel):
    """A flow that a socket's size held back, and not its CCA.

    Attributes:
        flow: Index of the flow in the trial.
        group: Its flow group.
        strategy: Its CCA.
        by: What held it back.
        share: Share of the measured window.
        stated: The scenario states the size on purpose (`hosts`).
    """

    flow: int
    group: int
    strategy: str
    by: SocketLimit
    share: float
    stated: bool


class RanOn(ContractModel):
    """The machine and the testbed that ran a trial.

    Attributes:
        host: Name of the machine whose worker ran it.
        testbed: Name of the testbed; of several testbeds of one run each has its own.
        testbed_digest: SHA-256 of its testbed file.
        certificate: What the testbed's certificate was worth when it ran.
        certificate_digest: SHA-256 of the certificate; empty without one.
    """

    host: str
    testbed: str
    testbed_digest: str
    certificate: CertificateState
    certificate_digest: str = ""


class TrialDigests(ContractModel):
    """SHA-256 of what a trial measured, by content: equal for two trials that measured the same.

    Attributes:
        tables: Table -> digest of its columns' names, types and values in order.
        captures: Capture file -> digest of its bytes.
        facts: What was applied and reported besides the tables -> digest of its content.
        trial: Digest over all of these.
    """

    tables: dict[str, str]
    captures: dict[str, str]
    facts: dict[str, str]
    trial: str


class StrategyDrift(ContractModel):
    """How much a strategy's throughput moved within a window.

    Attributes:
        group: The flow group.
        strategy: The strategy.
        drift: Mean of the second half less that of the first one, relative to the mean of both.
        error: Standard error of the drift, from ProbeRTT cycle to ProbeRTT cycle.
        steady: Whether what remains counts as none.
        mean_bytes: Mean payload of a cycle.
        remaining: How far the mean may still be from where the course ends, relative to it, by
            fitted exponentials with 95 % confidence; None: too short to tell, or starved.
    """

    group: int
    strategy: str
    drift: float
    error: float
    steady: bool
    mean_bytes: float
    remaining: float | None = None


class Steadiness(ContractModel):
    """Whether the shares of a trial were steady at its end.

    Attributes:
        settled: Every strategy's was.
        window_ns: Where that was looked at (from, to), after t0: whole ProbeRTT cycles.
        drifts: Of each strategy and group.
    """

    settled: bool
    window_ns: tuple[int, int]
    drifts: tuple[StrategyDrift, ...]


class FlowSpan(ContractModel):
    """When the flows of a strategy and group really ran, in ns after t0.

    Attributes:
        group: The flow group.
        strategy: The strategy.
        start_ns: When the first of them began to send.
        first_byte_ns: When the first byte of any of them arrived; None: nothing did.
        last_byte_ns: When the last byte arrived.
        end_ns: When the first of them ended.
    """

    group: int
    strategy: str
    start_ns: int | None
    first_byte_ns: int | None
    last_byte_ns: int | None
    end_ns: int | None

    @property
    def kind(self) -> Kind:
        """Whose it is."""
        return self.group, self.strategy


class Disturbance(ContractModel):
    """What the machine did to the frames of a trial in its measured window; times in ns.

    Bins of 100 ms and pauses that overlap the window count whole. A mean over nothing is 0.

    Attributes:
        round_trip_ns: The round trip that all of it is held against: the smallest base RTT and
            the mean queueing delay.
        departures: Frames sent on towards the receivers.
        late_mean_ns: Their actual less their scheduled departure, on average.
        late_max_ns: The latest.
        returns: Frames sent back to the senders.
        error_mean_ns: By how much their round trips were too long, on average, after what was
            late on the way there had been taken off the way back.
        error_max_ns: The most.
        responses: Echoes that the senders' host answered, and acknowledgements that no timer of
            a receiver put off.
        response_mean_ns: From the question, or a frame's departure, until the answer came, on
            average.
        response_max_ns: The longest.
        pauses: Times in which the data plane's loop did not run, of 0.5 ms or more.
        paused_ns: Their sum.
        longest_pause_ns: The longest.
        lost: Records of the whole trial that the data plane had no memory for.
    """

    round_trip_ns: float
    departures: int
    late_mean_ns: float
    late_max_ns: int
    returns: int
    error_mean_ns: float
    error_max_ns: int
    responses: int
    response_mean_ns: float
    response_max_ns: int
    pauses: int
    paused_ns: int
    longest_pause_ns: int
    lost: int = 0


class TrialRecord(ContractModel):
    """trial.json of a sealed trial. Times of `window_ns` are relative to t0.

    Attributes:
        format: Version of this layout.
        id: Trial id, `<setting>-<mix>-r<repetition>-a<attempt>`.
        setting: What was asked for, of the target and around it.
        applied: What the target really did.
        mix: Flows of each strategy in each group.
        repetition: Which repetition of this setting and mix.
        attempt: Which attempt at this repetition.
        seed: The trial's own seed.
        lane: The lane it ran on.
        t0_ns: Common start on CLOCK_MONOTONIC.
        epoch_ns: Switch clock 0 on CLOCK_MONOTONIC.
        duration_ns: Length of the trial from t0.
        warmup_ns: Part at the beginning that is not measured.
        window_ns: The measured window (from, to) after t0.
        window: Whether throughput is that of the window, or of each strategy's own span.
        spans: When the flows of each strategy and group really ran.
        steadiness: Whether their shares were steady at the end; None: the trial was too short to
            tell.
        postcards: How postcards were kept.
        started_utc: Wall-clock start (ISO 8601).
        ended_utc: Wall-clock end (ISO 8601).
        valid: Whether every gate was passed.
        gates: Each gate's verdict.
        invalid_reasons: One line for each failed gate.
        lane_counters: The lane's own registers after the drain.
        lateness: Actual minus scheduled departure of the lane, in ns, from its reset to its drain.
        disturbance: What held frames up in the measured window.
        marks: One line for each thing that a reader should know and that invalidates nothing.
        ports_delta: Change of the port and host loss counters over the trial.
        pressure: Change of the counters of the hosts' kernels that mean no loss, but memory or
            queues that ran short; of a namespace, so of all lanes that ran meanwhile.
        kernel_load: The kernel's work on each core meanwhile; None in virtual time.
        window_limited: Flows that a socket's size held back for a part of the window that
            matters.
        repeated: Flows of which something crossed the path more than once without having been
            dropped, or was sent again without having been seen; None: not all postcards are kept.
        flow_generator: Totals and timer lateness that the flow generators reported.
        digests: SHA-256 of what was measured.
        return_queue: What the queue of the way back did; left out where there is none.
        ran_on: The machine and the testbed, where the run had several to choose from; no part of
            what was measured. None: the run's own.
    """

    format: Literal[2] = TRIAL_FORMAT
    id: str
    setting: Setting
    applied: Applied
    mix: Mix
    repetition: int
    attempt: int
    seed: int
    lane: int
    t0_ns: int
    epoch_ns: int
    duration_ns: int
    warmup_ns: int
    window_ns: tuple[int, int]
    window: WindowSpec = "after_warmup"
    spans: tuple[FlowSpan, ...] = ()
    steadiness: Steadiness | None = None
    postcards: str
    started_utc: str
    ended_utc: str
    valid: bool
    gates: tuple[Gate, ...]
    invalid_reasons: tuple[str, ...]
    lane_counters: LaneCounters
    lateness: DepartureLateness
    disturbance: Disturbance
    return_queue: Annotated[
        ReturnQueueTotals | None, Field(exclude_if=lambda told: told is None)
    ] = None
    marks: tuple[str, ...] = ()
    ports_delta: dict[str, int]
    pressure: dict[str, int] = Field(default_factory=dict)
    kernel_load: tuple[CoreLoad, ...] | None = None
    window_limited: tuple[WindowLimited, ...] = ()
    repeated: tuple[Repeated, ...] | None = None
    flow_generator: GeneratorTotals
    digests: TrialDigests
    ran_on: RanOn | None = None


class FailedAttempt(ContractModel):
    """An attempt at a trial that its host or its guest ended: it has no tables.

    Attributes:
        trial: The attempt's id; the attempt that was made in its stead has the same.
        where: The lane or the worker that had it.
        failed_utc: Wall-clock time of its end (ISO 8601).
        reason: What ended it.
        repeated: Whether its trial had an attempt left.
    """

    trial: str
    where: str
    failed_utc: str
    reason: str
    repeated: bool


class FailedAttempts(ContractModel):
    """failures.json: every attempt of a run that failed, in the order of their ends.

    Attributes:
        format: Version of this layout.
        attempts: The attempts.
    """

    format: Literal[1] = FAILURES_FORMAT
    attempts: tuple[FailedAttempt, ...] = ()
