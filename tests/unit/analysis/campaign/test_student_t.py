"""Our quantiles of Student's t against scipy's."""

from __future__ import annotations

import pytest
from nashbed.analysis.campaign.student_t import t_quantile
from scipy import stats


@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975, 0.999])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 30, 31, 1000])
def test_quantiles(probability: float, freedom: int) -> None:
    expected = stats.t.ppf(probability, freedom)
    assert t_quantile(probability, freedom) == pytest.approx(expected, rel=1e-9)
