"""BBRv2 and v3 in the simulator: what draft-ietf-ccwg-bbr and Google's v2alpha say of them.

From their own records.
"""

import itertools
import subprocess
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
from tests.support.cc_sim import CC, MSS_BYTES, SimPath, SimSample, needs_simulator, simulate

pytestmark = needs_simulator

PATH = SimPath(mbps=50, rtt_ms=40)
SAMPLE_S = 0.005
HISTORY = CC / "test" / "test-bbr-history"
GAINS = {
    "bbr2": {STARTUP: (2.89, 2.89), DRAIN: (0.34, 2.89), DOWN: (0.91, 2)},
    "bbr3": {STARTUP: (2.77, 2), DRAIN: (0.5, 2), DOWN: (0.9, 2)},
}
"""Of pacing and of the window, where the versions differ."""
ALIKE = {CRUISE: (1, 2), REFILL: (1, 2), UP: (1.25, 2.25), PROBE_RTT: (1, 0.5)}
BOTH = pytest.mark.parametrize("version", GAINS)


@cache
def record(version: str) -> list[SimSample]:
    """One flow alone, sampled every 5 ms for 60 s."""
    return simulate(PATH, [version], seconds=60, sample_ms=SAMPLE_S * 1e3).of_flow(0)


@BOTH
@pytest.mark.parametrize("rtt_ms", [5, 40, 100])
@pytest.mark.parametrize("mbps", [10, 50, 200])
def test_one_flow_fills_the_link(version: str, mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), [version], seconds=30, warmup_s=5)
    assert run.utilisation > 0.95


@BOTH
def test_gains_of_each_phase(version: str) -> None:
    for mode, expected in (GAINS[version] | ALIKE).items():
        assert gains(record(version), mode) == {expected}, mode


@BOTH
def test_a_cycle_is_down_cruise_refill_up(version: str) -> None:
    following = {DOWN: {CRUISE}, CRUISE: {REFILL}, REFILL: {UP}, UP: {DOWN}, PROBE_RTT: {CRUISE}}
    seen = [one for one in phases(record(version)) if one.mode not in (STARTUP, DRAIN)]
    for one, after in itertools.pairwise(seen):
        assert after.mode in following[one.mode] | {PROBE_RTT}


@BOTH
def test_probe_rtt_every_five_seconds_with_half_a_bdp(version: str) -> None:
    probes = [one for one in phases(record(version)) if one.mode == PROBE_RTT]
    half_bdp = 0.5 * PATH.bdp_bytes / MSS_BYTES
    intervals = [after.start_s - one.start_s for one, after in itertools.pairwise(probes)]
    assert len(probes) > 8
    # 5 s after the end of the last, which takes 200 ms and a round at the most to drain.
    assert all(5.2 <= interval < 5.35 for interval in intervals)
    for one in probes:
        assert one.least_cwnd == pytest.approx(half_bdp, rel=0.05)
        if version == "bbr3":
            assert 0.2 <= one.end_s - one.start_s + SAMPLE_S < 0.3
            assert min(sample.queue_bytes for sample in one.samples) == 0


@BOTH
def test_it_bears_one_percent_of_random_loss(version: str) -> None:
    run = simulate(SimPath(50, 40, loss_ppm=10_000), [version], seconds=60)
    assert run.utilisation > 0.7
    reno_like = simulate(SimPath(50, 40, loss_ppm=10_000), ["cubic"], seconds=60)
    assert run.utilisation > 5 * reno_like.utilisation


def test_bbr2s_up_lasts_one_rtt_and_queues_a_quarter_of_a_bdp() -> None:
    ups = [
        one
        for one, after in itertools.pairwise(phases(record("bbr2")))
        if (one.mode, after.mode) == (UP, DOWN)
    ]
    assert len(ups) > 5
    for one in ups:
        assert one.end_s - one.start_s + SAMPLE_S == pytest.approx(0.04, abs=2 * SAMPLE_S)
        most_queued = max(sample.queue_bytes for sample in one.samples)
        assert 0.15 * PATH.bdp_bytes < most_queued < 0.35 * PATH.bdp_bytes


@pytest.mark.slow
def test_bbr2_probes_less_than_bbr3_does() -> None:
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
def test_more_cubic_flows_remain_at_the_equilibrium_of_bbr2() -> None:
    """Mishra et al. (IMC 2022), figure 11: a BBRv2 flow gains while there are few of them."""
    few, cubic_with_few = mean_mbps_of_mix(2)
    many, cubic_with_many = mean_mbps_of_mix(8)
    assert few > cubic_with_few
    assert many < cubic_with_many


@pytest.mark.parametrize("mbps, rtt_ms", [(10, 40), (50, 10), (50, 40), (100, 40)])
def test_two_flows_of_bbr3_share_within_20_percent(mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), ["bbr3"] * 2, seconds=120, warmup_s=60)
    fair = sum(flow.mbps for flow in run.flows) / 2
    assert all(abs(flow.mbps - fair) < 0.2 * fair for flow in run.flows)


def test_pacing_is_the_gain_times_the_bandwidth_less_one_percent() -> None:
    for one in record("bbr3"):
        if one.mode in (DOWN, CRUISE, REFILL, UP):
            expected_bps = 0.99 * one.pacing_gain / 256 * one.bw * 8
            assert one.pacing_bps == pytest.approx(expected_bps, rel=1e-3)


def test_startup_ends_three_rounds_after_the_bandwidth_stops_growing() -> None:
    startup, drain = phases(record("bbr3"))[:2]
    assert (startup.mode, drain.mode) == (STARTUP, DRAIN)
    # 10 segments double to a BDP of 165 in 4 to 5 rounds; 3 more without growth, with up to a BDP
    # queued (two RTTs each).
    assert 7 * 0.04 < startup.end_s < 13 * 0.04
    # From two BDPs in flight to one, at half the rate: a BDP is let go in two RTTs.
    assert drain.end_s - drain.start_s < 3 * 0.04


def test_bbr3_probes_two_to_three_seconds_after_the_last_probe() -> None:
    seen = [one for one in phases(record("bbr3")) if one.mode in (DOWN, REFILL, PROBE_RTT)]
    waits = [
        after.start_s - one.start_s
        for one, after in itertools.pairwise(seen)
        if (one.mode, after.mode) == (DOWN, REFILL)
    ]
    assert len(waits) > 5
    # 63 rounds of a Reno flow are 2.52 s at the least, and end some waits early.
    assert all(2 <= wait < 3.1 for wait in waits)


@pytest.mark.slow
def test_bbr3_estimates_the_path() -> None:
    steady = [one for one in record("bbr3") if one.time_ns > 10e9]
    payload_bps = PATH.mbps * 1e6 * MSS_BYTES / 1514
    assert all(one.bw * 8 == pytest.approx(payload_bps, rel=0.01) for one in steady)
    assert all(one.min_rtt_us == pytest.approx(40_000, rel=0.02) for one in steady)


def test_bbr3_loses_little_in_a_shallow_buffer() -> None:
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


@pytest.mark.skipif(not HISTORY.is_file(), reason="needs hosts/cc/test: run `make build`")
def test_the_history_of_what_was_in_flight_is_within_one_percent_of_the_truth() -> None:
    """hosts/cc/test compares."""
    done = subprocess.run([HISTORY], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 5  # paths
