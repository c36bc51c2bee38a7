"""A plain model of queues that share one memory behind one line: what its postcards would be.

Packets are served by strict priority or round robin, one packet at a time, and refused above a
threshold of the memory's policy. It is slow and simple, and keeps who is in the queue at each drop.
"""

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.controlplane.contract.queues import Memory, Queue, Queues
from nashbed.controlplane.contract.records import KIND_DEPARTED, KIND_DROPPED
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.store.tables import TABLES

from .synthetic_run import SCENARIO, RunWriter

Threshold = Callable[[int, int], float]
"""(total bytes of the memory, bytes of all queues) -> what each queue may have."""
LIMIT, THRESHOLD, OVERFLOW = (DROP_REASONS.index(n) for n in ("limit", "threshold", "overflow"))


def dynamic(alpha: float) -> Threshold:
    """Choudhury and Hahne's thresholds."""
    return lambda total, used: alpha * (total - used)


def sharing(total: int, used: int) -> float:
    return float("inf")


@dataclass
class Packet:
    flow: int
    queue: int
    size: int
    enqueue_ns: int
    found: int
    own: int


@dataclass
class SharedMemory:
    """The queues, and a row for each packet that left or was dropped, in that order.

    Attributes:
        total: Bytes of the memory.
        pushes_out: Whether a packet that finds the memory full pushes out the last one of the
            longest queue instead of being refused.
        holders: For each drop in the order of rows, bytes of each (queue, flow) without itself.
    """

    rate_bps: int
    total: int
    queues: int = 2
    threshold: Threshold = sharing
    pushes_out: bool = False
    rows: list[tuple[int, ...]] = field(default_factory=list)
    holders: list[dict[tuple[int, int], int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.waiting: list[deque[Packet]] = [deque() for _ in range(self.queues)]
        self.sent: Packet | None = None
        self.free_ns = 0
        self.turn = 0

    def held(self) -> list[Packet]:
        return [p for queue in self.waiting for p in queue] + ([self.sent] if self.sent else [])

    def used(self, queue: int | None = None) -> int:
        return sum(p.size for p in self.held() if queue is None or p.queue == queue)

    def arrive(self, now: int, flow: int, queue: int, size: int) -> bool:
        """A packet arrives; what has left until then leaves first. Returns whether it is taken."""
        self.run_until(now)
        packet = Packet(flow, queue, size, now, self.used(), self.used(queue))
        if packet.own + size > self.threshold(self.total, packet.found):
            self._drop(packet, now, THRESHOLD)
            return False
        while self.pushes_out and self.used() + size > self.total and any(self.waiting):
            longest = max(self.waiting, key=lambda q: sum(p.size for p in q))
            self._drop(longest.pop(), now, OVERFLOW)
        if self.used() + size > self.total:
            self._drop(packet, now, LIMIT)
            return False
        self.waiting[queue].append(packet)
        if self.sent is None:
            self._serve(now)
        return True

    def run_until(self, now: int) -> None:
        """Let all leave whose last bit has been sent by then."""
        while self.sent is not None and self.free_ns <= now:
            self.rows.append(self._row(KIND_DEPARTED, self.sent, self.free_ns, 0))
            self.sent = None
            self._serve(self.free_ns)

    def _serve(self, now: int) -> None:
        """Round robin."""
        for step in range(self.queues):
            queue = self.waiting[(self.turn + step) % self.queues]
            if queue:
                self.turn = (self.turn + step + 1) % self.queues
                self.sent = queue.popleft()
                self.free_ns = now + self.sent.size * 8 * 10**9 // self.rate_bps
                return

    def _drop(self, packet: Packet, now: int, reason: int) -> None:
        met: dict[tuple[int, int], int] = {}
        for p in self.held():
            met[p.queue, p.flow] = met.get((p.queue, p.flow), 0) + p.size
        self.holders.append(met)
        self.rows.append(self._row(KIND_DROPPED, packet, now, reason))

    @staticmethod
    def _row(kind: int, p: Packet, dequeue_ns: int, marks: int) -> tuple[int, ...]:
        return (kind, p.flow, p.size, p.found, p.enqueue_ns, dequeue_ns, marks, p.queue, p.own)

    def postcards(self) -> dict[str, np.ndarray[Any, Any]]:
        """The columns of the table, when all has left."""
        self.run_until(1 << 62)
        names = (
            "kind", "flow", "packet_bytes", "queue_bytes", "enqueue_ns", "dequeue_ns", "marks",
            "queue", "own_queue_bytes",
        )  # fmt: skip
        values = np.array(self.rows, np.int64).reshape(-1, len(names)).T
        table = dict(zip(names, values, strict=True))
        kinds = {
            "kind": np.uint8, "flow": np.uint32, "packet_bytes": np.uint32, "marks": np.uint8,
            "queue_bytes": np.uint32, "queue": np.uint8, "own_queue_bytes": np.uint32,
        }  # fmt: skip
        table |= {name: table[name].astype(kind) for name, kind in kinds.items()}
        table["seq"] = np.arange(len(values[0]))
        return table


def loaded(memory: SharedMemory, packets: int, flows: int, seed: int) -> SharedMemory:
    """Offer packets at somewhat more than the line's rate; flow f goes to queue f mod Q.

    Some arrive in the same nanosecond.
    """
    rng, now = random.Random(seed), 0
    mean_ns = 0.9 * 1000 * 8 * 10**9 / memory.rate_bps
    for _ in range(packets):
        now += rng.choice((0, 0, round(rng.expovariate(1 / (3 * mean_ns)))))
        flow = rng.randrange(flows)
        memory.arrive(now, flow, flow % memory.queues, rng.choice((100, 700, 1500, 1500)))
    return memory


def queues_of(alpha: float) -> Queues:
    """Two queues, `bulk` and `voice`, with dynamic thresholds."""
    memory = Memory(name="dynamic_threshold", parameters=(("alpha", alpha),))
    bulk, voice = Queue(name="bulk", takes=("cubic",)), Queue(name="voice", limit_bytes=10_000)
    return Queues(queues=(bulk, voice), scheduler="drr", memory=memory, dscp_default=1)


def write_shared_run(path: Path, alphas: Sequence[float], trials: int = 1) -> Path:
    """A run of two flows of each of two strategies, each strategy in a queue of its own.

    Postcards and what is said of the queues are the model's; all else is the synthetic run's.
    """
    writer = RunWriter(path, {**SCENARIO, "trials": trials})
    (plain,) = writer.settings()
    planned = []
    for alpha in alphas:
        queues = queues_of(alpha)
        setting = plain.model_copy(update={"label": f"alpha{alpha:g}", "queues": queues})
        for repetition in range(trials):
            folder = writer.add(setting, (2,), repetition)
            _with_queues(folder, alpha, repetition)
            planned.append((setting, (2,), repetition))
    return writer.finish(planned)


def _with_queues(folder: Path, alpha: float, seed: int) -> None:
    path = folder / "trial.json"
    record = TrialRecord.model_validate_json(path.read_bytes())
    applied = record.applied.model_copy(update={"queues": queues_of(alpha)})
    path.write_text(record.model_copy(update={"applied": applied}).model_dump_json(indent=1))
    memory = SharedMemory(record.applied.rate_bps, record.applied.buffer_bytes, 2, dynamic(alpha))
    rng, now = random.Random(seed), 0
    while now < record.duration_ns:
        # Flows 0 and 1, of the first queue, send without an end; the others in bursts.
        now += round(rng.expovariate(1 / 1_150_000))
        memory.arrive(now, rng.randrange(2), 0, 1514)
        if rng.random() < 0.03:
            for _ in range(rng.randrange(1, 40)):
                memory.arrive(now, 2 + rng.randrange(2), 1, 1514)
    write_postcards(folder, memory.postcards())


def write_postcards(folder: Path, columns: dict[str, Any]) -> None:
    """Write postcards as a trial's table; what is not given is 0."""
    kinds = {field.name: field.type for field in TABLES["postcards"]}
    zero = np.zeros(len(columns["flow"]), np.int64)
    table = {name: pa.array(columns.get(name, zero)).cast(kind) for name, kind in kinds.items()}
    pq.write_table(pa.table(table), folder / "postcards.parquet", compression="zstd")
