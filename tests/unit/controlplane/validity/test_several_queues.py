"""What postcards prove of several queues, against a plain line that serves them."""

from collections import deque
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.store.postcards import PostcardBatch
from nashbed.controlplane.validity.postcard_evidence import MemoryDepth, SeveralDepths

QUEUES = 3
LIMIT = 9000
US = 1000
NS_PER_BYTE = 800
ARRIVALS = st.lists(
    st.tuples(st.integers(0, 1500) | st.just(0), st.integers(60, 1514), st.integers(0, QUEUES - 1)),
    min_size=1,
    max_size=120,
)
"""Time since the one before in microseconds, bytes, queue."""


@dataclass
class Packet:
    """A packet, and what a data plane says of it; times in ns."""

    size: int
    queue: int
    enqueue_ns: int
    queue_bytes: int = 0
    own_queue_bytes: int = 0
    begun_ns: int = 0
    dequeue_ns: int = 0
    dropped: bool = False


class Line:
    """Strict priority, the first queue first; a memory of LIMIT bytes."""

    def __init__(self, counts_sent: bool) -> None:
        self.counts_sent = counts_sent
        self.waiting: list[deque[Packet]] = [deque() for _ in range(QUEUES)]
        self.sent: Packet | None = None
        self.cards: list[Packet] = []

    def inside(self, queue: int | None = None, *, sent: bool) -> int:
        """Bytes of a queue, or of all."""
        packets = [p for each in self.waiting for p in each]
        packets += [self.sent] if sent and self.sent else []
        return sum(p.size for p in packets if queue in (None, p.queue))

    def run(self, until_ns: int) -> None:
        """Let all depart that has left by then."""
        while self.sent and self.sent.dequeue_ns <= until_ns:
            self.cards.append(self.sent)
            free, self.sent = self.sent.dequeue_ns, None
            self.begin(free)

    def begin(self, now_ns: int) -> None:
        """Send the next packet."""
        queue = next((each for each in self.waiting if each), None)
        if queue and not self.sent:
            self.sent = queue.popleft()
            self.sent.begun_ns = now_ns
            self.sent.dequeue_ns = now_ns + self.sent.size * NS_PER_BYTE

    def take(self, packet: Packet) -> None:
        self.run(packet.enqueue_ns)
        packet.queue_bytes = self.inside(sent=True)
        packet.own_queue_bytes = self.inside(packet.queue, sent=self.counts_sent)
        if packet.queue_bytes + packet.size > LIMIT:
            packet.dropped, packet.dequeue_ns = True, packet.enqueue_ns
            self.cards.append(packet)
            return
        self.waiting[packet.queue].append(packet)
        self.begin(packet.enqueue_ns)


def cards_of(arrivals: list[tuple[int, int, int]], counts_sent: bool) -> PostcardBatch:
    line, now_ns = Line(counts_sent), 0
    for after_us, size, queue in arrivals:
        now_ns += after_us * US
        line.take(Packet(size, queue, now_ns))
    line.run(2**62)
    return batch_of(line.cards)


def batch_of(cards: list[Packet]) -> PostcardBatch:
    n = len(cards)
    zeros = np.zeros(n, np.int64)
    return PostcardBatch(
        dropped=np.array([card.dropped for card in cards]),
        flow=zeros,
        packet_bytes=np.array([card.size for card in cards], np.int64),
        payload_bytes=zeros,
        tcp_seq=zeros,
        tcp_flags=zeros.astype(np.uint8),
        queue_bytes=np.array([card.queue_bytes for card in cards], np.int64),
        enqueue_ns=np.array([card.enqueue_ns for card in cards], np.int64),
        dequeue_ns=np.array([card.dequeue_ns for card in cards], np.int64),
        seq=np.arange(n),
        marks=zeros.astype(np.uint8),
        queue=np.array([card.queue for card in cards], np.uint8),
        own_queue_bytes=np.array([card.own_queue_bytes for card in cards], np.int64),
    )


def rows(batch: PostcardBatch, begin: int, end: int) -> PostcardBatch:
    return PostcardBatch(**{f.name: getattr(batch, f.name)[begin:end] for f in fields(batch)})


