"""A small simulated bottleneck, and run directories made from it with every contract table.

The senders are caricatures: the second strategy keeps 2 BDP of its own estimate in flight,
every other one is AIMD. Times, sizes and the conservation of bytes are exact.
"""

import heapq
import json
import random
from collections import defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.contract.messages.dataplane import DepartureLateness, LaneCounters
from nashbed.controlplane.contract.messages.flows import (
    GeneratorTotals,
    SenderTotals,
    SinkTotals,
    TimerLateness,
)
from nashbed.controlplane.contract.plan import Plan, PlannedTrial
from nashbed.controlplane.contract.records import KIND_DEPARTED, KIND_DROPPED
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import Applied, Limit
from nashbed.controlplane.contract.testbed import ASSUMED_CAPACITY
from nashbed.controlplane.contract.trial import (
    Disturbance,
    Gate,
    GroupMix,
    Setting,
    TrialDigests,
    TrialRecord,
)
from nashbed.controlplane.store.postcards import BINS, POSTCARDS
from nashbed.controlplane.store.tables import COUNTERS, TABLES
from ruamel.yaml import YAML

FRAME, PAYLOAD = 1514, 1448
S = 1_000_000_000
LATENESS = DepartureLateness(
    count=0, mean_ns=0, p50_ns=0, p99_ns=0, p999_ns=0, max_ns=0, max_gap_ns=0
)
LANE_COUNTERS = LaneCounters(
    queue_packets=0, delay_packets=0, random_loss_packets=0, postcards=0, lateness=LATENESS
)
TIMER = TimerLateness(count=0, missed=0, mean_ns=0, max_ns=0)
GENERATORS = GeneratorTotals(
    sender=SenderTotals(lost=0, lateness=TIMER),
    sink=SinkTotals(strangers=0, acks=0, segments=0, lateness=TIMER),
)
DISTURBANCE = Disturbance(
    round_trip_ns=40e6, departures=0, late_mean_ns=0, late_max_ns=0, returns=0, error_mean_ns=0,
    error_max_ns=0, responses=0, response_mean_ns=0, response_max_ns=0, pauses=0, paused_ns=0,
    longest_pause_ns=0,
)  # fmt: skip
DIGESTS = TrialDigests(tables={}, captures={}, facts={}, trial="3" * 64)

