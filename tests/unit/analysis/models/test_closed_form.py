"""The closed form: by hand, its exact properties, and its errors."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import isfinite

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.models import MODELS, Competition, cubic_against
from nashbed.analysis.models.accuracy import MeasuredMix
from nashbed.analysis.models.closed_form import SharedQueue, stretches
from nashbed.analysis.models.measured import measured_mixes
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES as MIXES

predict = MODELS["closed-form"].predict

EXPERIMENT_1 = {
    1: (35.6, 6.7), 2: (24.8, 5.7), 3: (19.7, 5.1), 4: (15.8, 5.3), 5: (13.5, 5.4),
    6: (12.2, 5.5), 7: (10.4, 7.5), 8: (8.8, 12.4), 9: (7.9, 23.5),
}  # fmt: skip
"""Srivastava 2023, experiment 1 (100 Mbit/s, 40 ms, 2 BDP): BBR flows -> Mbit/s of a BBR, a CUBIC
flow."""


def asked(bdp: float, cubic: int = 5, bbr: int = 5, **changes: float) -> Competition:
    return replace(cubic_against(100e6, 0.04, bdp * 500_000, cubic, bbr), **changes)


def path(bdp: float, cubic: int = 5, bbr: int = 5) -> SharedQueue:
    return SharedQueue(pipe=500_000 / 1514, buffer=bdp, rtt_s=0.04, cubic=cubic, bbr=bbr)


def test_two_stretches_by_hand() -> None:
    # 100 Mbit/s, 40 ms, 2 BDP, 5 and 5 flows: P = 330.251, Z = 2.94, extra = 11.3 x 5/P = 0.171082.
    # r = 1: the limit is 0.171082/(2.94 - 2) = 0.182002. From 0.5, 10.24 s are 87.0748 rounds:
    # (1 - 2/2.94) 87.0748/17.6 = 1.581829 e-foldings, e^-t = 0.205598. It ends at 0.182002
    # + 0.317998 x 0.205598 = 0.247382, its mean is 0.182002 + 0.317998 x 0.794402/1.581829.
    first, second = stretches(path(2), 20)
    assert (first.start_s, first.end_s) == (0, pytest.approx(10.24))
    assert (first.rtt_plus, first.probing) == (1, 0)
    assert first.share == pytest.approx(0.341703, abs=2e-6)
    # W = 0.752618 x 2.94 x 66.0502 = 146.147, K = (0.75 W)^(1/3) = 4.78576 s, in an RTT of
    # 117.6 ms it grew 0.3 W/K x 0.1176 = 1.07738. phi = 1 - exp(-0.42 x 1.07738) = 0.363960,
    # mu = 0.890812/0.972703 = 0.915811; r = mu 0.752618 x 2.94 + 20/P = 2.026400 + 0.060560.
    assert second.rtt_plus == pytest.approx(2.08696, abs=1e-5)
    # ProbeRTT costs 0.2 + 3.5 x 0.0834785 = 0.492175 of 10.2834785 s.
    assert second.probing == pytest.approx(0.492175 / 10.2834785, abs=1e-6)
    # 2 r > Z: up to 1 - 1.54 x 5/(3 P) = 0.992228. 9.76 s are 82.9932 rounds, 2.593537 e-foldings,
    # of which ln(0.992228/0.247382) = 1.389030 are needed: the mean is (0.992228 - 0.247382
    # + 0.992228 x 1.204507)/2.593537 = 0.748010.
    assert second.share == pytest.approx(0.748010, abs=1e-5)


def test_the_answer_is_the_mean_of_the_stretches_less_the_probing() -> None:
    question = asked(2, duration_s=20, measured_from_s=4)
    first, second = stretches(path(2), 20)
    weights = (10.24 - 4, 20 - 10.24)
    shares = (first.share, second.share * (1 - second.probing))
    found = predict(question)
    assert found.share == pytest.approx(np.average(shares, weights=weights))
    held = np.average((first.share, second.share), weights=weights)
    assert found.inner["in_flight_share"] == pytest.approx(held)
    assert found.inner["probe_rtt_share"] == pytest.approx(1 - found.share / held)
    assert found.inner["queueing_delay_s"] == pytest.approx(0.97 * 0.08)
    assert found.second_bps + found.first_bps == pytest.approx(100e6)
    assert (found.status, found.share_range) == ("valid", None)


@st.composite
def questions(draw: st.DrawFn) -> Competition:
    rate = draw(st.floats(1e5, 4e11))
    rtt = draw(st.floats(1e-4, 2))
    bdp = draw(st.floats(0.01, 500))
    cubic, bbr = draw(st.integers(0, 2000)), draw(st.integers(1, 2000))
    duration = draw(st.floats(1, 1e6))
    since = draw(st.floats(0, 0.99)) * duration
    game = cubic_against(rate, rtt, bdp * rate * rtt / 8, cubic, bbr, duration_s=duration)
    return replace(game, measured_from_s=since)


@given(questions())
def test_a_share_always(question: Competition) -> None:
    found = predict(question)
    assert 0 <= found.share <= 1
    assert all(isfinite(value) and value >= 0 for value in found.inner.values())
    assert found.refusals == ()


@st.composite
def queues(draw: st.DrawFn) -> SharedQueue:
    return SharedQueue(
        pipe=draw(st.floats(1, 1e6)),
        buffer=draw(st.floats(0.01, 200)),
        rtt_s=draw(st.floats(1e-3, 1)),
        cubic=draw(st.integers(1, 200)),
        bbr=draw(st.integers(1, 200)),
    )


@given(queues(), st.floats(0, 1), st.floats(0, 1))
def test_rtt_plus_falls_with_the_share_and_the_limit_rises_with_it(
    queue: SharedQueue, a: float, b: float
) -> None:
    # Both together: the equation of the limit has one solution.
    low, high = sorted((a * queue.most, b * queue.most))
    more, less = queue.rtt_plus(low), queue.rtt_plus(high)
    assert less <= more * (1 + 1e-12)
    assert less >= 1
    assert queue.limit(less) <= queue.limit(more) * (1 + 1e-9)


@given(queues(), st.floats(0.001, 1), st.floats(1, 50), st.floats(0.01, 100))
def test_a_share_moves_towards_its_limit_and_not_beyond(
    queue: SharedQueue, part: float, rtt_plus: float, seconds: float
) -> None:
    start, limit = part * queue.most, queue.limit(rtt_plus)
    mean, end = queue.move(start, rtt_plus, seconds)
    for value in (mean, end):
        assert min(start, limit) - 1e-9 <= value <= max(start, limit) + 1e-9
    assert abs(end - limit) <= abs(mean - limit) + 1e-9
    # Two moves are one.
    first, middle = queue.move(start, rtt_plus, seconds / 4)
    rest, at_end = queue.move(middle, rtt_plus, 3 * seconds / 4)
    assert at_end == pytest.approx(end, abs=1e-9)
    assert (first + 3 * rest) / 4 == pytest.approx(mean, abs=1e-6)


def test_phi_is_one_flow_at_least_and_mu_the_bounds_of_the_sawtooth() -> None:
    # One flow always loses alone: mu = 0.7/0.925.
    assert path(2, cubic=1).synchrony(0.5) == 1
    assert path(2, cubic=1).least_by_mean(0.5) == pytest.approx(0.7 / 0.925)
    # Windows of a packet: Reno's slope, 3 x 0.3/1.7 packets an RTT.
    assert path(2, cubic=2000).synchrony(0.9) == pytest.approx(1 - np.exp(-0.42 * 0.9 / 1.7))


def rest(queue: SharedQueue) -> float:
    """The share of the issue's equation, s Z = 2 s r(s) + extra: what ProbeRTT would repeat."""
    low, high = 0.0, queue.most
    for _ in range(60):
        middle = (low + high) / 2
        above = queue.limit(queue.rtt_plus(middle)) < middle
        low, high = (low, middle) if above else (middle, high)
    return low


