"""Disciplines against plain models of them, packet by packet."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import NEVER, Lane, Queued, TrafficManager
from tests.model.disciplines import Codel, Model, Packet, Pie, Red, Step, serve

RATE_BPS, LIMIT = 10_000_000, 150_000
SEED = 7
Make = Callable[[], Model]
RED: dict[str, Any] = {"min": 12_000, "max": 36_000, "burst": 20, "probability": 0.1}

CASES: list[tuple[str, dict[str, Any], Make]] = [
    ("step", {"threshold": 20_000}, lambda: Step(20_000)),
    ("codel", {}, Codel),
    ("codel", {"ecn": 1}, lambda: Codel(ecn=True)),
    ("codel", {"target": 1e6, "interval": 2e7}, lambda: Codel(1_000_000, 20_000_000)),
    ("red", RED, lambda: Red(12_000, 36_000, 20, 0.1, RATE_BPS, SEED)),
    ("red", {**RED, "ecn": 1}, lambda: Red(12_000, 36_000, 20, 0.1, RATE_BPS, SEED, ecn=True)),
    (
        "red",
        {**RED, "gentle": 1},
        lambda: Red(12_000, 36_000, 20, 0.1, RATE_BPS, SEED, gentle=True),
    ),
    ("pie", {}, lambda: Pie(SEED)),
    ("pie", {"ecn": 1}, lambda: Pie(SEED, ecn=True)),
    ("pie", {"bytemode": 1, "target": 5e6}, lambda: Pie(SEED, 5_000_000, bytemode=True)),
]


IDS = [f"{name}-{i}" for i, (name, _, _) in enumerate(CASES)]


def fares(name: str, params: dict[str, Any], packets: list[Packet]) -> list[Packet]:
    """The same packets through the core."""
    tm = TrafficManager(1)
    assert tm.set_up(0, Lane(RATE_BPS, LIMIT).discipline(name, SEED, **params)) == 0
    out: list[Queued] = []
    for number, packet in enumerate(packets):
        out += tm.drain(packet.at_ns)
        args = (packet.size, packet.at_ns, 0, packet.ecn)
        taken, queued = tm.enqueue(0, number, *args)
        out += [] if taken else [queued]
    out += tm.drain(NEVER - 1)
    fared = {q.packet: q for q in out}
    return [
        Packet(
            packet.at_ns,
            packet.size,
            packet.ecn,
            q.queue_bytes,
            q.dequeue_ns,
            q.mark,
            q.reason if q.dropped else None,
        )
        for packet, q in ((packet, fared[i]) for i, packet in enumerate(packets))
    ]


def load(seed: int, n: int, overload: float) -> list[Packet]:
    """Bursts, lulls, and a queue that stands for seconds."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(n) < 0.7, 1514, rng.integers(60, 1515, n))
    gaps = rng.exponential(1.21e6 * 0.85 / overload, n).astype(np.int64)
    gaps[rng.random(n) < 0.2] = 0
    gaps[rng.random(n) < 0.002] += 300_000_000
    columns = (np.cumsum(gaps), sizes, rng.choice([0, 1, 2, 3], n))
    return [Packet(*each) for each in zip(*(c.tolist() for c in columns), strict=True)]


@pytest.mark.parametrize(("name", "params", "make"), CASES, ids=IDS)
@pytest.mark.parametrize("overload", [0.9, pytest.param(1.1, marks=pytest.mark.long), 1.5])
def test_it_is_the_plain_model(
    name: str, params: dict[str, Any], make: Make, overload: float
) -> None:
    packets = load(1, 4_000, overload)
    got = fares(name, params, packets)
    assert got == serve(load(1, 4_000, overload), RATE_BPS, LIMIT, make())
    if overload > 1:
        assert sum(each.reason == 1 or each.mark for each in got) > 20  # it did decide


PACKETS = st.lists(
    st.tuples(
        st.sampled_from([0, 10_000, 500_000, 1_211_200, 20_000_000, 300_000_000]),
        st.sampled_from([60, 600, 1514, 1514, 1514]),
        st.integers(0, 3),
    ),
    max_size=300,
)


@pytest.mark.slow
@given(st.sampled_from(CASES), PACKETS, st.integers(1, 4))
def test_whatever_comes(
    case: tuple[str, dict[str, Any], Make], given: list[tuple[int, int, int]], times: int
) -> None:
    name, params, make = case
    gaps = np.cumsum([gap for gap, _, _ in given * times], dtype=np.int64).tolist()
    rows = [(at, size, ecn) for at, (_, size, ecn) in zip(gaps, given * times, strict=True)]
    got = fares(name, params, [Packet(*row) for row in rows])
    assert got == serve([Packet(*row) for row in rows], RATE_BPS, LIMIT, make())
