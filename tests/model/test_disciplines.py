# SPDX-License-Identifier: Apache-2.0
"""Disciplines in the whole data plane: P4, the queue, P4, postcards, against the plain models."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import MARK_CAPABLE, MARK_CE, MARK_REASON
from nashbed.controlplane.machine.c_files.aqm_tool import pass_through
from tests.model.disciplines import Codel, Model, Packet, Pie, Red, Step, serve
from tests.support.capture import records_capture, tcp_records, times_of
from tests.support.replay import PIPELINES, ROOT, Bottleneck, replay, time_of

pytestmark = pytest.mark.dataplane

RATE_BPS, LIMIT, SEED = 10_000_000, 150_000, 7
RED = {"min_bytes": 12_000, "max_bytes": 36_000, "burst": 20, "probability": 0.1}
Make = Callable[[], Model]
CASES: list[tuple[str, dict[str, Any], Make]] = [
    ("step", {"threshold_bytes": 20_000}, lambda: Step(20_000)),
    ("codel", {"ecn": True, "seed": 1}, lambda: Codel(ecn=True)),
    (
        "red",
        {**RED, "ecn": True, "seed": SEED},
        lambda: Red(12_000, 36_000, 20, 0.1, RATE_BPS, SEED, ecn=True),
    ),
    ("pie", {"ecn": True, "seed": SEED}, lambda: Pie(SEED, ecn=True)),
]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize(("name", "parameters", "make"), CASES, ids=[name for name, *_ in CASES])
def test_postcards_say_what_the_model_does(
    tmp_path: Path, pipeline: str, name: str, parameters: dict[str, Any], make: Make
) -> None:
    """When a packet left or was dropped, CE, that it was capable, and why it was dropped."""
    rng = np.random.default_rng(3)
    n, ecn = 6_000, rng.choice([0, 2, 2, 3], 6_000)
    records = tcp_records(
        np.cumsum(rng.exponential(1.0e6, n).astype(np.int64)), np.full(n, 1514), np.arange(n) % 9
    )
    records["tos"] = ecn
    times = times_of(records) - times_of(records)[0]
    packets = [
        Packet(int(at), 1514, int(codepoint)) for at, codepoint in zip(times, ecn, strict=True)
    ]
    expected = serve(packets, RATE_BPS, LIMIT, make())
    bottleneck = Bottleneck(RATE_BPS, LIMIT, discipline=(name, parameters))
    cards = replay(tmp_path, records_capture(records), bottleneck, pipeline).postcards
    cards = cards[np.argsort(cards["tcp_seq"])]
    assert cards["kind"].tolist() == [each.reason is not None for each in expected]
    assert time_of(cards, "dequeue").tolist() == [each.left_ns for each in expected]
    assert (cards["marks"] & MARK_CE != 0).tolist() == [each.mark for each in expected]
    assert (cards["marks"] & MARK_CAPABLE != 0).tolist() == (ecn != 0).tolist()
    assert (cards["marks"] & MARK_REASON).tolist() == [each.reason or 0 for each in expected]
    assert sum(each.mark or each.reason == 1 for each in expected) > 20  # it did decide


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_users_own_is_loaded(tmp_path: Path) -> None:
    """The template drops nobody where its chance is 0, and is then drop-tail; else it does."""
    core, own = ROOT / "hosts" / "dpdk" / "core", tmp_path / "mine.so"
    source = core / "disciplines" / "mine.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-I", core, source, "-o", own], check=True)
    gaps = np.random.default_rng(4).exponential(1.1e6, 3_000).astype(np.int64)
    capture = records_capture(tcp_records(np.cumsum(gaps), np.full(3_000, 1514), np.zeros(3_000)))
    cards = [
        replay(
            tmp_path / name, capture, Bottleneck(RATE_BPS, LIMIT, discipline=discipline)
        ).postcards
        for name, discipline in (
            ("droptail", None),
            ("patient", ("mine", {"file": str(own), "chance": 0})),
            ("impatient", ("mine", {"file": str(own), "chance": 0.5})),
        )
    ]
    assert cards[0].tobytes() == cards[1].tobytes()
    assert (cards[2]["marks"] & MARK_REASON).sum() > 100


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_what_is_marked_and_then_dropped_has_no_mark(tmp_path: Path) -> None:
    """By the template, changed so that it marks all and drops whoever has waited too long."""
    core, own = ROOT / "hosts" / "dpdk" / "core", tmp_path / "mine.so"
    text = (core / "disciplines" / "mine.c").read_text()
    for old, new in (
        ("return aqm_push(", "aqm_mark(packet);\n\treturn aqm_push("),
        (" || aqm_mark(packet)", ""),
        ("chance), 0.05,", "chance), 1,"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    compile_it = ["cc", "-shared", "-fPIC", "-I", core, "-x", "c", "-", "-o", own]
    subprocess.run(compile_it, input=text, text=True, check=True)
    lane = {"rate_bps": 8_000_000, "limit": {"unit": "bytes", "value": 10**6}}
    lane["discipline"] = {"name": "mine", "file": str(own)}
    rows = pass_through("mine", lane, "0 0 15000 2\n0 0 1500 2\n")
    fates = [(number, ns, left, mark) for number, ns, left, mark, _ in rows]
    assert fates == [(0, 15_000_000, 1, 1), (1, 15_000_000, 0, 0)]


@pytest.mark.parametrize(
    ("alone", "queues"),
    [
        (
            Bottleneck(RATE_BPS, LIMIT, discipline=("codel", {})),
            {"queues": [{"discipline": {"name": "codel"}}, {}]},
        ),
        (
            Bottleneck(RATE_BPS, LIMIT, discipline=("red", {**RED, "seed": 3})),
            {"queues": [{"discipline": {"name": "red", **RED, "seed": 3}}, {}]},
        ),
        (
            Bottleneck(RATE_BPS, 9000),
            {"queues": [{}, {}], "memory": {"name": "static", "limits_bytes": [9000, 1]}},
        ),
        (
            Bottleneck(RATE_BPS, LIMIT // 2),
            {"queues": [{}, {}], "memory": {"name": "complete_partitioning"}},
        ),
        (Bottleneck(RATE_BPS, 30_000), {"queues": [{"limit_bytes": 30_000}, {}]}),
    ],
    ids=["codel", "red", "static", "partition", "limit"],
)
@pytest.mark.parametrize(
    "scheduler", ["drr", pytest.param("strict_priority", marks=pytest.mark.long)]
)
def test_one_of_several_queues_is_a_lane_of_its_own(
    tmp_path: Path, alone: Bottleneck, queues: dict[str, Any], scheduler: str
) -> None:
    """All packets are the first queue's: what leaves, and when, is the same to the byte."""
    gaps = np.random.default_rng(4).exponential(1.1e6, 3_000).astype(np.int64)
    capture = records_capture(tcp_records(np.cumsum(gaps), np.full(3_000, 1514), np.zeros(3_000)))
    several = Bottleneck(RATE_BPS, LIMIT, queues={"scheduler": scheduler, **queues})
    first, second = (
        replay(tmp_path / name, capture, bottleneck)
        for name, bottleneck in (("alone", alone), ("several", several))
    )
    assert first.departures == second.departures
    assert first.postcards["kind"].sum() > 20  # it did drop