def test_in_deep_buffers_it_comes_to_rest_where_the_limit_is_met() -> None:
    for bdp in (20, 30, 50):
        queue = path(bdp, 25, 25)
        found = predict(asked(bdp, 25, 25, duration_s=640, measured_from_s=500))
        share, r = rest(queue), found.inner["rtt_plus_s"] / 0.04
        assert found.inner["in_flight_share"] == pytest.approx(share, rel=0.02)
        assert share * queue.full == pytest.approx(2 * share * r + queue.extra, rel=0.02)
        last, before = list(stretches(queue, 640))[-1:-3:-1]
        assert last.rtt_plus == pytest.approx(before.rtt_plus, rel=0.02)


def test_at_2_bdp_probe_rtt_alternate_around_a_rest_that_is_not_the_mean() -> None:
    # Our runs, 5 of 10 BBR flows: RTT+ of 40, 63, 40, 65 ms, and BBR's share 0.72; the
    # equation alone has RTT+ rest at 50 ms and the share at 0.55.
    course = list(stretches(path(2), 300))[4:-1]
    rtts = [stretch.rtt_plus for stretch in course]
    assert all((a == 1) != (b == 1) for a, b in pairwise(rtts))
    assert 1.5 < max(rtts) < 2
    found = predict(asked(2, duration_s=300))
    assert found.inner["rtt_plus_least_s"] == 0.04
    assert found.inner["rtt_plus_most_s"] == pytest.approx(0.04 * max(rtts))
    assert found.share > rest(path(2)) + 0.1


