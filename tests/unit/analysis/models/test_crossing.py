"""The predicted crossing, against asking for every mix."""

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.models import MODELS, Competition, Model, Prediction, cubic_against
from nashbed.analysis.models.band import equilibrium_band
from nashbed.analysis.models.crossing import PredictedCrossing, predicted_crossing

BDP = 500_000  # 100 Mbit/s x 40 ms / 8
SLOW = "fluid"
"""Answers in milliseconds rather than microseconds: it is asked for every mix of fewer settings."""
FAST = [name for name in MODELS if name != SLOW]


def asked(bdp: float, flows: int) -> Competition:
    return cubic_against(100e6, 0.04, bdp * BDP, flows, 0)


def made_up(share: Callable[[float], float], spread: float = 0.0) -> Model:
    """A model whose share depends on the part of the flows that runs BBR."""

    def predict(question: Competition) -> Prediction:
        value = share(question.second.flows / question.flows)
        ends = (value - spread, value + spread) if spread else None
        return Prediction("made up", question, value, share_range=ends)

    return Model("made up", "Made up", "", "", predict)


def every_crossing(model: Model, question: Competition) -> list[float]:
    """All crossings by asking for every mix, corners counted as in `crossing`."""
    n = question.flows
    shares = [model.predict(question.with_second(k)).share for k in range(1, n)]
    if None in shares:
        return []
    excess = {k: s - k / n for k, s in enumerate(shares, 1)}
    found = [
        a + excess[a] / (excess[a] - excess[b])
        for a, b in pairwise(excess)
        if excess[a] > 0 >= excess[b]
    ]
    first = [1.0 if excess[1] == 0 else 0.0] if excess[1] <= 0 else []
    return [*first, *found, *([float(n)] if excess[n - 1] > 0 else [])]


@pytest.mark.parametrize("name", FAST)
@settings(max_examples=15, deadline=None)
@given(bdp=st.floats(0.5, 60), flows=st.integers(2, 60), start=st.none() | st.floats(0, 60))
def test_every_model_against_every_mix(
    name: str, bdp: float, flows: int, start: float | None
) -> None:
    model, question = MODELS[name], asked(bdp, flows)
    expected = every_crossing(model, question)
    found = predicted_crossing(model, question, start)
    if expected:
        assert any(found.second == pytest.approx(e, abs=1e-9) for e in expected)
        assert found.questions <= (9 if start is None else 14)  # a start may be far away
        assert not found.refusals
    else:
        assert found.second is found.first is found.share is found.low is None
        assert found.refusals


@pytest.mark.parametrize("bdp", [3, pytest.param(15, marks=pytest.mark.long)])
def test_the_slow_model_against_every_mix(bdp: float) -> None:
    if SLOW not in MODELS:
        pytest.skip("the fluid model is not there")
    question = asked(bdp, 20)
    expected = every_crossing(MODELS[SLOW], question)
    found = predicted_crossing(MODELS[SLOW], question)
    assert any(found.second == pytest.approx(e, abs=1e-9) for e in expected)
    assert found.low <= found.second <= found.high


@settings(max_examples=60, deadline=None)
@given(
    fair=st.floats(0.001, 0.999),
    slope=st.floats(-5, 0.99),
    bend=st.floats(0.2, 5),
    flows=st.integers(2, 400),
    start=st.none() | st.floats(-10, 500),
)
def test_made_up_models_with_one_crossing(
    fair: float, slope: float, bend: float, flows: int, start: float | None
) -> None:
    # share - b falls everywhere: its one zero is b = fair, whatever slope and bend are.
    def share(b: float) -> float:
        return b + (1 - slope) * (fair**bend - b**bend)

    (expected,) = every_crossing(made_up(share), asked(3, flows))
    found = predicted_crossing(made_up(share), asked(3, flows), start)
    assert found.second == pytest.approx(expected, abs=1e-9)
    if 1 < found.second < flows - 1:
        assert abs(found.second - fair * flows) <= 1
    assert found.low == found.high == found.second
    assert found.questions <= 18


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=40), st.none() | st.floats(0, 40))
def test_any_course_gives_one_of_its_crossings(shares: list[float], start: float | None) -> None:
    n = len(shares) + 1
    model = made_up(lambda b: shares[round(b * n) - 1])
    found = predicted_crossing(model, asked(3, n), start)
    assert any(
        found.second == pytest.approx(e, abs=1e-9) for e in every_crossing(model, asked(3, n))
    )


