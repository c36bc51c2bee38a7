"""Steady shares are told from drifting ones, each relative to itself."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.controlplane.contract.records import GOODPUT
from nashbed.controlplane.contract.steadiness import (
    SteadinessRules,
    Watch,
    cycles_of_goodput,
    judge_steadiness,
)

CUBIC, BBR = (0, "cubic"), (0, "bbr")
RULES = SteadinessRules(within=0.03, cycle_ns=10)


def test_constant_shares_are_settled_after_eight_cycles() -> None:
    assert not judge_steadiness({CUBIC: [5] * 7, BBR: [1] * 7}, RULES).settled
    found = judge_steadiness({CUBIC: [5] * 8, BBR: [1] * 8}, RULES)
    assert found.settled
    assert found.window_ns == (40, 80)
    assert [(d.strategy, d.drift) for d in found.drifts] == [("cubic", 0.0), ("bbr", 0.0)]


def test_a_share_that_doubles_is_not_settled_however_small_it_is() -> None:
    # 1 % of the link that becomes 2 %: nothing beside the rate, everything to BBR.
    bbr = [100] * 12 + [200] * 4
    cubic = [10_000 - share for share in bbr]
    found = judge_steadiness({CUBIC: cubic, BBR: bbr}, RULES)
    assert [d.steady for d in found.drifts] == [True, False]
    assert not found.settled
    assert found.drifts[1].drift == pytest.approx(100 / 150)


def test_only_the_second_half_is_looked_at() -> None:
    assert judge_steadiness({BBR: [900] * 8 + [100] * 8}, RULES).settled


def test_noise_is_allowed_up_to_twice_the_bound() -> None:
    noisy = [80, 120, 80, 120, 85, 125, 83, 125]
    (drift,) = judge_steadiness({BBR: [0] * 8 + noisy}, RULES).drifts
    assert 0.03 < drift.drift < 0.06 < drift.error * 2
    assert drift.steady
    far = [80, 120, 80, 120, 90, 130, 88, 130]
    (drift,) = judge_steadiness({BBR: [0] * 8 + far}, RULES).drifts
    assert drift.drift > 0.06
    assert not drift.steady


def test_a_starved_strategy_is_steady() -> None:
    assert judge_steadiness({BBR: [0] * 8}, RULES).settled


def test_goodput_is_summed_over_whole_cycles() -> None:
    # Intervals of 5 ns end at 5, 10, ...; the cycle of 10 ns that the end cuts does not count.
    goodput = np.zeros(10, GOODPUT)
    goodput["t_ns"] = np.repeat(np.arange(5, 30, 5), 2)
    goodput["flow"] = np.tile([0, 1], 5)
    goodput["bytes"] = np.arange(10)
    found = cycles_of_goodput(goodput, [CUBIC, BBR], cycle_ns=10, end_ns=25)
    assert found == {CUBIC: [0 + 2, 4 + 6], BBR: [1 + 3, 5 + 7]}


def test_shares_must_have_been_steady_for_half_of_the_trial() -> None:
    watch = Watch(RULES)
    held = [watch.take({CUBIC: 5, BBR: 1}).settled for _ in range(15)]
    # Up to seven cycles nothing can be told, so that these are the first half of at least fifteen.
    assert held == [False] * 14 + [True]
    assert watch.made == 15
    # One cycle of a rise that lasts is seen at once, and is half of the trial ago only later.
    assert not watch.take({CUBIC: 5, BBR: 2}).settled
