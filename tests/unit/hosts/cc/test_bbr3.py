# SPDX-License-Identifier: Apache-2.0
"""BBRv3 in the simulator: what draft-ietf-ccwg-bbr says that it does, from its own record."""

from __future__ import annotations

import itertools
from functools import cache

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
    return simulate(PATH, ["bbr3"], seconds=60, sample_ms=SAMPLE_S * 1e3).of_flow(0)


@pytest.mark.parametrize("rtt_ms", [5, 40, 100])
@pytest.mark.parametrize("mbps", [10, 50, 200])
def test_one_flow_fills_the_link(mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), ["bbr3"], seconds=30, warmup_s=5)
    assert run.utilisation > 0.95


@pytest.mark.parametrize("mbps, rtt_ms", [(10, 40), (50, 10), (50, 40), (100, 40)])
def test_two_flows_share_within_20_percent(mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), ["bbr3"] * 2, seconds=120, warmup_s=60)
    fair = sum(flow.mbps for flow in run.flows) / 2
    assert all(abs(flow.mbps - fair) < 0.2 * fair for flow in run.flows)


@pytest.mark.parametrize(
    "mode, pacing, cwnd",
    [
        (STARTUP, 2.77, 2),
        (DRAIN, 0.5, 2),
        (DOWN, 0.9, 2),
        (CRUISE, 1, 2),
        (REFILL, 1, 2),
        (UP, 1.25, 2.25),
        (PROBE_RTT, 1, 0.5),
    ],
)
def test_gains_of_each_phase(mode: int, pacing: float, cwnd: float) -> None:
    assert gains(record(), mode) == {(pacing, cwnd)}


def test_pacing_is_the_gain_times_the_bandwidth_less_one_percent() -> None:
    for one in record():
        if one.mode in (DOWN, CRUISE, REFILL, UP):
            expected_bps = 0.99 * one.pacing_gain / 256 * one.bw * 8
            assert one.pacing_bps == pytest.approx(expected_bps, rel=1e-3)


def test_startup_ends_three_rounds_after_the_bandwidth_stops_growing() -> None:
    startup, drain = phases(record())[:2]
    assert (startup.mode, drain.mode) == (STARTUP, DRAIN)
    # 10 segments double to a BDP of 165 in 4 to 5 rounds; 3 more without growth, with up to a BDP
    # queued (two RTTs each).
    assert 7 * 0.04 < startup.end_s < 13 * 0.04
    # From two BDPs in flight to one, at half the rate: a BDP is let go in two RTTs.
    assert drain.end_s - drain.start_s < 3 * 0.04


def test_a_cycle_is_down_cruise_refill_up() -> None:
    following = {DOWN: {CRUISE}, CRUISE: {REFILL}, REFILL: {UP}, UP: {DOWN}, PROBE_RTT: {CRUISE}}
    for one, after in itertools.pairwise(phases(record())[2:]):
        assert after.mode in following[one.mode] | {PROBE_RTT}


def test_it_probes_two_to_three_seconds_after_the_last_probe() -> None:
    seen = [one for one in phases(record()) if one.mode in (DOWN, REFILL, PROBE_RTT)]
    waits = [
        after.start_s - one.start_s
        for one, after in itertools.pairwise(seen)
        if (one.mode, after.mode) == (DOWN, REFILL)
    ]
    assert len(waits) > 5
    # 63 rounds of a Reno flow are 2.52 s at the least, and end some waits early.
    assert all(2 <= wait < 3.1 for wait in waits)


def test_probe_rtt_every_five_seconds_with_half_a_bdp() -> None:
    probes = [one for one in phases(record()) if one.mode == PROBE_RTT]
    half_bdp = 0.5 * PATH.bdp_bytes / MSS_BYTES
    intervals = [after.start_s - one.start_s for one, after in itertools.pairwise(probes)]
    assert len(probes) > 8
    # 5 s after the end of the last, which takes 200 ms and a round at the most to drain.
    assert all(5.2 <= interval < 5.35 for interval in intervals)
    for one in probes:
        assert 0.2 <= one.end_s - one.start_s + SAMPLE_S < 0.3
        assert one.least_cwnd == pytest.approx(half_bdp, rel=0.05)
        assert min(sample.queue_bytes for sample in one.samples) == 0


@pytest.mark.slow
def test_it_estimates_the_path() -> None:
    steady = [one for one in record() if one.time_ns > 10e9]
    payload_bps = PATH.mbps * 1e6 * MSS_BYTES / 1514
    assert all(one.bw * 8 == pytest.approx(payload_bps, rel=0.01) for one in steady)
    assert all(one.min_rtt_us == pytest.approx(40_000, rel=0.02) for one in steady)


def test_it_bears_one_percent_of_random_loss() -> None:
    run = simulate(SimPath(50, 40, loss_ppm=10_000), ["bbr3"], seconds=60)
    assert run.utilisation > 0.7
    reno_like = simulate(SimPath(50, 40, loss_ppm=10_000), ["cubic"], seconds=60)
    assert run.utilisation > 5 * reno_like.utilisation


def test_it_loses_little_in_a_shallow_buffer() -> None:
    run = simulate(SimPath(50, 40, buffer_bdp=0.25), ["bbr3"], seconds=60)
    assert run.utilisation > 0.9
    assert run.flows[0].lost < 0.01 * run.flows[0].sent


@pytest.mark.slow
def test_against_cubic_the_first_flows_gain_and_the_last_do_not() -> None:
    """The shape of Mishra et al. (IMC 2022), figure 7: 10 flows, 100 Mbit/s, 40 ms, 2 BDP."""
    mean = {}
    for count in (1, 5, 9):
        ccas = ["bbr3"] * count + ["cubic"] * (10 - count)
        run = simulate(SimPath(100, 40), ccas, seconds=120)
        mean[count] = run.mean_mbps("bbr3")
    assert mean[1] > 20
    assert mean[1] > mean[5] > 10 > mean[9]
