"""Statistics by hand: straight lines, Welch's test, equivalence, Holm's adjustment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.metrics.statistics import (
    EquivalenceTest,
    equivalence_test,
    holm,
    judged,
    least_squares,
    welch,
)
from scipy import stats


def test_by_hand() -> None:
    # y = 1 + 2 x exactly; then a flat line, which explains nothing.
    assert least_squares(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0])) == (2, 1, 1)
    assert least_squares(np.array([0.0, 1.0, 2.0]), np.array([4.0, 4.0, 4.0])) == (0, 4, 0)


@given(st.integers(0, 10**6), st.integers(3, 50))
def test_against_scipy(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(5, 2, n), rng.normal(0, 1, n)
    line, expected = least_squares(x, y), stats.linregress(x, y)
    assert line.slope == pytest.approx(expected.slope, rel=1e-6, abs=1e-9)
    assert line.intercept == pytest.approx(expected.intercept, rel=1e-6, abs=1e-9)
    assert line.r2 == pytest.approx(expected.rvalue**2, rel=1e-6, abs=1e-9)


def test_welch() -> None:
    # (1, 2, 3) and (4, 6): means 2 and 5, s^2/n = 1/3 and 1; s = sqrt(4/3) = 1.1547;
    # v = (4/3)^2 / ((1/3)^2/2 + 1/1) = 1.684; t = 2.598; by tables of Student's t: p = 0.145.
    found = welch([1, 2, 3, float("nan")], [4, 6])
    assert found is not None
    assert found.difference == 3
    assert found.p == pytest.approx(0.145, abs=0.003)
    assert found.half_width > 3  # so the interval holds 0, as p > 0.05 says
    assert welch([1], [1, 2]) is None
    same, other = welch([2, 2], [2, 2]), welch([2, 2], [3, 3])
    assert same is not None
    assert other is not None
    # Nothing varies, so nothing says what chance does: no p, whatever the difference.
    assert (same.difference, same.p, same.half_width) == (0.0, None, None)
    assert (other.difference, other.p, other.half_width) == (1.0, None, None)
    # With spread on one side there is a test: (2, 2) against (3, 4), v = 1, t = 3, p = 0.205.
    one = welch([2, 2], [3, 4])
    assert one is not None
    assert one.p == pytest.approx(0.205, abs=0.001)


def test_holm() -> None:
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04 (never falling).
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def sampled(first: list[float], second: list[float], margin: float) -> EquivalenceTest:
    found = equivalence_test(first, second, margin)
    assert found is not None
    return found


def test_equivalence_by_hand() -> None:
    # (1, 2, 3) and (2, 3, 4): d = 1, s = sqrt(1/3 + 1/3) = 0.8165, v = 4. With a margin of 3:
    # t = (1 - 3)/0.8165 = -2.449, by tables of Student's t: p = 0.035; the other test's
    # (1 + 3)/0.8165 is farther. 90 %: t(4) = 2.132, so 1 +- 1.741 lies within +-3.
    inside = sampled([1, 2, 3], [2, 3, 4], 3)
    assert (inside.difference, inside.margin) == (1, 3)
    assert inside.p_equivalent == pytest.approx(0.0352, abs=2e-4)
    assert inside.ci90 == pytest.approx(1.741, abs=1e-3)
    assert inside.ci95 == pytest.approx(2.267, abs=1e-3)
    # Ten farther, t = (11 - 3)/0.8165 = 9.798 beyond the margin, p = 2 x 0.000304.
    beyond = sampled([1, 2, 3], [12, 13, 14], 3)
    assert beyond.p_different == pytest.approx(0.00061, abs=1e-5)
    # s^2 = 1 on either side. Alone, (1.645 + 1.282) sqrt(2)/3 = 1.380, squared 1.9: two of each;
    # with a margin of 1 (2.927 sqrt(2))^2 = 17.1: 18, and of ten tests (2.576 + 1.282)^2 2 = 29.8.
    narrow = sampled([1, 2, 3], [2, 3, 4], 1)
    assert narrow.spread == pytest.approx(2**0.5)
    assert [judged([each])[0].needed for each in (inside, narrow)] == [2, 18]
    assert judged([narrow] * 10)[0].needed == 30
    # At the margin itself, nothing is told.
    edge = sampled([1, 2, 3], [4, 5, 6], 3)
    assert (edge.p_equivalent, edge.p_different) == (0.5, 1)
    assert [each.verdict for each in judged([inside, beyond, edge])] == [
        "too few to tell", "different", "too few to tell",
    ]  # fmt: skip
    # Alone, 0.035 is enough; of three, Holm asks for 0.05/3.
    assert judged([inside])[0].verdict == "equivalent"
    of_three = judged([inside, beyond, edge])[0].p_equivalent_adjusted
    assert of_three == pytest.approx(3 * 0.0352, rel=0.01)


def test_equivalence_without_enough() -> None:
    once, still = sampled([1], [1, 2], 3), sampled([2, 2], [2, 2], 3)
    for each in (once, still):
        assert (each.p_equivalent, each.p_different, each.ci90) == (None, None, None)
        assert judged([each])[0].needed is None
    assert {each.verdict for each in judged([once, still])} == {"too few to tell"}
    assert equivalence_test([], [1, 2], 3) is None
    # What cannot be tested does not count among the tests.
    enough = sampled([1, 2, 3], [2, 3, 4], 3)
    assert judged([once, enough, still])[1].verdict == "equivalent"


@pytest.mark.slow
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.floats(0.1, 4))
def test_equivalence_against_scipy(seed: int, n: int, m: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(0, 1, n), rng.normal(rng.normal(0, 2), 2, m)
    found = sampled(list(first), list(second), margin)
    below, above = (
        float(stats.ttest_ind(second, first + shift, equal_var=False, alternative=side).pvalue)
        for shift, side in ((margin, "less"), (-margin, "greater"))
    )
    assert found.p_equivalent == pytest.approx(max(below, above), rel=1e-6, abs=1e-12)
    assert found.p_different == pytest.approx(
        min(1, 2 * min(1 - below, 1 - above)), rel=1e-6, abs=1e-9
    )
    # The interval lies within the margin exactly if both one-sided tests reject.
    assert found.ci90 is not None
    within = abs(found.difference) + found.ci90 < margin
    assert within == (max(below, above) < 0.05)
    assert found.p_equivalent >= 0.05 or found.p_different >= 0.05


@pytest.mark.slow
def test_few_are_wrongly_called_equivalent_or_different() -> None:
    """Six mixes that differ by just the margin: any verdict is wrong, and 5 % of runs have one."""
    rng = np.random.default_rng(3)
    runs = 300
    wrong = {"equivalent": 0, "different": 0}
    for _ in range(runs):
        pairs = [(rng.normal(0, 1, 10), rng.normal(2, 3, 10)) for _ in range(6)]
        found = {each.verdict for each in judged([sampled(list(a), list(b), 2) for a, b in pairs])}
        for verdict in wrong:
            wrong[verdict] += verdict in found
    # 5 % and three standard errors.
    assert max(wrong.values()) / runs < 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert wrong["equivalent"] > 0
