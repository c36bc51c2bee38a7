# SPDX-License-Identifier: Apache-2.0
"""BBRv2 in the simulator: what its draft and Google's v2alpha say, from its own record."""

from __future__ import annotations

import itertools
from functools import cache
from statistics import fmean

import pytest
from tests.support.bbr_phases import (
    CRUISE,
    DOWN,
    DRAIN,
    PROBE_RTT,
    REFILL,
    STARTUP,
    UP,
    gains,
    phases,
)
from tests.support.cc_sim import MSS_BYTES, SimPath, SimSample, needs_simulator, simulate

pytestmark = needs_simulator

PATH = SimPath(mbps=50, rtt_ms=40)
SAMPLE_S = 0.005


@cache
def record() -> list[SimSample]:
    """One flow alone, sampled every 5 ms for 60 s."""
    return simulate(PATH, ["bbr2"], seconds=60, sample_ms=SAMPLE_S * 1e3).of_flow(0)


@pytest.mark.parametrize("rtt_ms", [5, 40, 100])
@pytest.mark.parametrize("mbps", [10, 50, 200])
def test_one_flow_fills_the_link(mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), ["bbr2"], seconds=30, warmup_s=5)
    assert run.utilisation > 0.95


@pytest.mark.parametrize(
    "mode, pacing, cwnd",
    [
        (STARTUP, 2.89, 2.89),
        (DRAIN, 0.34, 2.89),
        (DOWN, 0.91, 2),
        (CRUISE, 1, 2),
        (REFILL, 1, 2),
        (UP, 1.25, 2.25),
        (PROBE_RTT, 1, 0.5),
    ],
)
def test_gains_of_each_phase(mode: int, pacing: float, cwnd: float) -> None:
    assert gains(record(), mode) == {(pacing, cwnd)}


def test_a_cycle_is_down_cruise_refill_up() -> None:
    following = {DOWN: {CRUISE}, CRUISE: {REFILL}, REFILL: {UP}, UP: {DOWN}, PROBE_RTT: {CRUISE}}
    seen = [one for one in phases(record()) if one.mode not in (STARTUP, DRAIN)]
    for one, after in itertools.pairwise(seen):
        assert after.mode in following[one.mode] | {PROBE_RTT}


def test_up_lasts_one_rtt_and_queues_a_quarter_of_a_bdp() -> None:
    ups = [
        one
        for one, after in itertools.pairwise(phases(record()))
        if (one.mode, after.mode) == (UP, DOWN)
    ]
    assert len(ups) > 5
    for one in ups:
        assert one.end_s - one.start_s + SAMPLE_S == pytest.approx(0.04, abs=2 * SAMPLE_S)
        most_queued = max(sample.queue_bytes for sample in one.samples)
        assert 0.15 * PATH.bdp_bytes < most_queued < 0.35 * PATH.bdp_bytes


def test_probe_rtt_every_five_seconds_with_half_a_bdp() -> None:
    probes = [one for one in phases(record()) if one.mode == PROBE_RTT]
    half_bdp = 0.5 * PATH.bdp_bytes / MSS_BYTES
    intervals = [after.start_s - one.start_s for one, after in itertools.pairwise(probes)]
    assert len(probes) > 8
    assert all(5.2 <= interval < 5.35 for interval in intervals)
    assert all(one.least_cwnd == pytest.approx(half_bdp, rel=0.05) for one in probes)


def test_it_bears_one_percent_of_random_loss() -> None:
    run = simulate(SimPath(50, 40, loss_ppm=10_000), ["bbr2"], seconds=60)
    assert run.utilisation > 0.7


@pytest.mark.slow
def test_it_probes_less_than_bbr3_does() -> None:
    """UP ends after an RTT with a queue, not when the bandwidth has stopped growing.

    So there is less queue alone, and less of a link shared with CUBIC.
    """
    queue = {}
    share = {}
    for name in ("bbr2", "bbr3"):
        queue[name] = simulate(PATH, [name]).mean_queue_bytes
        mix = [name] * 5 + ["cubic"] * 5
        share[name] = simulate(SimPath(100, 40), mix, seconds=120).mean_mbps(name)
    assert queue["bbr2"] < queue["bbr3"] / 2
    assert share["bbr2"] < share["bbr3"] * 0.8


def mean_mbps_of_mix(of_ten: int) -> tuple[float, float]:
    """BBRv2's and CUBIC's throughput per flow, the mean of three seeds: starts decide much."""
    mix = ["bbr2"] * of_ten + ["cubic"] * (10 - of_ten)
    runs = [simulate(SimPath(100, 40), mix, seconds=200, seed=seed) for seed in (1, 2, 3)]
    bbr2, cubic = (fmean(run.mean_mbps(cca) for run in runs) for cca in ("bbr2", "cubic"))
    return bbr2, cubic


@pytest.mark.slow
def test_more_cubic_flows_remain_at_its_equilibrium() -> None:
    """Mishra et al. (IMC 2022), figure 11: a BBRv2 flow gains while there are few of them."""
    few, cubic_with_few = mean_mbps_of_mix(2)
    many, cubic_with_many = mean_mbps_of_mix(8)
    assert few > cubic_with_few
    assert many < cubic_with_many
