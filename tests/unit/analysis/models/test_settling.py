"""When a mix has settled: on made-up courses that are known, and by the fluid model."""

import math

import numpy as np
import pytest
from nashbed.analysis.models import Competition, FlowKind
from nashbed.analysis.models.fluid import Course
from nashbed.analysis.models.settling import (
    LEAST_CYCLES,
    STEP,
    WITHIN,
    by_who_starts_first,
    settling_of,
)

CYCLE_S = 10.24
RATE = 1e7


def competition(buffer_bdp: float = 10, from_s: float = 20, to_s: float = 120) -> Competition:
    kinds = (FlowKind("cubic", 5, 0.04), FlowKind("bbr", 5, 0.04))
    return Competition(RATE, buffer_bdp * RATE * 0.04 / 8, kinds, to_s, from_s)


def made_up(share, noise: float = 0.0):
    """Courses in which BBR has the part `share(t, first)` of the link; `first` starts first."""

    def course(asked: Competition, seed: int) -> Course:
        starts = {kind.cca: kind.start_s for kind in asked.kinds}
        first = min(starts, key=lambda cca: starts[cca])
        t = np.arange(int(asked.duration_s)) + 0.5
        rng = np.random.default_rng((seed, int(starts["bbr"]), int(starts["cubic"])))
        bbr = share(t, first) * (1 + noise * rng.normal(size=len(t)))
        return Course(1.0, RATE / 8 * np.column_stack([1 - bbr, bbr]), np.zeros(len(t)))

    return course


def approach(tau_s: float, gap: float = 0.2):
    """BBR from below if CUBIC starts first, and from above if BBR does."""

    def share(t, first):
        return 0.4 + (gap if first == "bbr" else -gap) * np.exp(-t / tau_s)

    return share


def bias(length_s: float, tau_s: float, gap: float = 0.2) -> float:
    """By how much BBR's mean over the second half is off, as a part of 0.4."""
    integral = tau_s * (math.exp(-length_s / 2 / tau_s) - math.exp(-length_s / tau_s))
    return gap * integral / (length_s / 2) / 0.4


def test_constant_shares_are_settled_from_the_shortest_length_on() -> None:
    found = settling_of(competition(), made_up(lambda t, first: 0.3 + 0 * t))
    assert found.after_s < STEP**2 * LEAST_CYCLES * CYCLE_S
    assert found.settled_share("bbr") == pytest.approx(0.3)
    assert found.planned_shares("bbr") == pytest.approx([0.3] * 3)
    assert not found.transient
    assert found.simulated_s == 225


@pytest.mark.parametrize("tau_s", [40.0, 100.0, 160.0])
def test_the_length_at_which_opposite_starts_agree(tau_s: float) -> None:
    found = settling_of(competition(), made_up(approach(tau_s)))
    assert found.settled_share("bbr") == pytest.approx(0.4, abs=0.01)
    # A step further the second half is within the bound, a step and a cycle before it is not. (The
    # courses end before infinity: what they are compared with is off by less than half of a bound.)
    assert bias(found.after_s + CYCLE_S, tau_s) <= 1.5 * WITHIN
    assert bias(found.after_s / STEP - CYCLE_S, tau_s) > 0.5 * WITHIN
    assert (found.low_s, found.high_s) == (found.after_s, found.after_s)


def test_longer_courses_only_where_they_are_needed() -> None:
    lengths = [settling_of(competition(), made_up(approach(t))).simulated_s for t in (10, 60, 160)]
    assert lengths == sorted(set(lengths))


def test_a_window_that_begins_early_is_a_transient() -> None:
    course = made_up(approach(40.0))
    assert settling_of(competition(from_s=20, to_s=120), course).transient
    assert not settling_of(competition(from_s=150, to_s=300), course).transient
    planned = settling_of(competition(from_s=20, to_s=120), course).planned_shares("bbr")
    _, cubic_first, bbr_first = planned
    assert cubic_first < 0.39
    assert bbr_first > 0.41


def test_noise_is_no_transient() -> None:
    found = settling_of(competition(), made_up(lambda t, first: 0.3 + 0 * t, noise=0.3))
    assert found.after_s < 120
    assert not found.transient
    assert found.settled_share("bbr") == pytest.approx(0.3, abs=0.03)


def test_starts_that_never_agree_are_never_settled() -> None:
    """Each course by itself is as steady as can be."""
    course = made_up(lambda t, first: (0.5 if first == "bbr" else 0.3) + 0 * t)
    found = settling_of(competition(), course)
    assert found.after_s == math.inf
    assert found.transient
    assert found.simulated_s == 1800


def test_a_drift_that_goes_on_is_never_settled() -> None:
    found = settling_of(competition(), made_up(lambda t, first: 0.1 + t / 6000))
    assert found.after_s == math.inf


def test_each_cca_starts_first_once() -> None:
    planned, cubic, bbr = by_who_starts_first(competition())
    assert planned == competition()
    assert [kind.start_s for kind in cubic.kinds] == [0.0, 5.0]
    assert [kind.start_s for kind in bbr.kinds] == [5.0, 0.0]


@pytest.mark.long
def test_the_fluid_model_needs_longer_in_a_deep_buffer() -> None:
    """Between 50 flows at 50 Mbit/s, 40 ms: 40 s at 0.5 BDP, about 600 s at 50 BDP."""
    kinds = (FlowKind("cubic", 40, 0.04), FlowKind("bbr", 10, 0.04))
    shallow, deep = (
        settling_of(Competition(50e6, bdp * 250_000, kinds, 120, 20)) for bdp in (0.5, 50)
    )
    assert shallow.after_s <= 120
    assert not shallow.transient
    assert 200 <= deep.after_s <= 1200
    assert deep.transient
    assert deep.planned_shares("bbr").max() < deep.settled_share("bbr") - 0.05