SCENARIO: dict[str, Any] = {
    "name": "synthetic",
    "title": "A synthetic run",
    "bottleneck": {"rate": "10mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}],
    "strategies": ["cubic", "bbr"],
    "duration": "6s",
    "warmup": "1s",
    "trials": 1,
    "telemetry": {"tcp_info": "50ms", "goodput": "100ms"},
}


@dataclass
class Sender:
    """One flow: how much it may have in flight."""

    cc: str
    rtt_ns: int
    start_ns: int
    cwnd: float = 10.0
    inflight: int = 0
    sent: int = 0
    retrans: int = 0
    srtt_ns: float = 0.0
    recover_ns: int = 0
    acks: deque[int] = field(default_factory=deque)
    bandwidth: float = 0.0

    def window(self) -> float:
        if self.cc != "bbr" or not self.bandwidth:
            return self.cwnd
        return max(4.0, 2 * self.bandwidth * self.rtt_ns / S)

    def on_ack(self, now: int, rtt: int) -> None:
        self.inflight -= 1
        self.srtt_ns = rtt if not self.srtt_ns else 0.875 * self.srtt_ns + 0.125 * rtt
        self.cwnd += 1.0 / max(self.cwnd, 1.0)
        self.acks.append(now)
        while now - self.acks[0] > 10 * self.rtt_ns:
            self.acks.popleft()
        self._estimate(now)

    def _estimate(self, now: int) -> None:
        span = now - self.acks[0]
        if span > 2 * self.rtt_ns:
            self.bandwidth = len(self.acks) * S / span

    def on_loss(self, now: int) -> None:
        self.inflight -= 1
        self.retrans += 1
        if now > self.recover_ns:
            self.cwnd = max(2.0, 0.7 * self.cwnd)
            self.recover_ns = now + int(self.srtt_ns or self.rtt_ns)


class Bottleneck:
    """Drop-tail, exact times; writes the postcards."""

    def __init__(self, rate_bps: int, buffer_bytes: int, overhead: int) -> None:
        self.rate, self.buffer, self.overhead = rate_bps, buffer_bytes, overhead
        self.free_ns = 0
        self.queue: deque[tuple[int, int]] = deque()
        self.bytes = 0
        self.rows: list[tuple[int, ...]] = []

    def arrive(self, now: int, flow: int, seq: int) -> int | None:
        """Enqueue at `now`; returns the dequeue time, or None if dropped."""
        while self.queue and self.queue[0][0] <= now:
            self.bytes -= self.queue.popleft()[1]
        before = self.bytes
        if before + FRAME > self.buffer:
            self.rows.append((KIND_DROPPED, flow, seq, before, now, now))
            return None
        self.free_ns = max(now, self.free_ns) + (FRAME + self.overhead) * 8 * S // self.rate
        self.queue.append((self.free_ns, FRAME))
        self.bytes += FRAME
        self.rows.append((KIND_DEPARTED, flow, seq, before, now, self.free_ns))
        return self.free_ns


@dataclass
class Outcome:
    """What one simulated trial leaves: column arrays by table."""

    postcards: dict[str, np.ndarray]
    goodput: dict[str, np.ndarray]
    flow_samples: dict[str, np.ndarray]
    sent: np.ndarray
    retrans: np.ndarray


def simulate(
    senders: list[Sender], link: Bottleneck, duration: int, sample: int, interval: int, seed: int
) -> Outcome:
    rng = random.Random(seed)
    events: list[tuple[int, int, str, int, int]] = []
    order = 0

    def push(at: int, kind: str, flow: int, info: int = 0) -> None:
        nonlocal order
        order += 1
        heapq.heappush(events, (at, order, kind, flow, info))

    received: dict[tuple[int, int], int] = defaultdict(int)
    samples: list[tuple[int, ...]] = []
    for i, sender in enumerate(senders):
        push(sender.start_ns, "send", i)
    for t in range(0, duration, sample):
        push(t, "sample", 0)
    while events:
        now, _, kind, flow, info = heapq.heappop(events)
        if kind == "sample":
            for i, s in enumerate(senders):
                row = (now, i, int(s.srtt_ns / 1000), int(s.window()), s.sent * PAYLOAD)
                samples.append((*row, s.retrans * PAYLOAD, s.inflight * PAYLOAD))
            continue
        sender = senders[flow]
        if kind == "ack":
            sender.on_ack(now, info)
        elif kind == "lost":
            sender.on_loss(now)
        if now >= duration:
            continue
        while sender.inflight < sender.window():
            sender.inflight += 1
            sender.sent += 1
            at = now + rng.randrange(0, 200_000)
            push(at, "arrive", flow)
        if kind == "arrive":
            out = link.arrive(now, flow, sender.sent)
            if out is None:
                wait = sender.rtt_ns + max(0, link.free_ns - now)
                push(now + wait, "lost", flow)
            else:
                received[flow, (out + sender.rtt_ns // 2) // interval] += PAYLOAD
                push(out + sender.rtt_ns, "ack", flow, out + sender.rtt_ns - now)
    return _outcome(senders, link, received, samples, duration, interval)


def _outcome(senders, link, received, samples, duration, interval) -> Outcome:
    rows = sorted(link.rows, key=lambda r: r[5])
    kind, flow, seq, queue, enqueue, dequeue = (np.array(c) for c in zip(*rows, strict=True))
    n = len(rows)
    postcards = {
        "kind": kind, "flow": flow, "packet_bytes": np.full(n, FRAME),
        "payload_bytes": np.full(n, PAYLOAD), "tcp_seq": seq * PAYLOAD,
        "tcp_flags": np.full(n, 16), "queue_bytes": queue,
        "enqueue_ns": enqueue, "dequeue_ns": dequeue, "seq": np.arange(n),
    }  # fmt: skip
    steps = duration // interval + 2
    grid = [(k, f) for k in range(steps) for f in range(len(senders))]
    goodput = {
        "t_ns": np.array([(k + 1) * interval for k, _ in grid]),
        "flow": np.array([f for _, f in grid]),
        "bytes": np.array([received.get((f, k), 0) for k, f in grid]),
    }
    columns = list(zip(*samples, strict=True))
    names = (
        "t_ns", "flow", "srtt_us", "cwnd_pkts", "bytes_sent", "bytes_retrans", "inflight_bytes",
    )  # fmt: skip
    flow_samples = {name: np.array(c) for name, c in zip(names, columns, strict=True)}
    sent = np.array([s.sent for s in senders])
    return Outcome(postcards, goodput, flow_samples, sent, np.array([s.retrans for s in senders]))


MARKS = {table.name: {*table.marks, *table.queues} for table in (POSTCARDS, BINS, COUNTERS)}
"""Table -> columns of trials in which packets can be marked, or of several queues."""


def write_table(path: Path, name: str, columns: dict[str, Any]) -> None:
    """Write columns as the contract's table; what is not given is null or 0, marks left out."""
    optional = MARKS.get(name, set())
    left_out = {n for n in optional if n not in columns or np.all(np.isnan(columns[n]))}
    schema = pa.schema([field for field in TABLES[name] if field.name not in left_out])
    rows = len(next(iter(columns.values())))
    data = []
    for column in schema:
        if column.name in columns:
            data.append(pa.array(columns[column.name], type=column.type))
        elif column.name.startswith("bbr_"):
            data.append(pa.nulls(rows, column.type))
        else:
            data.append(pa.array(np.zeros(rows, dtype=np.int64)).cast(column.type))
    pq.write_table(pa.Table.from_arrays(data, schema=schema), path / f"{name}.parquet",
                   compression="zstd")  # fmt: skip


def bins_of(postcards: dict[str, np.ndarray], bin_ns: int) -> dict[str, np.ndarray]:
    """The data plane's `bins` table of postcards, one packet and bin at a time."""
    cells: dict[tuple[int, int], list[float]] = defaultdict(lambda: [0.0] * 6)
    columns = ("kind", "flow", "packet_bytes", "enqueue_ns", "dequeue_ns")
    for kind, flow, size, enq, deq in zip(*(postcards[c].tolist() for c in columns), strict=True):
        last = cells[deq // bin_ns, flow]
        if kind == KIND_DROPPED:
            last[2] += 1
            last[3] += size
            continue
        last[0] += size
        last[1] += 1
        last[5] += deq - enq
        for b in range(enq // bin_ns, deq // bin_ns + 1):
            inside = min(deq, (b + 1) * bin_ns) - max(enq, b * bin_ns)
            cells[b, flow][4] += size * inside
    keys = sorted(cells)
    values = np.array([cells[key] for key in keys])
    delay = [v[5] / v[1] if v[1] else None for v in values]
    return {
        "bin_start_ns": np.array([b * bin_ns for b, _ in keys]),
        "flow": np.array([f for _, f in keys]),
        "departed_bytes": values[:, 0], "departed_packets": values[:, 1],
        "dropped_packets": values[:, 2], "dropped_bytes": values[:, 3],
        "occupancy_bytes_mean": values[:, 4] / bin_ns, "qdelay_mean_ns": delay,
    }  # fmt: skip


@dataclass
class RunWriter:
    """Builds a run directory from simulated trials."""

    path: Path
    raw: dict[str, Any]

    def __post_init__(self) -> None:
        self.scenario = Scenario.model_validate(self.raw)
        (self.path / "trials").mkdir(parents=True)
        with (self.path / "scenario.yaml").open("w") as file:
            YAML(typ="safe", pure=True).dump(self.raw, file)
        (self.path / "testbed.yaml").write_text("target: dpdk\n")

    def settings(self) -> list[Setting]:
        b = self.scenario.bottleneck
        groups = self.scenario.flows
        found = []
        for buffer in self.scenario.sweep.buffer or (b.buffer,):
            size = buffer.to_bytes(b.rate, groups[0].base_rtt)
            bdp = buffer.to_bytes(b.rate, groups[0].base_rtt) * 8e9 / b.rate.bps
            found.append(Setting(
                label=f"b{buffer}", rate_bps=b.rate.bps, buffer_bytes=size,
                limit=Limit(unit="bytes", value=size),
                buffer_label=str(buffer), buffer_bdp=bdp / groups[0].base_rtt.ns,
                base_rtt_ns=tuple(g.base_rtt.ns for g in groups),
                overhead_bytes=b.overhead.bytes,
            ))  # fmt: skip
        return found

    def mix(self, counts: tuple[int, ...]) -> tuple[GroupMix, ...]:
        """Flows of the second strategy of each group -> the mix."""
        first, second = self.scenario.strategies[:2]
        return tuple(
            GroupMix(group=i, name=g.name, counts={first: g.count - k, second: k})
            for i, (g, k) in enumerate(zip(self.scenario.flows, counts, strict=True))
        )

    def add(
        self, setting: Setting, counts: tuple[int, ...], repetition: int = 0, attempt: int = 0,
        valid: bool = True, scale: float = 1.0, tables: tuple[str, ...] = (),
    ) -> Path:  # fmt: skip
        """Simulate one trial and seal it.

        `scale` multiplies the goodput (to make exact expectations in tests); `tables` says
        which tables to write beside flows (default: all of them but bins).
        """
        outcome, ccs = self._simulate(setting, counts, seed=repetition * 1000 + sum(counts))
        mix = "k" + "-".join(f"{k:02d}" for k in counts)
        name = f"{setting.label}-{mix}-r{repetition}-a{attempt}"
        path = self.path / "trials" / name
        path.mkdir()
        for table in tables or ("postcards", "flow_samples", "goodput", "counters"):
            self._write(path, table, outcome, scale, len(ccs))
        write_table(path, "flows", self._flows(outcome, ccs))
        record = self._record(name, setting, self.mix(counts), repetition, attempt, valid)
        (path / "trial.json").write_text(record.model_dump_json(indent=1))
        return path

    def _simulate(self, setting: Setting, counts: tuple[int, ...], seed: int):
        sc, rng = self.scenario, random.Random(seed)
        link = Bottleneck(setting.rate_bps, setting.buffer_bytes, setting.overhead_bytes)
        ccs = []
        for i, (g, k) in enumerate(zip(sc.flows, counts, strict=True)):
            names = [sc.strategies[0]] * (g.count - k) + [sc.strategies[1]] * k
            ccs += [(i, cc, g.base_rtt.ns) for cc in names]
        senders = [Sender(cc, rtt, rng.randrange(0, 100_000_000)) for _, cc, rtt in ccs]
        sample, interval = sc.telemetry.tcp_info.ns, sc.telemetry.goodput.ns
        return simulate(senders, link, sc.longest.ns, sample, interval, seed), ccs

    def _write(self, path: Path, table: str, out: Outcome, scale: float, flows: int) -> None:
        if table == "postcards":
            write_table(path, table, out.postcards)
        elif table == "bins":
            write_table(path, table, bins_of(out.postcards, 10_000_000))
        elif table == "goodput":
            scaled = (out.goodput["bytes"] * scale).astype(np.int64)
            write_table(path, table, {**out.goodput, "bytes": scaled})
        elif table == "flow_samples":
            write_table(path, table, out.flow_samples)
        else:
            write_table(path, table, self._counters(out, flows))

    @staticmethod
    def _counters(out: Outcome, flows: int) -> dict[str, np.ndarray]:
        dropped = out.postcards["kind"] == KIND_DROPPED
        flow = out.postcards["flow"]
        arrived, lost = (
            np.bincount(flow, minlength=flows),
            np.bincount(flow[dropped], minlength=flows),
        )
        pairs = (("arrived", arrived), ("dropped", lost), ("departed", arrived - lost))
        counts = {f"{name}_packets": n for name, n in pairs}
        return {"flow": np.arange(flows), **counts,
                **{f"{name}_bytes": n * FRAME for name, n in pairs}}  # fmt: skip

    def _flows(self, out: Outcome, ccs: list[tuple[int, str, int]]) -> dict[str, Any]:
        flows = np.arange(len(ccs))
        sink = [int(out.goodput["bytes"][out.goodput["flow"] == f].sum()) for f in flows]
        return {
            "flow": flows, "group": [g for g, _, _ in ccs],
            "group_name": [self.scenario.flows[g].name for g, _, _ in ccs],
            "cc": [cc for _, cc, _ in ccs], "cc_applied": [cc for _, cc, _ in ccs],
            "base_rtt_ns": [rtt for _, _, rtt in ccs], "sink_bytes": sink,
            "end_ns": [self.scenario.longest.ns] * len(ccs),
            "bytes_sent": out.sent * PAYLOAD, "bytes_retrans": out.retrans * PAYLOAD,
            "total_retrans": out.retrans,
        }  # fmt: skip

    def _record(self, name, setting, mix, repetition, attempt, valid) -> TrialRecord:
        sc = self.scenario
        limit = Limit(unit="bytes", value=setting.buffer_bytes)
        gates = (
            Gate(name="conservation", passed=True, value=0, limit=0, unit="B", detail="exact"),
            Gate(name="lateness", passed=valid, value=0.1 if valid else 9.0, limit=0.5,
                 unit="ms", detail="99.9th percentile of departure lateness"),
        )  # fmt: skip
        return TrialRecord(
            id=name, setting=setting,
            applied=Applied(rate_bps=setting.rate_bps, limit=limit,
                            buffer_bytes=setting.buffer_bytes,
                            overhead_bytes=setting.overhead_bytes),
            mix=mix, repetition=repetition, attempt=attempt, seed=1, lane=0, t0_ns=0, epoch_ns=0,
            duration_ns=sc.longest.ns, warmup_ns=sc.warmup.ns,
            window_ns=(sc.warmup.ns, sc.longest.ns), postcards="all",
            started_utc="2026-01-01T00:00:00Z", ended_utc="2026-01-01T00:00:10Z",
            valid=valid, gates=gates,
            invalid_reasons=() if valid else ("lateness: 9 ms is above 0.5 ms",),
            lane_counters=LANE_COUNTERS, lateness=LATENESS, ports_delta={},
            flow_generator=GENERATORS, disturbance=DISTURBANCE, digests=DIGESTS,
        )  # fmt: skip

    def finish(self, planned: list[tuple[Setting, tuple[int, ...], int]] = ()) -> Path:
        """Write the manifest and, if any trial is given, the plan."""
        manifest = Manifest(
            run=self.path.name, scenario=self.scenario.name, started_utc="2026-01-01T00:00:00Z",
            seed=1, scenario_digest="0" * 64, testbed_digest="1" * 64, artefact_digest="2" * 64,
            applied={s.label: {"rate_bps": s.rate_bps, "buffer_bytes": s.buffer_bytes}
                     for s in self.settings()},
            software={"nashbed": "0.1.0", "python": "3.11"}, git={"commit": "abc", "dirty": "no"},
            kernel="6.18", cpu="2 x test", clocksource="tsc", sysctls={"net.ipv4.tcp_ecn": "0"},
            ports={"senders": {"driver": "af_xdp"}}, host={"memory": "24 GiB"}, status="complete",
        )  # fmt: skip
        (self.path / "manifest.json").write_text(manifest.model_dump_json(indent=1))
        if planned:
            self._write_plan(planned)
        return self.path

    def _write_plan(self, planned) -> None:
        trials = tuple(
            PlannedTrial(
                key=f"{s.label}-k{'-'.join(map(str, c))}-r{r}", setting=s, mix=self.mix(c),
                repetition=r,
            )
            for s, c, r in planned
        )  # fmt: skip
        plan = Plan(
            scenario=self.scenario.name, trials=trials, flows_per_trial=self.scenario.total_flows,
            expected_trials=1, trial_ns=self.scenario.longest.ns, lanes=1, estimated_seconds=1.0,
            estimated_disk_bytes=1, capacity=ASSUMED_CAPACITY,
        )  # fmt: skip
        (self.path / "plan.json").write_text(plan.model_dump_json())


def write_run(path: Path, raw: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A whole run: every setting, every mix of the (single) group, every repetition."""
    writer = RunWriter(path, {**(raw or SCENARIO), **changes})
    planned = [
        (setting, (k,), repetition)
        for setting in writer.settings()
        for k in range(writer.scenario.total_flows + 1)
        for repetition in range(writer.scenario.trials)
    ]
    for setting, counts, repetition in planned:
        writer.add(setting, counts, repetition)
    return writer.finish(planned)


def edit_json(path: Path, **changes: Any) -> None:
    """Change top-level values of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
