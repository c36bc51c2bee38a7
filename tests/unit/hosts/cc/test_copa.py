"""Copa in the simulator: what its paper (NSDI 2018) says that it does, from its own record."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tests.support.cc_sim import (
    FRAME_BYTES,
    MSS_BYTES,
    SimPath,
    SimSample,
    needs_simulator,
    simulate,
)

pytestmark = needs_simulator

SLOW_START, DEFAULT, COMPETITIVE = 1, 2, 3
GAIN_UNIT = 256
PATH = SimPath(mbps=50, rtt_ms=40)
RTT_MS = 40
BOTH = pytest.mark.parametrize("cca", ["copa", "copa_default"])
ALL = pytest.mark.parametrize("cca", ["copa", "copa_default", "copa_mvfst"])


@cache
def record() -> list[SimSample]:
    """One flow alone, sampled every millisecond."""
    return simulate(PATH, ["copa_default"], seconds=20, sample_ms=1).of_flow(0, after_s=0.1)


def velocity(sample: SimSample) -> float:
    """Told in the place of the window's gain."""
    return sample.cwnd_gain / GAIN_UNIT


@ALL
@pytest.mark.parametrize("rtt_ms", [5, 40, 100])
@pytest.mark.parametrize("mbps", [10, 50, 200])
def test_one_flow_fills_the_link(cca: str, mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), [cca], seconds=25, warmup_s=5)
    assert run.utilisation > 0.98


@pytest.mark.slow
def test_paces_at_twice_the_window_in_a_round_trip() -> None:
    for sample in record()[5000:]:
        bytes_in_round = sample.pacing_bps / 8 * sample.min_rtt_us / 1e6
        assert sample.pacing_gain == 2 * GAIN_UNIT
        # The standing RTT is not below the least one, and has at most the own queue more.
        assert bytes_in_round <= 2 * (sample.cwnd + 1) * MSS_BYTES
        assert bytes_in_round >= 1.9 * sample.cwnd * MSS_BYTES


def test_slow_start_doubles_the_window_each_round_trip() -> None:
    windows = [one.cwnd for one in record() if one.mode == SLOW_START][::RTT_MS]
    assert len(windows) >= 3
    for earlier, later in pairwise(windows[:-1]):
        assert later == pytest.approx(2 * earlier, rel=0.15)


def test_oscillates_with_a_period_of_five_round_trips() -> None:
    """Section 3: in steady state the window turns every 2.5 round trips."""
    queue = np.array([one.queue_bytes for one in record() if one.time_ns > 10e9], dtype=float)
    spectrum = np.abs(np.fft.rfft(queue - queue.mean()))
    period_ms = len(queue) / int(spectrum.argmax())
    assert period_ms / RTT_MS == pytest.approx(5, rel=0.1)


def test_the_queue_is_between_none_and_five_packets() -> None:
    """Section 3: 1.25/delta on average and 2.5/delta at most, at delta = 0.5.

    The simulator's queue has the packet that is being sent, one more at a busy link.
    """
    queue = [one.queue_bytes / FRAME_BYTES - 1 for one in record() if one.time_ns > 10e9]
    assert min(queue) <= 0
    assert max(queue) <= 5
    assert 1.25 <= sum(queue) / len(queue) <= 3


def test_velocity_is_one_in_the_steady_state() -> None:
    assert {velocity(one) for one in record() if one.time_ns > 10e9} == {1}


@pytest.mark.slow
def test_velocity_doubles_each_round_trip_after_three_in_one_direction() -> None:
    """A flow joins another: the way to its share is long."""
    run = simulate(SimPath(100, 40), ["copa_default"] * 2, seconds=30, sample_ms=1, seed=3)
    told = [(velocity(one), one.time_ns / 1e6) for one in run.of_flow(0, after_s=0.1)]
    changes = [told[0]] + [b for a, b in pairwise(told) if b[0] != a[0]]
    rises = [(a, b) for a, b in pairwise(changes) if b[0] > a[0] > 1]
    assert rises
    for (slower, before_ms), (faster, after_ms) in rises:
        assert faster <= 2 * slower
        assert after_ms - before_ms >= RTT_MS - 1
    first = [b[1] - a[1] for a, b in pairwise(changes) if (a[0], b[0]) == (1, 2)]
    assert min(first) >= 3 * RTT_MS


