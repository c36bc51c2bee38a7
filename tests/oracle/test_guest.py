"""The oracle against a whole kernel: what its files do in user space is what they do in their own.

A guest whose time travels sends the same arrivals through tc's qdiscs at a device of an exact rate.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracle.arrivals import PATTERNS, Traffic, arrivals
from tests.oracle.compare import assert_same
from tests.oracle.guest.guest import need_guest
from tests.oracle.linux_qdiscs import Line, Qdisc, Red, codel, fifo, fq_codel, need_source, pie, run
from tests.support.programs import needs_program

pytestmark = [pytest.mark.slow, needs_program("busybox")]

QDISCS = {
    "bfifo limit 60000": fifo("bfifo", 60_000),
    "codel": codel(),
    "codel ecn target 2ms interval 20ms": codel(ecn=1, target=2000, interval=20_000),
    "fq_codel": fq_codel(),
    "fq_codel limit 100": fq_codel(limit=100),
    "pfifo limit 30": fifo("pfifo", 30),
}


SEEDS = range(1, 13)


def on_grid(came: NDArray[Any], rate_bps: int) -> NDArray[Any]:
    """Arrivals at times that are multiples of the time of a byte."""
    came["ns"] -= came["ns"] % np.uint64(8 * 10**9 // rate_bps)
    return came


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("rate_bps", [10_000_000, 100_000_000])
@pytest.mark.parametrize("tc", QDISCS)
def test_each_packet(tmp_path: Path, tc: str, rate_bps: int, pattern: str) -> None:
    seconds = 2e7 / rate_bps
    traffic = Traffic(pattern, rate_bps, seconds, flows=20, sizes="any", ecn="mixed")
    came = on_grid(arrivals(traffic), rate_bps)
    kernels = need_guest().run(tmp_path, tc, rate_bps, came)
    qdisc: Qdisc = QDISCS[tc]
    # A device's own qdisc is passed by where it is empty; ticks come 250 times a second.
    line = Line(rate_bps, hz=250, is_exact=False, bypasses=True)
    left = run(qdisc, line, came, need_source(qdisc.name)).outcomes
    assert_same(left, kernels, ("dropped", "marked", "decided_ns", "departure_ns"))


@pytest.mark.parametrize("pattern", ["bursts", "poisson", "steps"])
@pytest.mark.parametrize("ecn", ["", " ecn"])
def test_red_with_tcs_own_table(tmp_path: Path, pattern: str, ecn: str) -> None:
    """No draw between thresholds that are a byte apart: what is compared is the average."""
    rate_bps = 10_000_000
    traffic = Traffic(pattern, rate_bps, 10, flows=20, sizes="any", ecn="mixed")
    came = on_grid(arrivals(traffic), rate_bps)
    tc = f"red limit 4000000 min 30000 max 30001 avpkt 1000 burst 55 bandwidth 10mbit{ecn}"
    kernels = need_guest().run(tmp_path, tc, rate_bps, came)
    red = Red(4_000_000, 30_000, 30_001, 1000, 55, 0.02, rate_bps, ecn=bool(ecn), in_ticks=True)
    line = Line(rate_bps, hz=250, is_exact=False)
    result = run(red.qdisc(), line, came, need_source("red"))
    assert kernels["dropped"].sum() > 100
    assert_same(result.outcomes, kernels, ("dropped", "marked", "decided_ns", "departure_ns"))


def test_timers_come_with_the_tick_after(tmp_path: Path) -> None:
    """PIE's probability is computed every 20 ms of its 15: the guest draws its own numbers."""
    rate_bps = 10_000_000
    came = on_grid(arrivals(Traffic("bursts", rate_bps, seconds=10)), rate_bps)
    guest, source = need_guest(), need_source("pie")
    lines = {
        "wheel": Line(rate_bps, hz=250, is_exact=False),
        "every 16 ms": Line(rate_bps, hz=250),
        "every 15 ms": Line(rate_bps),
    }
    drops = {
        name: [
            run(pie(), replace(line, seed=seed), came, source).outcomes["dropped"].sum()
            for seed in SEEDS
        ]
        for name, line in lines.items()
    }
    drops["kernel"] = [
        guest.run(tmp_path, "pie", rate_bps, came, seed)["dropped"].sum() for seed in SEEDS
    ]
    error = np.hypot(*(np.std(drops[name], ddof=1) for name in ("kernel", "wheel")))
    error /= np.sqrt(len(SEEDS))
    apart = {name: abs(np.mean(drops["kernel"]) - np.mean(drops[name])) / error for name in lines}
    assert apart["wheel"] < 4
    assert min(apart["every 15 ms"], apart["every 16 ms"]) > 8