def test_half_a_bdp_leaves_cubic_its_least_windows() -> None:
    # Z = 1.485 < 2: no limit. 1 - 1.54 x 5/(1.5 P) = 0.984456 after a climb from 0.5.
    course = list(stretches(path(0.5), 60))
    assert course[-1].share == pytest.approx(0.984456, abs=1e-6)
    assert predict(asked(0.5)).share < 0.984456


def test_deep_buffers_are_slow() -> None:
    # 50 BDP, 10 of 50 flows: a round is 2 s, and a climb by half takes 26 s.
    early = predict(asked(50, 40, 10, duration_s=70, measured_from_s=20))
    late = predict(asked(50, 40, 10, duration_s=240, measured_from_s=180))
    assert early.share < 0.8 * late.share


def test_a_long_competition_goes_on_like_its_end() -> None:
    short, long = (predict(asked(2, duration_s=s, measured_from_s=100)) for s in (600, 60_000))
    assert long.share == pytest.approx(short.share, abs=0.005)
    late = predict(asked(2, duration_s=60_000, measured_from_s=50_000))
    assert late.share == pytest.approx(short.share, abs=0.005)


def test_flags() -> None:
    assert predict(asked(50)).flags == ()
    assert "not checked beyond 50 BDP" in predict(asked(51)).flags[0]
    assert predict(asked(2, 0, 5)).share == 1
    assert predict(asked(2, 5, 0)).status == "flagged"


@cache
def published() -> tuple[MeasuredMix, ...]:
    return tuple(measured_mixes(MIXES).mixes)


def median_errors() -> dict[float, float]:
    """Buffer in BDP (0: all) -> median |predicted - measured| share of the published mixes."""
    off = np.array([abs(predict(mix.question).share - mix.share) for mix in published()])
    buffers = np.array([mix.buffer_bdp for mix in published()])
    by_buffer = {float(b): float(np.median(off[buffers == b])) for b in np.unique(buffers)}
    return {0.0: float(np.median(off)), **by_buffer}


BOUNDS = {0.0: 0.042, 0.5: 0.027, 5: 0.048, 10: 0.041, 20: 0.041, 30: 0.037, 40: 0.062, 50: 0.08}
"""A little above what it has."""


@pytest.mark.slow
def test_errors_on_the_published_mixes() -> None:
    found = median_errors()
    assert found.keys() == BOUNDS.keys()
    assert {b: e for b, e in found.items() if e > BOUNDS[b]} == {}


def test_errors_at_2_bdp() -> None:
    # Published, and none of it fitted on: off by 20 points at rest, by 5 with the alternation.
    off, at_rest = [], []
    for bbr, (fast, slow) in EXPERIMENT_1.items():
        cubic = 10 - bbr
        share = bbr * fast / (bbr * fast + cubic * slow)
        off.append(abs(predict(asked(2, cubic, bbr, duration_s=200)).share - share))
        at_rest.append(abs(rest(path(2, cubic, bbr)) - share))
    assert np.median(off) < 0.05
    assert np.median(off[1:]) < 0.05
    assert max(off[1:]) < 0.12
    assert np.median(at_rest) > 0.12
