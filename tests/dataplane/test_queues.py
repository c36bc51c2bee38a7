"""Several queues behind one line: packets are classified in P4, and postcards say their queue.

In virtual time, so that everything is exact: what a packet met in its queue and in all of them is
what the postcards add up to, to the byte.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.link import ShapedDepartures, TokenBucket
from nashbed.controlplane.contract.records import (
    KIND_DROPPED,
    MARK_REASON,
    POSTCARD,
    POSTCARD_OF_QUEUES,
    POSTCARD_VERSION,
    POSTCARD_VERSION_QUEUES,
)
from nashbed.controlplane.contract.shared import CONSTANTS, DROP_REASONS
from nashbed.controlplane.store.postcards import PostcardBatch, read_postcards
from nashbed.controlplane.store.raw_files import LaneClock
from nashbed.controlplane.validity.postcard_evidence import LinkBusy, SeveralDepths
from tests.conformance.packets import tcp, tcp_key
from tests.support.control import Client
from tests.support.virtual import SENDERS, Library, library, whole_frames

pytestmark = pytest.mark.dataplane

RATE = 80_000_000
"""A byte takes 100 ns."""
MEMORY = 30_000
FLOWS = 4
EF, BEST_EFFORT = 46, 0
BY_DSCP = CONSTANTS.queue_by_dscp
CLOCK = LaneClock(lane=0, first_flow=0, flows=FLOWS, t0_switch_ns=0)
US = 1000


@contextmanager
def lane(
    folder: Path, queues: list[dict[str, Any]], **more: Any
) -> Iterator[tuple[Library, Client]]:
    """A guest's lane with queues; `more` is of the program: scheduler, memory, dscp and so on."""
    several = {"queues": queues, "seed": 1}
    several |= {name: more.pop(name) for name in ("scheduler", "memory") if name in more}
    with library(folder) as guest, Client(guest.socket) as client:
        limit = {"unit": "bytes", "value": MEMORY}
        client.call("program", lane=0, rate_bps=RATE, limit=limit, queues=several, **more)
        yield guest, client


def entry(flow: int, queue: int | None = None) -> dict[str, Any]:
    key = tcp_key(flow)
    told = {} if queue is None else {"queue": queue}
    return {
        "flow": flow, "src": key.src, "dst": key.dst, "sport": key.sport, "dport": key.dport,
        "proto": key.proto,
    } | told  # fmt: skip


def played(
    guest: Library, client: Client, folder: Path, packets: list[tuple[int, bytes]]
) -> PostcardBatch:
    """All postcards of packets that come at their times."""
    path = folder / "cards"
    client.call("telemetry", lane=0, mode="all", path=str(path))
    guest.play(client, whole_frames([(time_ns, SENDERS, frame) for time_ns, frame in packets]))
    client.stop_telemetry(0)
    return PostcardBatch.joined([*read_postcards(path, CLOCK)])


def test_a_flow_has_the_queue_of_its_entry(tmp_path: Path) -> None:
    with lane(tmp_path, [{}, {}, {}]) as (guest, client):
        client.call("flows", lane=0, entries=[entry(0, 2), entry(1, 0), entry(2), entry(3, 1)])
        cards = played(guest, client, tmp_path, [(0, tcp(flow)) for flow in (0, 1, 2, 3)])
        client.call("shutdown")
    assert cards.queue is not None
    assert dict(zip(cards.flow.tolist(), cards.queue.tolist(), strict=True)) == {
        0: 2, 1: 0, 2: 0, 3: 1
    }  # fmt: skip
    raw = np.fromfile(tmp_path / "cards", POSTCARD_OF_QUEUES)
    assert set(raw["version"].tolist()) == {POSTCARD_VERSION_QUEUES}
    assert not raw["reserved"].any()


def test_a_flow_may_leave_it_to_each_packets_dscp(tmp_path: Path) -> None:
    dscp = {"dscp": [[EF, 0], [12, 1]], "dscp_default": 2}
    points = [(EF, 0), (12, 1), (13, 2), (BEST_EFFORT, 2), (63, 2)]
    frames = [
        (n * US, tcp(0, seq=n, ip={"tos": point << 2 | ecn}))
        for n, (point, ecn) in enumerate((p, e) for p, _ in points for e in (0, 2))
    ]
    with lane(tmp_path, [{}, {}, {}], **dscp) as (guest, client):
        client.call("flows", lane=0, entries=[entry(0, BY_DSCP), entry(1, 1)])
        named = (99 * US, tcp(1, seq=99, ip={"tos": EF << 2}))
        cards = played(guest, client, tmp_path, [*frames, named])
        client.call("shutdown")
    assert cards.queue is not None
    queues = dict(zip(cards.tcp_seq.tolist(), cards.queue.tolist(), strict=True))
    assert queues == dict(enumerate(q for _, q in points for _ in range(2))) | {99: 1}