def depths_of(batch: PostcardBatch, *, counts_sent: bool, piece: int = 10**6) -> SeveralDepths:
    depths = SeveralDepths(0, [True] * QUEUES, counts_sent=counts_sent)
    for begin in range(0, len(batch.seq), piece):
        depths.examine(rows(batch, begin, begin + piece))
    return depths


@pytest.mark.slow
@given(ARRIVALS, st.booleans(), st.integers(1, 50))
def test_every_packet_met_what_its_postcards_say(
    arrivals: list[tuple[int, int, int]], counts_sent: bool, piece: int
) -> None:
    batch = cards_of(arrivals, counts_sent)
    depths = depths_of(batch, counts_sent=counts_sent, piece=piece)
    assert depths.wrong == 0
    assert depths.checked == int(np.count_nonzero(~batch.dropped))


@pytest.mark.slow
@given(ARRIVALS, st.booleans(), st.data())
def test_a_wrong_byte_is_seen(
    arrivals: list[tuple[int, int, int]], counts_sent: bool, data: st.DataObject
) -> None:
    batch = cards_of(arrivals, counts_sent)
    place = data.draw(st.sampled_from([int(i) for i in np.flatnonzero(~batch.dropped)]))
    assert batch.own_queue_bytes is not None
    wrong = batch.own_queue_bytes.copy()
    wrong[place] += 1
    assert depths_of(replace(batch, own_queue_bytes=wrong), counts_sent=counts_sent).wrong == 1
    wrong = batch.queue_bytes.copy()
    wrong[place] += 1
    assert depths_of(replace(batch, queue_bytes=wrong), counts_sent=counts_sent).wrong == 1


def test_what_is_sent_counts_or_not() -> None:
    arrivals = [(0, 1000, 0), (1, 1000, 0)]
    assert depths_of(cards_of(arrivals, counts_sent=False), counts_sent=True).wrong == 1


def test_a_queue_in_which_packets_overtake_each_other_is_not_judged() -> None:
    batch = cards_of([(0, 1000, 0), (1, 1000, 1), (1, 1000, 2)], counts_sent=True)
    assert batch.own_queue_bytes is not None
    off = replace(
        batch, own_queue_bytes=batch.own_queue_bytes + 1, queue_bytes=batch.queue_bytes + 1
    )
    depths = SeveralDepths(0, [False, True, False], counts_sent=True)
    depths.examine(off)
    assert depths.wrong == 1


@pytest.mark.parametrize(("tolerance", "wrong"), [(None, 0), (0, 2), (1, 0)])
def test_queues_may_differ_by_the_targets_tolerance(tolerance: int | None, wrong: int) -> None:
    """One packet, that met a byte too much in its own queue and in all of them."""
    batch = cards_of([(0, 1000, 0)], counts_sent=True)
    assert batch.own_queue_bytes is not None
    off = replace(
        batch, own_queue_bytes=batch.own_queue_bytes + 1, queue_bytes=batch.queue_bytes + 1
    )
    depths = SeveralDepths(tolerance, [True] * QUEUES, counts_sent=True)
    depths.examine(off)
    assert depths.wrong == wrong


@pytest.mark.slow
@given(ARRIVALS, st.integers(1, 8), st.integers(1, 20))
def test_the_memory_is_judged_piece_by_piece_or_not_at_all(
    arrivals: list[tuple[int, int, int]], piece: int, kept: int
) -> None:
    batch = cards_of(arrivals, counts_sent=True)
    depth = MemoryDepth(0, rows=kept)
    for begin in range(0, len(batch.seq), piece):
        depth.examine(rows(batch, begin, begin + piece))
    assert depth.wrong == 0
    assert depth.checked in (0, len(batch.seq))


@pytest.mark.parametrize(("kept", "checked"), [(100, 43), (20, 0)])
def test_a_queue_that_is_starved_for_too_long_makes_the_verdict_void(
    kept: int, checked: int
) -> None:
    arrivals = [(0, 1000, 2), (1, 1000, 2), (1, 1000, 0)] + [(800, 1000, 0)] * 40
    batch = cards_of(arrivals, counts_sent=True)
    depth = MemoryDepth(0, rows=kept)
    for begin in range(0, len(batch.seq), 10):
        depth.examine(rows(batch, begin, begin + 10))
    assert (depth.checked, depth.wrong) == (checked, 0)
