"""What models say along an axis, and how it is drawn."""

import numpy as np
import pytest
from nashbed.analysis.figures.model_lines import (
    LOOKS,
    ModelCurve,
    curve_items,
    model_curves,
)
from nashbed.analysis.figures.plot import Band
from nashbed.analysis.models import MODELS, Competition, cubic_against
from tests.support.drawn import Seen, points


def asked(bbr: int, flows: int = 4, bdp: float = 3) -> Competition:
    return cubic_against(100e6, 0.04, bdp * 500_000, flows - bbr, bbr, duration_s=20)


def curve(name: str, *shares: float, spread: float = 0.0) -> ModelCurve:
    share, x = np.array(shares), np.arange(1.0, len(shares) + 1)
    ranged = (share - spread, share + spread) if spread else (None, None)
    return ModelCurve(name, x, share, *ranged)


def test_curves_are_the_models_answers() -> None:
    curves = {c.name: c for c in model_curves((k, asked(k)) for k in (1, 2, 3))}
    # Of four flows the form for two answers nothing; the bounds of Mishra do.
    assert set(curves) == set(LOOKS) - {"mishra-two-flow"}
    for name, each in curves.items():
        answers = [MODELS[name].predict(asked(k)) for k in (1, 2, 3)]
        assert list(each.x) == [1, 2, 3]
        assert list(each.share) == [a.share for a in answers]
        if answers[0].share_range is None:
            assert each.low is None
        else:
            assert each.low is not None
            assert list(each.low) == [a.share_range[0] for a in answers if a.share_range]
    fluid = curves["fluid"].delay_s
    assert fluid is not None
    assert list(fluid) == [
        MODELS["fluid"].predict(asked(k)).inner["queueing_delay_s"] for k in (1, 2, 3)
    ]
    assert curves["ware"].delay_s is None


def test_where_models_do_not_speak_there_is_no_place() -> None:
    curves = {c.name: c for c in model_curves([(1, asked(1)), (2, None), (3, asked(3))])}
    assert list(curves["ware"].x) == [1, 3]
    assert model_curves([(1, None)]) == []


def test_like_curves_are_drawn_once() -> None:
    names = [c.name for c in model_curves([(b, asked(1, 2, b)) for b in (2, 5)])]
    assert "mishra-two-flow" in names
    assert not {"mishra-synchronised", "mishra-desynchronised"} & set(names)


def test_lines_shades_and_bands() -> None:
    curves = [
        curve("fluid", 0.4, 0.6, spread=0.1), curve("ware", 0.5, 0.5),
        curve("mishra-synchronised", 0.3, 0.3), curve("mishra-desynchronised", 0.7, 0.6),
    ]  # fmt: skip
    panel = Seen(curve_items(curves, lambda x, share: 100 * share * x))
    assert points(panel["Fluid"]) == ([1, 2], [40, 120])
    assert panel["Fluid"].look["color"] == LOOKS["fluid"].colour
    assert panel.labels == ["Fluid", "Ware", "Mishra 2022's bounds"]
    shade, band = panel.of(Band)
    assert (shade.low[0], shade.high[0]) == pytest.approx((30, 50))
    assert (*band.low, *band.high) == pytest.approx((30, 60, 70, 120))
