"""Prague in the simulator: what its draft says, from its own record; marks above a threshold."""

from functools import cache
from itertools import pairwise
from statistics import fmean

import pytest
from tests.support.cc_sim import FRAME_BYTES, SimPath, SimSample, needs_simulator, simulate

pytestmark = needs_simulator

SLOW_START, AVOIDANCE, REDUCED, RECOVERY = 1, 2, 3, 4
GAIN_UNIT = 256
THRESHOLD = 20 * FRAME_BYTES
PATH = SimPath(mbps=100, rtt_ms=10, buffer_bdp=4, mark_bytes=THRESHOLD)
VIRTUAL_RTT_S = 0.025


@cache
def record() -> list[SimSample]:
    """One flow alone, sampled every millisecond from its first acknowledgement on."""
    return simulate(PATH, ["prague"], seconds=20, sample_ms=1).of_flow(0, after_s=0.015)


def alpha(sample: SimSample) -> float:
    """Told in the place of the window's gain."""
    return sample.cwnd_gain / GAIN_UNIT


@pytest.mark.parametrize("rtt_ms", [5, 10, 40])
@pytest.mark.parametrize("mbps", [50, 100, 200])
def test_marks_alone_hold_the_queue_near_the_threshold(mbps: float, rtt_ms: float) -> None:
    path = SimPath(mbps, rtt_ms, buffer_bdp=4, mark_bytes=THRESHOLD)
    run = simulate(path, ["prague"], seconds=40, warmup_s=20)
    assert run.utilisation > 0.99
    assert run.drops == 0
    assert run.marks > 0
    # It is cut by alpha / 2 when it exceeds the threshold, and alpha is small.
    assert 0.3 * THRESHOLD < run.mean_queue_bytes < 1.2 * THRESHOLD


@pytest.mark.slow
def test_the_first_mark_halves_the_window_and_ends_slow_start() -> None:
    """Alpha begins with one: nothing is known of the path."""
    modes = [one.mode for one in record()]
    end = next(i for i, mode in enumerate(modes) if mode != SLOW_START)
    peak = max(one.cwnd for one in record()[:end])
    # Down by one with each acknowledgement, so for about a round trip; then the next mark counts.
    lowest = min(one.cwnd for one in record()[end : end + 18])
    assert lowest == pytest.approx(peak / 2, abs=3)  # it grew between the last two samples
    assert SLOW_START not in modes[end:]


def test_slow_start_doubles_the_window_each_round_trip() -> None:
    """Which is what is sent in it: a window of n acknowledged segments makes one of 2 n."""
    path = SimPath(mbps=1000, rtt_ms=40, buffer_bdp=4, mark_bytes=THRESHOLD)
    samples = simulate(path, ["prague"], seconds=1, warmup_s=0.5, sample_ms=1).of_flow(0)
    windows = [one.cwnd for one in samples if one.mode == SLOW_START][::41][1:]
    assert len(windows) >= 4
    for earlier, later in pairwise(windows):
        assert later == pytest.approx(2 * earlier, rel=0.2)


def test_paces_at_the_window_in_a_round_trip() -> None:
    """Its own window has a fraction: the socket's goes down to it by one at a time."""
    for sample in (one for one in record()[2000:] if one.mode == AVOIDANCE):
        in_round_trip = sample.pacing_bps / 8 * sample.srtt_us / 1e6 / 1500
        assert in_round_trip == pytest.approx(sample.cwnd - 0.5, abs=0.6)


def test_it_grows_as_a_flow_of_25_ms_after_500_rounds() -> None:
    """By a segment in 25 ms, from a window as much smaller as the RTT is: (10/25)^2 of it in 10 ms.

    Of each rise between two cuts the slope is looked at, where only whole segments show.
    """

    def segments_in_a_second(samples: list[SimSample]) -> float:
        rises = [b.cwnd - a.cwnd for a, b in pairwise(samples) if b.cwnd > a.cwnd]
        return sum(rises) / (samples[-1].time_ns - samples[0].time_ns) * 1e9

    # A round of alpha takes one RTT until then: 500 of at most 13 ms.
    early = [one for one in record() if 1e9 < one.time_ns < 4e9]
    late = [one for one in record() if one.time_ns > 10e9]
    rtt_s = fmean(one.srtt_us for one in late) / 1e6
    assert segments_in_a_second(early) == pytest.approx(1 / rtt_s, rel=0.15)
    assert segments_in_a_second(late) == pytest.approx(rtt_s / VIRTUAL_RTT_S**2, rel=0.15)


@pytest.mark.slow
def test_alpha_is_the_share_of_marked_segments() -> None:
    run = simulate(PATH, ["prague"], seconds=60, warmup_s=20, sample_ms=5)
    share = run.marks / sum(flow.sent for flow in run.flows)
    assert fmean(map(alpha, run.of_flow(0, after_s=20))) == pytest.approx(share, rel=0.1, abs=0.004)


def test_two_flows_share() -> None:
    run = simulate(PATH, ["prague"] * 2, seconds=90, warmup_s=60)
    rates = [flow.mbps for flow in run.flows]
    assert max(rates) < 1.2 * min(rates)


@pytest.mark.slow
def test_losses_halve_it_as_reno() -> None:
    """Nothing is marked: without ECN it is Reno, and so are its losses with ECN."""
    run = simulate(SimPath(50, 20, buffer_bdp=1), ["prague"], seconds=60, sample_ms=5)
    windows = [one.cwnd for one in run.of_flow(0, after_s=10)]
    assert run.utilisation > 0.95
    assert min(windows) == pytest.approx(max(windows) / 2, rel=0.1)
    # A segment in each round trip, however long the flow has lasted.
    rises = sum(b - a for a, b in pairwise(windows) if b > a)
    mean_rtt_s = run.flows[0].mean_rtt_us / 1e6
    assert rises / 50 == pytest.approx(1 / mean_rtt_s, rel=0.2)


@pytest.mark.slow
def test_marks_while_it_recovers_do_not_cut_twice() -> None:
    lossy = SimPath(100, 10, buffer_bdp=4, mark_bytes=THRESHOLD, loss_ppm=200)
    run = simulate(lossy, ["prague"], seconds=30, sample_ms=1)
    modes = {one.mode for one in run.of_flow(0, after_s=0.015)}
    assert modes == {SLOW_START, AVOIDANCE, REDUCED, RECOVERY}
    for before, after in pairwise(run.of_flow(0, after_s=5)):
        # In a millisecond at most some eight acknowledgements, each lowers it by one.
        assert before.cwnd - after.cwnd <= 10
