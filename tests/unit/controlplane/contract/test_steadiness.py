"""Steady shares are told from drifting ones, each relative to itself."""

import numpy as np
import pytest
from nashbed.controlplane.contract.records import GOODPUT
from nashbed.controlplane.contract.steadiness import (
    SteadinessRules,
    Watch,
    cycles_of_goodput,
    judge_steadiness,
    starts_agree,
)
from nashbed.controlplane.contract.trial import Steadiness

CUBIC, BBR = (0, "cubic"), (0, "bbr")
RULES = SteadinessRules(within=0.03, cycle_ns=10)


def drifting(amplitude: float, tau: float, count: int, noise: float = 0.0) -> list[float]:
    """A course that ends at 1,000 bytes a cycle."""
    times = np.arange(count)
    chance = np.random.default_rng(1).normal(0, noise, count)
    return list(1000 + amplitude * np.exp(-times / tau) + chance)


def test_constant_shares_are_settled_after_eight_cycles() -> None:
    assert not judge_steadiness({CUBIC: [5] * 7, BBR: [1] * 7}, RULES).settled
    found = judge_steadiness({CUBIC: [5] * 8, BBR: [1] * 8}, RULES)
    assert found.settled
    assert found.window_ns == (40, 80)
    assert [(d.strategy, d.drift, d.remaining) for d in found.drifts] == [
        ("cubic", 0.0, 0.0), ("bbr", 0.0, 0.0),
    ]  # fmt: skip
    assert [d.mean_bytes for d in found.drifts] == [5, 1]


def test_a_share_that_doubles_is_not_settled_however_small_it_is() -> None:
    # 1 % of the link that becomes 2 %: nothing beside the rate, everything to BBR.
    bbr = [100] * 12 + [200] * 4
    cubic = [10_000 - share for share in bbr]
    found = judge_steadiness({CUBIC: cubic, BBR: bbr}, RULES)
    assert [d.steady for d in found.drifts] == [True, False]
    assert not found.settled
    assert found.drifts[1].drift == pytest.approx(100 / 150)


def test_what_remains_of_an_exponential_is_what_its_mean_is_off_by() -> None:
    """Twenty cycles, the mean over the last ten; the time constant is one of those fitted."""
    tau = 10 ** (6 / 11)
    values = drifting(400, tau, 20)
    (drift,) = judge_steadiness({BBR: values}, RULES).drifts
    mean = np.mean(values[10:])
    assert drift.mean_bytes == pytest.approx(mean)
    assert drift.remaining == pytest.approx((mean - 1000) / mean, rel=1e-6)


def test_a_slow_drift_is_not_steady_though_its_halves_are_alike() -> None:
    # A fifth of 1,000 bytes is left to go, at 1.6 % from half to half.
    values = drifting(400, 58, 60)
    (drift,) = judge_steadiness({BBR: values[:15]}, RULES).drifts
    assert abs(drift.drift) <= 0.03
    assert drift.remaining is not None
    assert drift.remaining > 0.06
    assert not drift.steady


def test_the_beginning_is_not_looked_at() -> None:
    assert judge_steadiness({BBR: [900] * 4 + [100] * 12}, RULES).settled


def test_noise_makes_the_trial_longer_and_does_not_forbid_its_end() -> None:
    steady = [
        judge_steadiness({BBR: drifting(0, 1, count, noise=60)}, RULES).settled
        for count in range(8, 176)
    ]
    assert sum(steady[:20]) < 10
    assert all(steady[-20:])


def test_cycles_that_alternate_are_less_noise_than_they_seem() -> None:
    wave = [1000 + 120 * (-1) ** cycle for cycle in range(60)]
    chance = list(np.random.default_rng(1).permutation(wave))
    found = [judge_steadiness({BBR: values}, RULES).drifts[0] for values in (wave, chance)]
    assert found[0].remaining is not None
    assert found[1].remaining is not None
    assert found[0].remaining < found[1].remaining / 2
    assert [drift.steady for drift in found] == [True, False]


