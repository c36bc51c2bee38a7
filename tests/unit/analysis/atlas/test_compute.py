"""Maps, point by point and on several processes."""

import numpy as np
import pytest
from nashbed.analysis.atlas.compute import EquilibriumMap, MapPoint, compute_map
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.crossing import PredictedCrossing, predicted_crossing
from tests.unit.analysis.atlas.made_maps import plane, small_map

QUESTION = plane().question(1, 1)


def test_every_point_is_the_models_crossing() -> None:
    computed = small_map()
    assert len(computed.points) == 64
    for point in computed.points:
        alone = predicted_crossing(MODELS["closed-form"], point.question)
        assert point.crossing.second == pytest.approx(alone.second, abs=1e-9)
    grid = computed.grid(lambda point: point.x)
    assert grid[0] == pytest.approx(computed.plane.x.values)
    assert computed.grid(lambda point: point.y)[:, 0] == pytest.approx(computed.plane.y.values)
    assert computed.questions < 4 * 64


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing() -> None:
    told: list[tuple[int, int]] = []
    alone = compute_map(plane(), "closed-form", "ware", 1)
    assert compute_map(plane(), "closed-form", "ware", 3, lambda *row: told.append(row)) == alone
    assert sorted(told) == [(done, 5) for done in range(1, 6)]


def test_refused_points_are_nan() -> None:
    computed = small_map("mishra-synchronised")
    shares = computed.grid(lambda point: point.crossing.share)
    below = np.array(computed.plane.x.values) < 1
    assert np.isnan(shares[:, below]).all()
    assert np.isfinite(shares[:, ~below]).all()
    assert len(computed.refused) == below.sum() * 8
    assert "below 1 BDP" in computed.refused[0].crossing.refusals[0]


def found(
    bbr: float | None, low: float | None = None, high: float | None = None
) -> PredictedCrossing:
    return PredictedCrossing(50, bbr, low, high)


@pytest.mark.parametrize(
    ("crossing", "other", "reasons"),
    [
        (found(20, 18, 22.9), found(23), ()),
        (found(20, 18, 23.1), None, ("seeds",)),
        (found(20, 20, 20), found(23.1), ("models",)),
        (found(20, 10, 30), found(10), ("seeds", "models")),
        (found(20, 20, 20), found(None), ()),
        (found(None), found(20), ()),
    ],
)
def test_what_is_uncertain(
    crossing: PredictedCrossing, other: PredictedCrossing | None, reasons: tuple[str, ...]
) -> None:
    # 10 % of 50 flows are 5; 3 of 50 are 6 %.
    assert MapPoint(1, 1, QUESTION, crossing, other).uncertain == reasons


@pytest.mark.slow
def test_an_error_in_a_process_is_told() -> None:
    with pytest.raises(KeyError):
        compute_map(plane(steps=3), "no such model", None, 2)


def test_a_grid_has_the_shape_of_its_axes() -> None:
    computed = compute_map(plane("flows=2..4", "base_rtt=1..2ms"), "ware")
    assert isinstance(computed, EquilibriumMap)
    assert computed.grid(lambda point: point.question.flows).tolist() == [[2, 3, 4]] * 5


@pytest.mark.slow
def test_whether_mixes_settle() -> None:
    # A queue of 2 BDP and 40 ms drains in 80 ms, one of 20 in 0.8 s, beside BBR's filter of ten
    # seconds: 120 s are many times what the first takes to change, and a few times the second.
    deep = plane("buffer=2..20bdp", "bdp-per-flow=30..31pkt", steps=2)
    two, twenty = compute_map(deep, "fluid", settled=True).points[:2]
    assert two.transient is False
    assert twenty.transient is True
    assert "transient" in twenty.uncertain
    assert compute_map(deep, "closed-form").points[1].transient is None
    corner = plane("buffer=0.4..0.5bdp", "bdp-per-flow=3..4pkt", steps=2)
    assert compute_map(corner, "fluid", settled=True).points[0].transient is None