def test_few_questions_for_many_flows() -> None:
    for flows in (50, 200, 800):
        for fair in (0.05, 0.2, 0.5, 0.8, 0.95):
            model = made_up(lambda b, fair=fair: fair + 0.3 * (b - fair))
            assert predicted_crossing(model, asked(3, flows)).questions <= 8
            assert predicted_crossing(model, asked(3, flows), fair * flows).questions <= 4


def test_it_agrees_with_the_published_band() -> None:
    for bdp in (2, 3, 5, 10, 30):
        band = equilibrium_band(asked(bdp, 50))
        low = predicted_crossing(MODELS["mishra-synchronised"], asked(bdp, 50))
        high = predicted_crossing(MODELS["mishra-desynchronised"], asked(bdp, 50))
        assert low.second == pytest.approx(band.synchronised_bbr)
        # Straight between two mixes where the band solves for a fraction.
        assert high.second == pytest.approx(band.desynchronised_bbr, abs=0.01)


def test_the_range_by_hand() -> None:
    # 100 flows, the share is 0.6 - 0.5 (b - 0.6): it is fair at b = 0.6. The ends of the range
    # are fair where 0.9 + 0.06 = 1.5 b and 0.9 - 0.06 = 1.5 b: at 64 and 56 flows. What lies
    # beyond the mixes that were asked is reckoned as if the share stayed: within 0.06 x 100.
    found = predicted_crossing(made_up(lambda b: 0.9 - 0.5 * b, 0.06), asked(3, 100))
    assert found.second == pytest.approx(60)
    assert 54 <= found.low <= 56.001
    assert 63.999 <= found.high <= 66
    assert (found.first, found.share) == pytest.approx((40, 0.6))


def test_a_range_at_a_corner() -> None:
    # BBR is behind from its first flow on, but with the largest share ahead of ten.
    found = predicted_crossing(made_up(lambda _: 0.005, 0.1), asked(3, 100))
    assert (found.second, found.low) == (0, 0)
    assert found.high == pytest.approx(10.5)
    found = predicted_crossing(made_up(lambda _: 0.999, 0.1), asked(3, 100))
    assert (found.second, found.high) == (100, 100)
    assert found.low == pytest.approx(89.9)


def test_refusals() -> None:
    alone = predicted_crossing(MODELS["ware"], asked(3, 1))
    assert alone == PredictedCrossing(1, None, refusals=("one flow competes with nobody",))
    k = predicted_crossing(MODELS["mishra-given-k"], asked(3, 10))
    assert (k.second, k.questions) == (None, 1)
    assert k.answer("k").model_dump() == {
        "model": "k",
        "flows": 10,
        "bbr": None,
        "cubic": None,
        "bbr_range": None,
        "questions": 1,
        "reasons": k.refusals,
    }


def test_the_flags_of_the_mixes_beside_it() -> None:
    question = asked(1, 50)
    found = predicted_crossing(MODELS["ware"], question)
    beside = [
        MODELS["ware"].predict(question.with_second(int(found.second) + more)).flags
        for more in (0, 1)
    ]
    assert found.flags == tuple(dict.fromkeys(f for flags in beside for f in flags)) != ()


@pytest.mark.slow
def test_planning_needs_no_large_library() -> None:
    code = (
        "import sys, nashbed.analysis.models.crossing;"
        "print(sorted({'scipy', 'polars', 'matplotlib'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.strip() == "[]"
