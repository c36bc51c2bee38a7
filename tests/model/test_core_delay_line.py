"""The delay line against a plain model, and its random loss against SplitMix64."""

import errno
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import NEVER, DelayLine, Impaired, prng
from tests.model.splitmix import SplitMix64

PATHS = 4
BILLION = 10**9
MAX_DELAYS = 512


@dataclass(frozen=True)
class Waiting:
    packet: int
    due_ns: int
    path: int
    generation: int


@dataclass
class Path:
    """A path's settings; None: not configured."""

    delay_ns: int | None = None
    loss_ppb: int = 0
    random: SplitMix64 = field(default_factory=lambda: SplitMix64(0))
    jitter_ns: int = 0
    jitter: SplitMix64 = field(default_factory=lambda: SplitMix64(0))
    instant_ns: int | None = None
    extra_ns: int = 0
    last_due_ns: int = 0
    generation: int = 0
    lost: int = 0
    waiting: int = 0


class Model:
    """The earliest due goes first; of those of one delay and due time, the first that came."""

    def __init__(self) -> None:
        self.paths = [Path() for _ in range(PATHS)]
        self.queues: dict[int, list[Waiting]] = defaultdict(list)

    def configure(
        self, path: int, delay_ns: int, loss_ppb: int, seed: int, jitter_ns: int = 0
    ) -> None:
        p = self.paths[path]
        p.delay_ns, p.loss_ppb, p.random = delay_ns, loss_ppb, SplitMix64(seed)
        p.jitter_ns, p.jitter = jitter_ns, SplitMix64(~seed % 2**64)
        p.instant_ns, p.last_due_ns = None, 0

    def clear(self, path: int) -> None:
        self.paths[path] = Path(generation=self.paths[path].generation + 1)

    def put(self, path: int, less_ns: int, packet: int, now_ns: int) -> bool:
        p = self.paths[path]
        if p.loss_ppb and p.random.next() % BILLION < p.loss_ppb:
            p.lost += 1
            return False
        delay_ns = p.delay_ns or 0
        due_ns = self.processed(p, now_ns, now_ns + delay_ns - less_ns)
        queue = self.queues[delay_ns]
        queue.append(Waiting(packet, due_ns, path, p.generation))
        queue.sort(key=lambda waiting: waiting.due_ns)
        p.waiting += 1
        return True

    @staticmethod
    def processed(p: Path, now_ns: int, due_ns: int) -> int:
        """What comes at one instant takes equally long, and nothing overtakes within a path."""
        if not p.jitter_ns:
            return due_ns
        if now_ns != p.instant_ns:
            p.extra_ns = p.jitter.next() % p.jitter_ns
        p.instant_ns = now_ns
        p.last_due_ns = max(p.last_due_ns, due_ns + p.extra_ns)
        return p.last_due_ns

    def next_ns(self) -> int:
        return min((queue[0].due_ns for queue in self.queues.values() if queue), default=NEVER)

    def take(self, packet: int) -> Waiting:
        """Take out a packet that must be the first of its queue and due at next_ns()."""
        due_ns = self.next_ns()
        heads = [q for q in self.queues.values() if q and q[0].due_ns == due_ns]
        [queue] = [q for q in heads if q[0].packet == packet]
        return queue.pop(0)

    def is_stale(self, waiting: Waiting) -> bool:
        return waiting.generation != self.paths[waiting.path].generation


def drain(line: DelayLine, model: Model, now_ns: int) -> None:
    """Take all that is due out of both and compare."""
    while (out := line.get(now_ns)) is not None:
        expected = model.take(out.packet)
        assert (out.due_ns, out.path) == (expected.due_ns, expected.path)
        assert out.stale == model.is_stale(expected)
        if not out.stale:
            model.paths[out.path].waiting -= 1
    assert model.next_ns() > now_ns


PATH = st.integers(0, PATHS - 1)
ACTIONS = st.one_of(
    st.tuples(st.just("put"), PATH, st.sampled_from([0, 0, 1, 7, 60])),
    st.tuples(st.just("put"), PATH, st.just(0)),
    st.tuples(st.just("wait"), st.sampled_from([0, 1, 5, 10, 100])),
    st.tuples(
        st.just("configure"),
        PATH,
        st.sampled_from([0, 1, 10, 50]),
        st.sampled_from([0, 0, BILLION // 2, BILLION]),
        st.integers(0, 2**64 - 1),
        st.sampled_from([0, 0, 1, 8, 100]),
    ),
    st.tuples(st.just("clear"), PATH),
)


@given(st.lists(ACTIONS, max_size=150))
def test_against_the_model(actions: list[tuple[str, int, int, int, int]]) -> None:
    line, model, now_ns = DelayLine(PATHS), Model(), 0
    for packet, (action, *arguments) in enumerate(actions):
        if action == "put":
            path, less_ns = arguments[0], min(arguments[1], now_ns)
            taken = model.put(path, less_ns, packet, now_ns)
            assert line.put(path, packet, now_ns, less_ns) == taken
        elif action == "configure":
            assert line.configure(*arguments) == 0
            model.configure(*arguments)
        elif action == "clear":
            line.clear(*arguments)
            model.clear(*arguments)
        else:
            now_ns += arguments[0]
            drain(line, model, now_ns)
        assert line.next_ns() == model.next_ns()
        for number, p in enumerate(model.paths):
            assert (line.lost(number), line.waiting(number)) == (p.lost, p.waiting)
    drain(line, model, NEVER - 1)


def test_the_generator_is_splitmix64() -> None:
    # The sequence of seed 1234567 that the paper's authors publish.
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert prng(1234567, 3) == published
    model = SplitMix64(1234567)
    assert [model.next() for _ in range(3)] == published


@pytest.mark.parametrize("more", [0, 1])
def test_a_packet_is_lost_whose_draw_is_below_the_share(more: int) -> None:
    """As many of a billion numbers are below the share as it says; the draw itself is not."""
    drawn = [number % BILLION for number in prng(42, 2)]
    line = DelayLine(2)
    line.configure(0, 0, drawn[0] + more, seed=42)
    line.configure(1, 0)
    line.impair(1, Impaired(gilbert=(0, 0, 0, drawn[1] + more), seeds=(0, 0, 42)))
    assert [not line.put(path, 1, 0) for path in (0, 1)] == [more > 0] * 2


def test_512_different_delays_at_a_time() -> None:
    line = DelayLine(MAX_DELAYS + 2)
    for path in range(MAX_DELAYS):
        assert line.configure(path, 1000 + path) == 0
    assert line.configure(MAX_DELAYS, 5) == -errno.ENOSPC
    assert line.configure(MAX_DELAYS, 1000) == 0  # a delay that is in use already
    line.put(7, 1, 0)
    line.clear(7)
    assert line.configure(MAX_DELAYS + 1, 5) == -errno.ENOSPC  # its packet is still on the way
    assert line.get(2000) is not None
    assert line.configure(MAX_DELAYS + 1, 5) == 0