def test_the_dscp_table_is_the_last_programs(tmp_path: Path) -> None:
    limit, two = {"unit": "bytes", "value": MEMORY}, {"queues": [{}, {}]}
    found = []
    with lane(tmp_path, [{}, {}], dscp=[[EF, 1]], dscp_default=0) as (guest, client):
        for n, more in enumerate(({}, {"dscp": [[EF, 0]], "dscp_default": 1}, {"queues": two})):
            if n:
                again = {"queues": two} | more
                client.call("program", lane=0, rate_bps=RATE, limit=limit, **again)
            client.call("flows", lane=0, entries=[entry(0, BY_DSCP)])
            frames = [(n * 10**9, tcp(0, ip={"tos": EF << 2}))]
            cards = played(guest, client, tmp_path, frames)
            assert cards.queue is not None
            found += cards.queue.tolist()
            client.call("reset", lane=0, flows=[0, FLOWS])
        client.call("shutdown")
    assert found == [1, 0, 0]


@cache
def random_frames(seed: int, n: int) -> list[tuple[int, bytes]]:
    draw = np.random.default_rng(seed)
    times = np.cumsum(draw.exponential(60 * US, n)).astype(int)
    sizes, flows = draw.integers(60, 1515, n), draw.integers(0, FLOWS, n)
    points = draw.choice([EF << 2, (EF << 2) | 2, 0, 2], n)
    return [
        (int(at), tcp(int(flow), int(size), seq=i, ip={"tos": int(tos)}))
        for i, (at, size, flow, tos) in enumerate(zip(times, sizes, flows, points, strict=True))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("counts", ["system", "queue"])
@pytest.mark.parametrize("scheduler", ["drr", "strict_priority"])
def test_postcards_add_up(tmp_path: Path, scheduler: str, counts: str) -> None:
    """Each packet met in its queue, and in all of them, what its postcard says."""
    codel = {"name": "codel", "target_ns": 200 * US, "interval_ns": 1000 * US}
    queues = [{"limit_bytes": 3000}, {"discipline": codel}, {}]
    more = {"scheduler": scheduler, "limit_counts": counts}
    more |= {"memory": {"name": "dynamic_threshold", "alpha": 0.5}}
    dscp = {"dscp": [[EF, 1]], "dscp_default": 2}
    with lane(tmp_path, queues, **more, **dscp) as (guest, client):
        entries = [entry(0, 0), entry(1, 1), entry(2, BY_DSCP), entry(3, BY_DSCP)]
        client.call("flows", lane=0, entries=entries)
        cards = played(guest, client, tmp_path, random_frames(7, 4000))
        client.call("shutdown")
    assert cards.queue is not None
    assert cards.own_queue_bytes is not None
    assert np.array_equal(cards.seq, np.arange(4000))
    depths = SeveralDepths(0, [True] * 3, counts_sent=counts == "system")
    link = LinkBusy(RATE, 0)
    for examiner in (depths, link):
        examiner.examine(cards)
    assert (depths.wrong, link.wrong) == (0, 0)
    assert depths.checked > 2000
    assert np.all(cards.own_queue_bytes <= cards.queue_bytes)
    reasons = {DROP_REASONS[mark & MARK_REASON] for mark in cards.marks[cards.dropped]}
    assert {"early", "queue_limit", "threshold"} <= reasons
    left = [cards.enqueue_ns[~cards.dropped & (cards.queue == queue)] for queue in range(3)]
    assert all(np.all(np.diff(times) >= 0) for times in left), "in order within a queue"
    assert np.any(np.diff(cards.enqueue_ns[~cards.dropped]) < 0), "not over all of them"


@pytest.mark.parametrize("counts", ["system", "queue"])
def test_a_shaper_sends_for_all_queues(tmp_path: Path, counts: str) -> None:
    """Every departure is when there are tokens, and what waits for them counts until then."""
    shaper = {"burst_bytes": 9000, "peak_bps": 2 * RATE, "mtu_bytes": 1514}
    with lane(tmp_path, [{}, {}, {}], shaper=shaper, limit_counts=counts) as (guest, client):
        entries = [entry(flow, flow % 3) for flow in range(FLOWS)]
        client.call("flows", lane=0, entries=entries)
        cards = played(guest, client, tmp_path, random_frames(8, 2000))
        client.call("shutdown")
    buckets = TokenBucket(RATE, 9000), TokenBucket(2 * RATE, 1514)
    depths = SeveralDepths(0, [True] * 3, counts_sent=True)
    link = LinkBusy(RATE, 0, departures=ShapedDepartures(*buckets))
    line = LinkBusy(RATE, 0)
    for examiner in (depths, link, line):
        examiner.examine(cards)
    assert (depths.wrong, link.wrong) == (0, 0)
    assert depths.checked > 1000
    assert line.wrong > 10
    assert cards.dropped.sum() > 100


def test_what_a_shaper_cannot_be_is_refused(tmp_path: Path) -> None:
    with library(tmp_path) as guest, Client(guest.socket) as client:
        lane_ = {"lane": 0, "rate_bps": RATE, "limit": {"unit": "bytes", "value": MEMORY}}
        for shaper in ({"burst_bytes": 0}, {"burst_bytes": 9000, "peak_bps": 2 * RATE}, {}):
            assert not client.ask({"op": "program", **lane_, "shaper": shaper})["ok"]
        applied = client.call("program", **lane_, shaper={"burst_bytes": 9000})["applied"]
        client.call("shutdown")
    assert applied["shaper"] == {"burst_bytes": 9000}


def test_a_lane_with_one_queue_has_the_postcards_that_it_had(tmp_path: Path) -> None:
    limit = {"unit": "bytes", "value": 1000}
    with library(tmp_path) as guest, Client(guest.socket) as client:
        client.call("program", lane=0, rate_bps=RATE, limit=limit)
        client.call("flows", lane=0, entries=[entry(0)])
        path = tmp_path / "cards"
        client.call("telemetry", lane=0, mode="all", path=str(path))
        guest.play(client, whole_frames([(0, SENDERS, tcp(0, 600))] * 2))
        client.stop_telemetry(0)
        client.call("shutdown")
    cards = np.fromfile(path, POSTCARD)
    assert cards["version"].tolist() == [POSTCARD_VERSION] * 2
    assert sorted(cards["kind"].tolist()) == [0, KIND_DROPPED]


@pytest.mark.parametrize(
    ("op", "request_", "problem"),
    [
        ("program", {"dscp": [[64, 0]]}, "dscp: bad value [[64,0]]"),
        ("program", {"dscp": {}}, "dscp: bad value {}"),
        ("program", {"dscp": [[5, 2]]}, "DSCP 5 is for queue 2, but the lane has 2 queues"),
        ("program", {"dscp": [], "dscp_default": 3}, "DSCP 0 is for queue 3"),
        ("flows", {"entries": [entry(0, 2)]}, "flow 0 is for queue 2, but lane 0 has 2 queues"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, op: str, request_: dict[str, Any], problem: str
) -> None:
    with lane(tmp_path, [{}, {}]) as (_, client):
        base: dict[str, Any] = {}
        if op == "program":
            base = {"rate_bps": RATE, "limit": {"unit": "bytes", "value": MEMORY}}
            base |= {"queues": {"queues": [{}, {}]}}
        assert problem in client.refused(op, lane=0, **base, **request_)
        client.call("shutdown")


def test_a_lane_with_one_queue_has_no_other(tmp_path: Path) -> None:
    limit = {"unit": "bytes", "value": 1000}
    with library(tmp_path) as guest, Client(guest.socket) as client:
        client.call("program", lane=0, rate_bps=RATE, limit=limit)
        refused = client.refused("flows", lane=0, entries=[entry(0, 1)])
        assert "flow 0 is for queue 1, but lane 0 has 0 queues" in refused
        wrong = client.refused("program", lane=0, rate_bps=RATE, limit=limit, dscp=[])
        assert "DSCP 0 is for queue 0, but the lane has 0 queues" in wrong
        wrong = client.refused("counters", lane=1, flows=[0, 1])
        assert wrong == "counters: lane: bad value 1", "a data plane of one lane"
        client.call("shutdown")
        assert guest.end() == ""