@pytest.mark.parametrize("path", [PATH, SimPath(10, 40), SimPath(50, 5)], ids=str)
@BOTH
def test_two_flows_share(cca: str, path: SimPath) -> None:
    rates = [flow.mbps for flow in simulate(path, [cca] * 2, seconds=90, warmup_s=60).flows]
    assert max(rates) < 1.2 * min(rates)


@pytest.mark.slow
def test_ten_flows_empty_the_queue_together() -> None:
    run = simulate(PATH, ["copa_default"] * 10, seconds=30, sample_ms=5)
    packets = [one.queue_bytes / FRAME_BYTES for one in run.of_flow(0, after_s=15)]
    assert min(packets) <= 1
    assert max(packets) <= 10 * 5 + 1
    assert run.drops == 0


def test_switches_where_cubic_keeps_the_queue() -> None:
    run = simulate(SimPath(100, 40), ["copa", "cubic"], seconds=30, sample_ms=40)
    modes = [one.mode for one in run.of_flow(0, after_s=10)]
    assert modes.count(COMPETITIVE) > 0.7 * len(modes)
    assert run.mean_mbps("copa") > 25


def test_two_flows_of_copa_alone_stay_in_default_mode() -> None:
    run = simulate(PATH, ["copa"] * 2, seconds=30, sample_ms=40)
    modes = [one.mode for one in run.of_flow(0, after_s=10)]
    assert modes.count(DEFAULT) > 0.9 * len(modes)


@pytest.mark.parametrize("flows", [1, 5, 9])
def test_default_mode_is_below_cubic_at_every_mix(flows: int) -> None:
    """Mishra 2022, figure 7: 10 flows at 100 Mbit/s, 40 ms, 2 BDP."""
    ccas = ["copa_default"] * flows + ["cubic"] * (10 - flows)
    run = simulate(SimPath(100, 40), ccas, seconds=60, warmup_s=20)
    assert run.mean_mbps("copa_default") < 0.5 * run.mean_mbps("cubic")


def test_random_loss_does_not_slow_the_default_mode() -> None:
    """Section 2: delay alone moves the window."""
    run = simulate(SimPath(50, 40, loss_ppm=10_000), ["copa_default"], seconds=30)
    assert run.utilisation > 0.9


def test_a_queue_too_short_for_all_does_not_make_them_lose_without_end() -> None:
    run = simulate(SimPath(50, 5), ["copa_default"] * 10, seconds=30)
    assert sum(flow.lost for flow in run.flows) < sum(flow.sent for flow in run.flows) / 2
    assert min(flow.mbps for flow in run.flows) > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("flows", [1, 5, 9])
def test_mvfst_is_above_cubic_at_every_mix(flows: int) -> None:
    """With delta = 0.05, 20 packets of each flow wait, ten times as many as with 0.5."""
    ccas = ["copa_mvfst"] * flows + ["cubic"] * (10 - flows)
    run = simulate(SimPath(100, 40), ccas, seconds=60, warmup_s=20)
    assert run.mean_mbps("copa_mvfst") > 1.2 * run.mean_mbps("cubic")


def test_mvfst_keeps_about_20_packets_in_the_queue() -> None:
    run = simulate(SimPath(50, 100), ["copa_mvfst"], seconds=60, warmup_s=20)
    assert run.mean_queue_bytes / FRAME_BYTES == pytest.approx(20, rel=0.25)


def test_mvfst_never_competes_and_does_not_heed_losses() -> None:
    path = SimPath(50, 40, loss_ppm=10_000)
    run = simulate(path, ["copa_mvfst"], seconds=30, warmup_s=5, sample_ms=40)
    assert {one.mode for one in run.of_flow(0, after_s=5)} == {DEFAULT}
    assert run.utilisation > 0.98


def test_mvfst_forgets_the_least_rtt_where_20_packets_are_a_bdp() -> None:
    """The queue is not empty once in 10 s, and its delay then counts from what was left in it."""
    run = simulate(SimPath(50, 5), ["copa_mvfst"], seconds=60, sample_ms=100)
    least = [one.min_rtt_us for one in run.of_flow(0)]
    assert min(least) < 1.1 * 5000
    assert least[-1] > 1.5 * 5000
