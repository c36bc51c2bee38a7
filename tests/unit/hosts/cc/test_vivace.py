"""PCC Vivace in the simulator: what its paper (NSDI 2018) says it does, from its own record."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import pytest
from tests.support.cc_sim import SimPath, SimSample, needs_simulator, simulate

pytestmark = needs_simulator

STARTING, WAITING, HIGH, LOW = 1, 2, 3, 4
PATH = SimPath(mbps=50, rtt_ms=40)
RTT_S = 0.04
EPSILON = 0.05
KBIT = 125
LEAST_STEP = 500 * KBIT


@cache
def record() -> list[SimSample]:
    """One flow alone, sampled every millisecond."""
    run = simulate(PATH, ["vivace"], seconds=30, sample_ms=1)
    return [one for one in run.of_flow(0) if one.mode]


@dataclass(frozen=True)
class Trial:
    """The samples of one base rate after the start: a decision made of several intervals."""

    samples: list[SimSample]

    @property
    def rate(self) -> int:
        """The base rate in bytes a second."""
        return self.samples[0].bw

    @property
    def modes(self) -> list[int]:
        """The modes in the order in which they were, each once where it stays."""
        modes = [one.mode for one in self.samples]
        return modes[:1] + [b for a, b in pairwise(modes) if a != b]


@cache
def trials() -> list[Trial]:
    """All decisions but the last, which may not be complete."""
    after = [one for one in record() if one.mode != STARTING]
    cuts = [i for i, (a, b) in enumerate(pairwise(after), 1) if a.bw != b.bw]
    return [Trial(after[begin:end]) for begin, end in pairwise([0, *cuts])]


@pytest.mark.parametrize("rtt_ms", [5, 40, 100])
@pytest.mark.parametrize("mbps", [10, 50, 200])
def test_one_flow_has_nine_tenths_of_the_link(mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), ["vivace"], seconds=45, warmup_s=15)
    assert run.utilisation > 0.9
    assert run.mean_queue_bytes < 0.25 * run_buffer(mbps, rtt_ms)


def run_buffer(mbps: float, rtt_ms: float) -> float:
    """The buffer's bytes, but twenty packets at least."""
    return max(2 * SimPath(mbps, rtt_ms).bdp_bytes, 20 * 1514)


@pytest.mark.slow
def test_the_start_doubles_until_utility_falls_and_goes_back() -> None:
    rates = list(dict.fromkeys(one.bw for one in record() if one.mode == STARTING))
    assert all(later == 2 * earlier for earlier, later in pairwise(rates))
    assert rates[-1] > PATH.mbps * 1e6 / 8
    assert trials()[0].rate == rates[-2]


@pytest.mark.slow
def test_it_probes_five_percent_to_either_side() -> None:
    for one in record():
        factor = {STARTING: 1, WAITING: 1, HIGH: 1 + EPSILON, LOW: 1 - EPSILON}[one.mode]
        assert one.pacing_bps / 8 == pytest.approx(factor * one.bw, rel=1e-6)


def test_a_decision_is_two_pairs_in_either_order_and_a_wait() -> None:
    """Two intervals of one rate that follow each other are seen as one mode."""
    orders = {
        (HIGH, LOW, HIGH, LOW, WAITING),
        (LOW, HIGH, LOW, HIGH, WAITING),
        (HIGH, LOW, HIGH, WAITING),  # high, low, low, high
        (LOW, HIGH, LOW, WAITING),
    }
    moved = [trial for trial in trials() if trial.samples[-1].mode == WAITING]
    single = [tuple(trial.modes) for trial in moved if trial.modes.count(WAITING) == 1]
    assert set(single) == orders


def test_an_interval_is_a_round_trip() -> None:
    for trial in trials()[5:]:
        if trial.modes.count(WAITING) != 1 or len(trial.modes) != 5:
            continue
        for mode in (HIGH, LOW):
            seconds = sum(one.mode == mode for one in trial.samples) * 1e-3 / 2
            assert seconds == pytest.approx(RTT_S, rel=0.2)


def test_steps_are_within_the_boundary_and_not_too_small() -> None:
    """Section 4.2: 5 % at first, 10 % more for each step in the same direction that met it."""
    steps_met = 0
    direction = 0
    for before, after in pairwise(trials()):
        step = after.rate - before.rate
        sign = 1 if step > 0 else -1
        steps_met = steps_met if sign == direction else 0
        direction = sign
        most = before.rate * (0.05 + 0.1 * steps_met)
        assert abs(step) <= max(most, LEAST_STEP) + 1
        assert abs(step) >= LEAST_STEP
        steps_met += abs(step) >= 0.99 * most


def test_steps_grow_while_the_direction_stays() -> None:
    """Section 4.2: the confidence amplifier."""
    climbs = [b.rate - a.rate for a, b in pairwise(trials())]
    in_a_row = [(a, b, c) for a, b, c in zip(climbs, climbs[1:], climbs[2:], strict=False)]
    rising = [three for three in in_a_row if min(three) > 0]
    assert any(a < b < c for a, b, c in rising)


@pytest.mark.parametrize("path", [PATH, SimPath(10, 40), SimPath(50, 5)], ids=str)
def test_two_flows_share(path: SimPath) -> None:
    rates = [flow.mbps for flow in simulate(path, ["vivace"] * 2, seconds=120, warmup_s=60).flows]
    assert max(rates) < 1.2 * min(rates)


def test_the_first_flow_against_nine_of_cubic_gains_much_more_than_its_share() -> None:
    """Mishra 2022, figure 7: 10 flows at 100 Mbit/s, 40 ms, 2 BDP; the gain falls with more."""
    first, half = (
        simulate(SimPath(100, 40), ["vivace"] * n + ["cubic"] * (10 - n), seconds=60, warmup_s=20)
        for n in (1, 5)
    )
    assert first.mean_mbps("vivace") > 1.5 * 10
    assert 10 < half.mean_mbps("vivace") < first.mean_mbps("vivace")


@pytest.mark.parametrize("loss_ppm, least", [(10_000, 0.88), (30_000, 0.6)])
def test_random_loss_is_borne(loss_ppm: int, least: float) -> None:
    """Section 3: the weight of losses is such that a rate still gains at 5 % of loss."""
    run = simulate(SimPath(50, 40, loss_ppm=loss_ppm), ["vivace"], seconds=60, warmup_s=20)
    assert run.utilisation > least