def test_a_bound_is_at_most_twice_as_large_for_noise() -> None:
    assert RULES.bound(0.0) == RULES.bound(0.015) == 0.03
    assert RULES.bound(0.02) == 0.04
    assert RULES.bound(1.0) == 0.06


def test_a_starved_strategy_is_steady() -> None:
    assert judge_steadiness({BBR: [0] * 8}, RULES).settled
    assert not judge_steadiness({BBR: [0] * 7}, RULES).settled


def ended(cubic: float, bbr: float, noise: float = 0.0) -> Steadiness:
    """A trial whose means are these."""
    wave = noise * np.array([1, -1] * 8)
    return judge_steadiness({CUBIC: cubic + wave, BBR: bbr - wave}, RULES)


def test_trials_from_opposite_starts_must_agree() -> None:
    one = ended(700, 300)
    assert starts_agree([(0, one), (1, ended(690, 310))], 0.03)
    # 18 bytes are 5.8 % of BBR's 309 from end to end, 2.9 % from the middle.
    assert starts_agree([(0, one), (1, ended(682, 318))], 0.03)
    assert not starts_agree([(0, one), (1, ended(680, 320))], 0.03)
    assert starts_agree([(0, one), (2, ended(700, 300)), (3, ended(690, 310))], 0.03)


def test_a_single_start_agrees_with_none() -> None:
    one = ended(700, 300)
    assert not starts_agree([(0, one)], 0.03)
    assert not starts_agree([(0, one), (2, one)], 0.03)
    assert not starts_agree([], 0.03)


def test_noise_allows_starts_twice_the_difference() -> None:
    quiet = [(0, ended(700, 300)), (1, ended(675, 325))]
    loud = [(0, ended(700, 300, 60)), (1, ended(675, 325, 60))]
    assert not starts_agree(quiet, 0.03)
    assert starts_agree(loud, 0.03)
    assert not starts_agree([loud[0], (1, ended(650, 350, 60))], 0.03)


def test_starved_from_both_starts_agrees() -> None:
    assert starts_agree([(0, ended(700, 0)), (1, ended(700, 0))], 0.03)


def test_goodput_is_summed_over_whole_cycles() -> None:
    # Intervals of 5 ns end at 5, 10, ...; the cycle of 10 ns that the end cuts does not count.
    goodput = np.zeros(10, GOODPUT)
    goodput["t_ns"] = np.repeat(np.arange(5, 30, 5), 2)
    goodput["flow"] = np.tile([0, 1], 5)
    goodput["bytes"] = np.arange(10)
    found = cycles_of_goodput(goodput, [CUBIC, BBR], cycle_ns=10, end_ns=25)
    assert found == {CUBIC: [0 + 2, 4 + 6], BBR: [1 + 3, 5 + 7]}


def test_a_trial_ends_when_it_is_long_enough_and_steady_three_times_in_a_row() -> None:
    watch = Watch(RULES)
    held = [watch.take({CUBIC: 5, BBR: 1}).settled for _ in range(15)]
    assert held == [False] * 14 + [True]
    assert watch.made == 15
    assert not watch.take({CUBIC: 5, BBR: 4}).settled
    again = [watch.take({CUBIC: 5, BBR: 1}).settled for _ in range(60)]
    first = again.index(True)
    assert first >= 2
    assert all(again[first:])


@pytest.mark.slow
def test_slow_drifts_do_not_end_a_trial() -> None:
    """Twenty points that go by exp(-t/600 s), cycles of 10.24 s, noise of a point."""
    runs = 20
    for seed in range(runs):
        watch, rng = Watch(RULES), np.random.default_rng(seed)
        for cycle in range(60):
            share = 40 + 20 * np.exp(-(cycle + 0.5) * 10.24 / 600) + rng.normal(0, 1)
            assert not watch.take({CUBIC: 100 - share, BBR: share}).settled, seed
